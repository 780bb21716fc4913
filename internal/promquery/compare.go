package promquery

import (
	"context"
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

// periods is how many periods both records can be cut into.
func periods(records ...record) int {
	n := mostPeriods
	for _, r := range records {
		n = min(n, r.summary.Succeeded()/probesInPeriod, int(r.span.Length()/leastPeriod))
	}
	return n
}

// compare compares two records by the means of their periods: of two targets in the same ones, of
// two ranges in those of the same number. The medians in the lines are those of the whole ranges.
func (q Query) compare(ctx context.Context, c *client, x, y record) (report.Comparison, error) {
	result := report.Comparison{A: x.summary.Target, B: y.summary.Target, Pair: "period"}
	if x.span != y.span {
		result.A, result.B = result.A+", "+x.span.String(), result.B+", "+y.span.String()
	}
	n := periods(x, y)
	if n < leastPeriods {
		result.Warnings = append(result.Warnings, fmt.Sprintf("too little data to compare: at least %d periods of %v and %d requests each are needed, "+
			"there are %s and %s requests", leastPeriods, leastPeriod, probesInPeriod, format.Grouped(x.summary.Succeeded()), format.Grouped(y.summary.Succeeded())))
		return medians(report.Compare(result, nil), x, y), nil
	}
	pairs, empty, err := q.pairUp(ctx, c, x, y, n)
	if err != nil {
		return result, err
	}
	result.Pair = "period of " + length(x.span.Length()/time.Duration(n))
	if x.span.Length() != y.span.Length() {
		result.Pair += " and " + length(y.span.Length()/time.Duration(n))
	}
	result.Warnings = append(result.Warnings, fmt.Sprintf("differences are between the means of %d periods; medians are of all samples, exact to a bucket", n))
	if empty > 0 {
		result.Warnings = append(result.Warnings, fmt.Sprintf("%d of %d periods have no sample on one side, and are left out", empty, n))
	}
	return medians(report.Compare(result, pairs), x, y), nil
}

// pairUp pairs the means of each quantity in n periods. Empty is how many periods have no sample on
// one side of a quantity that both have.
func (q Query) pairUp(ctx context.Context, c *client, x, y record, n int) (all []report.Pairs, empty int, err error) {
	for i := range x.quantities {
		if x.quantities[i].Count == 0 || y.quantities[i].Count == 0 {
			continue
		}
		left, err := q.means(ctx, c, x, i, n)
		if err != nil {
			return nil, 0, err
		}
		right, err := q.means(ctx, c, y, i, n)
		if err != nil {
			return nil, 0, err
		}
		pairs := report.Pairs{Metric: x.quantities[i].name}
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
func (q Query) means(ctx context.Context, c *client, r record, quantity, n int) ([]float64, error) {
	width := (r.span.Length() / time.Duration(n)).Truncate(time.Millisecond)
	first := r.span.To.Add(-time.Duration(n-1) * width)
	only := filter{targets: []string{r.target}, prompt: r.prompt, match: append([]string{"model" + oneOf(r.model)}, q.filter.match...)}
	matrix, err := c.steps(ctx, r.quantities[quantity].mean(only, width), first, r.span.To, width)
	means := make([]float64, n)
	for i := range means {
		means[i] = math.NaN()
	}
	for _, stream := range matrix {
		for _, pair := range stream.Values {
			if i := int(pair.Timestamp.Time().Sub(first) / width); i >= 0 && i < n && !math.IsInf(float64(pair.Value), 0) {
				means[i] = float64(pair.Value)
			}
		}
	}
	return means, err
}

// medians puts those of the whole ranges into the lines.
func medians(c report.Comparison, x, y record) report.Comparison {
	for i := range c.Lines {
		for k, q := range x.quantities {
			if q.name == c.Lines[i].Metric {
				a, _ := q.At(0.5)
				b, _ := y.quantities[k].At(0.5)
				c.Lines[i].A, c.Lines[i].B = a.Value, b.Value
			}
		}
	}
	return c
}

// length writes a duration as Prometheus does: 7d, 1h12m.
func length(d time.Duration) string { return model.Duration(d.Round(time.Second)).String() }
