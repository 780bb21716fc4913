package archive

import (
	"context"
	"fmt"
	"math"
	"time"

	v1 "github.com/prometheus/client_golang/api/prometheus/v1"

	"github.com/llm-prober/prober/internal/format"
	"github.com/llm-prober/prober/internal/report"
)

// How a range is cut into periods.
const (
	mostPeriods    = 20
	leastPeriods   = 8  // enough to show a difference in each of four quantities
	probesInPeriod = 10 // on average, at least
	scrapesInEach  = 2  // at least: an increase is between two
)

// periods is how many periods both records can be cut into.
func periods(records ...Record) int {
	n := mostPeriods
	for _, r := range records {
		n = min(n, r.Summary.Succeeded()/probesInPeriod, r.scrapes/scrapesInEach)
	}
	return n
}

// Compare compares two records by the means of their periods: of two targets in
// the same ones, of two ranges in those of the same number. The medians in the
// lines are those of the whole ranges.
func (a *Archive) Compare(ctx context.Context, x, y Record) (report.Comparison, error) {
	c := report.Comparison{A: x.Summary.Target, B: y.Summary.Target, Pair: "period"}
	if x.Range != y.Range {
		c.A, c.B = c.A+", "+x.Range.String(), c.B+", "+y.Range.String()
	}
	n := periods(x, y)
	if n < leastPeriods {
		c.Warnings = append(c.Warnings, fmt.Sprintf("too little data to compare: at least %d periods of %d requests and %d scrapes each are needed, "+
			"there are %s and %s requests", leastPeriods, probesInPeriod, scrapesInEach, format.Grouped(x.Summary.Succeeded()), format.Grouped(y.Summary.Succeeded())))
		return medians(report.Compare(c, nil), x, y), nil
	}
	pairs, empty, err := a.pairUp(ctx, x, y, n)
	if err != nil {
		return c, err
	}
	c.Pair = "period of " + length(x.Range.Length()/time.Duration(n))
	if x.Range.Length() != y.Range.Length() {
		c.Pair += " and " + length(y.Range.Length()/time.Duration(n))
	}
	c.Warnings = append(c.Warnings, fmt.Sprintf("differences are between the means of %d periods; medians are of all samples, exact to a bucket", n))
	if empty > 0 {
		c.Warnings = append(c.Warnings, fmt.Sprintf("%d of %d periods have no sample on one side, and are left out", empty, n))
	}
	return medians(report.Compare(c, pairs), x, y), nil
}

// pairUp are the means of each quantity in n periods of both. Empty is how many
// periods one of them has nothing of a quantity in that it has otherwise.
func (a *Archive) pairUp(ctx context.Context, x, y Record, n int) (all []report.Pairs, empty int, err error) {
	for i := range x.quantities {
		if x.quantities[i].count == 0 || y.quantities[i].count == 0 {
			continue
		}
		left, err := a.means(ctx, x, x.quantities[i], n)
		if err != nil {
			return nil, 0, err
		}
		right, err := a.means(ctx, y, y.quantities[i], n)
		if err != nil {
			return nil, 0, err
		}
		pairs, missing := report.Pairs{Metric: x.quantities[i].name}, 0
		for k := range left {
			if v := [2]float64{left[k], right[k]}; math.IsNaN(v[0] + v[1]) {
				missing++
			} else {
				pairs.Values = append(pairs.Values, v)
			}
		}
		all, empty = append(all, pairs), max(empty, missing)
	}
	return all, empty, nil
}

// means are those of a quantity in n periods, in seconds; NaN where one has no
// sample. That increase() extrapolates cancels in them.
func (a *Archive) means(ctx context.Context, r Record, q quantity, n int) ([]float64, error) {
	width := (r.Range.Length() / time.Duration(n)).Truncate(time.Millisecond)
	first := r.Range.To.Add(-time.Duration(n-1) * width)
	matrix, err := a.steps(ctx, a.mean(r.Selection, q, width), v1.Range{Start: first, End: r.Range.To, Step: width})
	if err != nil {
		return nil, err
	}
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
	return means, nil
}

// mean is the expression of the mean of a quantity.
func (a *Archive) mean(s Selection, q quantity, width time.Duration) string {
	increase := func(suffix string) string {
		return "sum(" + over("increase", a.selector(q.metric+suffix, s), width) + ")"
	}
	if q.classic {
		return increase("_sum") + " / " + increase("_count")
	}
	return "histogram_sum(" + increase("") + ") / histogram_count(" + increase("") + ")"
}

// medians puts those of the whole ranges into the lines.
func medians(c report.Comparison, x, y Record) report.Comparison {
	for i := range c.Lines {
		l := &c.Lines[i]
		for k := range x.quantities {
			if x.quantities[k].name == l.Metric {
				l.A, l.B = median(x.quantities[k].distribution()), median(y.quantities[k].distribution())
			}
		}
	}
	return c
}

func median(d report.Distribution) float64 {
	half, ok := d.At(0.5)
	if !ok {
		return math.NaN()
	}
	return half.Value
}
