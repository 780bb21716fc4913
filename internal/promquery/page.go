package promquery

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/llm-prober/prober/internal/format"
	"github.com/llm-prober/prober/internal/plot"
	"github.com/llm-prober/prober/internal/report"
)

// pagePeriods is how many means a line over time has at most.
const pagePeriods = 200

// Page draws the answer: how TTFT, TPOT, ITL and E2EL are distributed, and their means over
// time.
func (a *Answer) Page(ctx context.Context) (plot.Page, error) {
	d, names := a.Document, seriesNames(a.records)
	d.Summaries = slices.Clone(d.Summaries)
	var charts []plot.Chart
	for i, l := range latencies() {
		spread, course := report.DistributionChart(l.name, "samples"), report.TimelineChart(l.name, l.name+", mean of a period")
		if a.query.other != nil {
			course.X.Label = "time in the first range"
		}
		for k, r := range a.records {
			if r.quantities[i].Count == 0 {
				continue
			}
			spread.Series = append(spread.Series, plot.Series{Target: names[k], Style: plot.Step, Points: r.quantities[i].cumulative()})
			points, style, err := a.course(ctx, r, i)
			if err != nil {
				return plot.Page{}, err
			}
			course.Series = append(course.Series, plot.Series{Target: names[k], Style: style, Points: points})
		}
		if spread.Series != nil {
			charts = append(charts, spread, course)
		}
	}
	for i := range d.Summaries {
		if a.query.other != nil {
			d.Summaries[i].Load = a.records[i].span.String()
		}
	}
	return report.Page("Latencies in "+a.query.base.Redacted(), d, charts), nil
}

// seriesNames are the targets of records, with the beginnings of their ranges
// where those are not the same.
func seriesNames(records []record) []string {
	var names []string
	for _, r := range records {
		name := format.Shorten(format.Clean(r.summary.Target), 500)
		if r.span != records[0].span || len(records) > 1 && r.span != records[1].span {
			name += ", from " + r.span.From.UTC().Format("2006-01-02 15:04")
		}
		names = append(names, name)
	}
	return names
}

// cumulative is the share of samples up to the upper bound of each bucket.
func (q quantity) cumulative() []plot.Point {
	var points []plot.Point
	for _, b := range q.buckets {
		if share := b.upTo / q.buckets[len(q.buckets)-1].upTo; !math.IsInf(b.upper, 1) {
			points = append(points, plot.Point{X: b.upper, Y: share, Label: fmt.Sprintf("%s: %.2f%%", format.Seconds(b.upper), 100*share)})
		}
	}
	return points
}

// course is the mean of a quantity in each of some periods, at its middle. Means are joined by
// lines where there is one in every period.
func (a *Answer) course(ctx context.Context, r record, quantity int) ([]plot.Point, plot.Style, error) {
	n := int(min(max(r.span.Length()/leastPeriod, 1), pagePeriods))
	means, err := a.query.means(ctx, a.client, r, quantity, n)
	width := r.span.Length() / time.Duration(n)
	var points []plot.Point
	for i, v := range means {
		if !math.IsNaN(v) {
			middle := time.Duration(i)*width + width/2
			at := r.span.From.Add(middle)
			x := a.records[0].span.From.Add(middle).Unix() // where ranges lie over each other
			points = append(points, plot.Point{X: float64(x), Y: v, Label: timestamp(at) + ": " + format.Seconds(v)})
		}
	}
	if len(points) < n {
		return points, plot.Dots, err
	}
	return points, plot.Line, err
}
