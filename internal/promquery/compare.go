package promquery

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/prometheus/common/model"

	"github.com/llm-prober/prober/internal/format"
	"github.com/llm-prober/prober/internal/report"
)

// How a range is cut into periods.
const (
	mostPeriods    = 20
	leastPeriods   = 8  // enough to show a difference in each of four quantities
	probesInPeriod = 10 // on average, at least
	leastPeriod    = 5 * time.Minute
)

// compare compares two records by the means of their periods: of two targets in the same ones, of two ranges in those
// of the same number. The medians in the lines are those of the whole ranges.
func (r reader) compare(ctx context.Context, x, y record) (report.Comparison, error) {
	result := report.Comparison{A: x.summary.Target, B: y.summary.Target, Pair: "period"}
	if x.span != y.span {
		result.A, result.B = result.A+", "+x.span.String(), result.B+", "+y.span.String()
	}
	warn := func(format string, args ...any) {
		result.Warnings = append(result.Warnings, fmt.Sprintf(format, args...))
	}
	n := min(mostPeriods, x.summary.Succeeded()/probesInPeriod, y.summary.Succeeded()/probesInPeriod,
		int(x.span.length()/leastPeriod), int(y.span.length()/leastPeriod))
	if n < leastPeriods {
		warn("too little data to compare: at least %d periods of %v and %d requests each are needed, there are %s and %s requests",
			leastPeriods, leastPeriod, probesInPeriod, format.Grouped(x.summary.Succeeded()), format.Grouped(y.summary.Succeeded()))
		return report.Compare(result, nil), nil
	}
	pairs, empty, err := r.pairUp(ctx, x, y, n)
	if err != nil {
		return result, err
	}
	result.Pair = "period of " + length(x.span.length()/time.Duration(n))
	if x.span.length() != y.span.length() {
		result.Pair += " and " + length(y.span.length()/time.Duration(n))
	}
	warn("differences are between the means of %d periods; medians are of all samples, exact to a bucket", n)
	if empty > 0 {
		warn("%d of %d periods have no sample on one side, and are left out", empty, n)
	}
	result = report.Compare(result, pairs)
	for i := range result.Lines {
		for k, l := range latencies {
			if line := &result.Lines[i]; l.name == line.Metric {
				line.A, line.B = x.quantities[k].At(0.5), y.quantities[k].At(0.5)
			}
		}
	}
	return result, nil
}

// pairUp pairs the means of each quantity in n periods. Empty is how many periods have no sample on one side of a
// quantity that both have.
func (r reader) pairUp(ctx context.Context, x, y record, n int) (all []report.Pairs, empty int, err error) {
	for i, l := range latencies {
		if x.quantities[i].Count == 0 || y.quantities[i].Count == 0 {
			continue
		}
		left, err := r.means(ctx, x, i, n)
		right, wrong := r.means(ctx, y, i, n)
		if err = errors.Join(err, wrong); err != nil {
			return nil, 0, err
		}
		pairs := report.Pairs{Metric: l.name}
		for k := range left {
			if !math.IsNaN(left[k] + right[k]) {
				pairs.Values = append(pairs.Values, [2]float64{left[k], right[k]})
			}
		}
		all, empty = append(all, pairs), max(empty, n-len(pairs.Values))
	}
	return all, empty, nil
}

// means are those of one quantity in n periods of a record, in seconds; NaN where one has no sample.
func (r reader) means(ctx context.Context, of record, quantity, n int) ([]float64, error) {
	width := (of.span.length() / time.Duration(n)).Truncate(time.Millisecond)
	r.targets, r.match = []string{of.target}, append([]string{"model" + oneOf(of.model), "prompt" + oneOf(of.prompt)}, r.match...)
	matrix, err := r.steps(ctx, r.mean(latencies[quantity].metric, of.quantities[quantity].classic, width), n, width, of.span.to)
	means := make([]float64, n)
	for i := range means {
		means[i] = math.NaN()
	}
	for _, stream := range matrix {
		for _, pair := range stream.Values {
			if i := n - 1 - int(of.span.to.Sub(pair.Timestamp.Time())/width); i >= 0 && i < n && !math.IsInf(float64(pair.Value), 0) {
				means[i] = float64(pair.Value)
			}
		}
	}
	return means, err
}

// length writes a duration as Prometheus does: 7d, 1h12m.
func length(d time.Duration) string { return model.Duration(d.Round(time.Second)).String() }
