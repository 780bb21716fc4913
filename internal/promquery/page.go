package promquery

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/llm-prober/prober/internal/format"
	"github.com/llm-prober/prober/internal/plot"
	"github.com/llm-prober/prober/internal/report"
)

// Page draws the answer: how TTFT, TPOT, ITL and E2EL are distributed, and their means over time.
func (q *Query) Page(ctx context.Context) (plot.Page, error) {
	var charts []plot.Chart
	for i, l := range latencies {
		spread, course := report.LatencyCharts(l.name, "samples", l.name+", mean of a period")
		if q.twoRanges() {
			course.X.Label = "time in the first range"
		}
		for _, r := range q.records {
			name := format.Shorten(format.Clean(r.summary.Target), 500)
			if q.twoRanges() {
				name += ", from " + r.span.from.UTC().Format("2006-01-02 15:04")
			}
			if r.quantities[i].Count == 0 {
				continue
			}
			points, style := q.course(ctx, r, i)
			spread.Series = append(spread.Series, plot.Series{Target: name, Style: plot.Step, Points: r.quantities[i].cumulative()})
			course.Series = append(course.Series, plot.Series{Target: name, Style: style, Points: points})
		}
		if spread.Series != nil {
			charts = append(charts, spread, course)
		}
	}
	return report.Page("Latencies in "+q.reader.base, q.Document, charts), q.reader.err
}

// cumulative is the share of samples up to the upper bound of each bucket.
func (q *quantity) cumulative() []plot.Point {
	var points []plot.Point
	for _, b := range q.buckets {
		if share := b.upTo / q.buckets[len(q.buckets)-1].upTo; !math.IsInf(b.upper, 1) {
			points = append(points, plot.Point{X: b.upper, Y: share, Label: fmt.Sprintf("%s: %.2f%%", format.Seconds(b.upper), 100*share)})
		}
	}
	return points
}

// course is the mean of a quantity in each of some periods: a line if there is one in every period.
func (q *Query) course(ctx context.Context, of *record, quantity int) ([]plot.Point, plot.Style) {
	const pagePeriods = 200
	n := int(min(max(of.span.length()/leastPeriod, 1), pagePeriods))
	width := of.span.length() / time.Duration(n)
	var points []plot.Point
	for i, v := range q.reader.means(ctx, of, quantity, n) {
		if !math.IsNaN(v) {
			middle := time.Duration(i)*width + width/2
			x := q.records[0].span.from.Add(middle).Unix() // where ranges lie over each other
			points = append(points, plot.Point{X: float64(x), Y: v, Label: timestamp(of.span.from.Add(middle)) + ": " + format.Seconds(v)})
		}
	}
	if len(points) < n {
		return points, plot.Dots
	}
	return points, plot.Line
}
