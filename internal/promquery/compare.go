package promquery

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	promv1 "github.com/prometheus/client_golang/api/prometheus/v1"
	"github.com/prometheus/common/model"

	"github.com/llm-prober/prober/internal/format"
	"github.com/llm-prober/prober/internal/report"
)

const (
	mostPeriods    = 20
	probesInPeriod = 10 // on average, at least
	leastPeriod    = 5 * time.Minute
)

// leastPeriods is enough to show a difference in each of four quantities.
func leastPeriods() int { return report.PairsNeeded(1) }

// compare compares two records by the means of their periods, which are also what the lines show.
func (r reader) compare(ctx context.Context, x, y *record) report.Comparison {
	result := report.Comparison{A: x.summary.Target, B: y.summary.Target, Pair: "period", Columns: report.PeriodMeans}
	if x.span != y.span {
		result.A += ", " + x.span.String()
		result.B += ", " + y.span.String()
	}
	n := min(periods(x), periods(y))
	if n < leastPeriods() {
		return tooLittle(result, x, y)
	}
	result.Pair = "period of " + duration(x.span.length()/time.Duration(n))
	if x.span.length() != y.span.length() {
		result.Pair += " and " + duration(y.span.length()/time.Duration(n))
	}
	var all []report.Pairs
	empty := 0 // periods without a sample on one side of a quantity that both have
	for i, l := range latencies {
		if x.quantities[i].Count == 0 || y.quantities[i].Count == 0 {
			continue
		}
		pairs := report.Pairs{Metric: l.name}
		left, right := r.means(ctx, x, i, n), r.means(ctx, y, i, n)
		for k := range left {
			if !math.IsNaN(left[k] + right[k]) {
				pairs.Values = append(pairs.Values, [2]float64{left[k], right[k]})
			}
		}
		all = append(all, pairs)
		empty = max(empty, n-len(pairs.Values))
	}
	if empty > 0 {
		result.Warnings = append(result.Warnings,
			fmt.Sprintf("%d of %d periods have no sample on one side, and are left out", empty, n))
	}
	return report.Compare(result, all)
}

// periods is into how many periods the range of a record may be divided.
func periods(r *record) int {
	return min(mostPeriods, r.summary.Succeeded()/probesInPeriod, int(r.span.length()/leastPeriod))
}

// tooLittle is a comparison without lines, which says how much is missing.
func tooLittle(c report.Comparison, x, y *record) report.Comparison {
	has := func(r *record) string {
		return fmt.Sprintf("%d of them in %s with %s", periods(r), duration(r.span.length()),
			format.Count(r.summary.Succeeded(), "successful request"))
	}
	both := "A has " + has(x) + ", B " + has(y)
	if has(x) == has(y) {
		both = "both have " + has(x)
	}
	return report.Uncompared(c, fmt.Sprintf("too little data to compare: %d periods of at least %s and "+
		"%d requests are needed; %s",
		leastPeriods(), duration(leastPeriod), probesInPeriod, both))
}

// means are those of one quantity in n periods of a record, in seconds; NaN where one has no sample.
func (r reader) means(ctx context.Context, of *record, quantity, n int) []float64 {
	width := (of.span.length() / time.Duration(n)).Truncate(time.Millisecond)
	r.targets, r.match = []string{of.target}, append([]string{"model" + oneOf(of.model), "prompt" + oneOf(of.prompt)}, r.match...)
	r.span = of.span
	means := slices.Repeat([]float64{math.NaN()}, n)
	r.course(ctx, r.mean(latencies[quantity].metric, width), width, n, func(_ model.Metric, i int, v float64) {
		if !math.IsInf(v, 0) {
			means[i] = v
		}
	})
	return means
}

// course evaluates an expression at the ends of n periods, the last with the range, and calls do with each value and its period.
func (r reader) course(ctx context.Context, expr string, width time.Duration, n int, do func(labels model.Metric, i int, v float64)) {
	begin := r.span.to.Add(-time.Duration(n-1) * width)
	steps := promv1.Range{Start: begin, End: r.span.to, Step: width}
	for _, stream := range r.matrix(ctx, expr, steps) {
		for _, pair := range stream.Values {
			if i := n - 1 - int(r.span.to.Sub(pair.Timestamp.Time())/width); i >= 0 && i < n {
				do(stream.Metric, i, float64(pair.Value))
			}
		}
	}
}

// duration writes a duration as Prometheus does: 7d, 1h12m.
func duration(d time.Duration) string { return model.Duration(d.Round(time.Second)).String() }
