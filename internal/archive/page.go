package archive

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/llm-prober/prober/internal/format"
	"github.com/llm-prober/prober/internal/plot"
)

// pagePeriods is how many means a line over time has at most.
const pagePeriods = 200

// Page draws records: how TTFT, TPOT, ITL and E2EL are spread, from their buckets,
// and their means over time.
func (a *Archive) Page(ctx context.Context, title string, notes []string, records []Record) (plot.Page, error) {
	page := plot.Page{Title: title, Notes: notes}
	names := seriesNames(records)
	for i, name := range []string{"TTFT", "TPOT", "ITL", "E2EL"} {
		spread, course := spreadChart(name), courseChart(name)
		for k, r := range records {
			q := r.quantities[i]
			if points := q.cumulated(); points != nil {
				spread.Series = append(spread.Series, plot.Series{Name: names[k], Style: plot.Step, Points: points})
			}
			points, style, err := a.course(ctx, r, q)
			if err != nil {
				return page, err
			}
			if points != nil {
				course.Series = append(course.Series, plot.Series{Name: names[k], Style: style, Points: points})
			}
		}
		for _, c := range []plot.Chart{spread.Stretched(), course} {
			if c.Series != nil {
				page.Charts = append(page.Charts, c)
			}
		}
	}
	return page, nil
}

// seriesNames are the targets of records, with the beginnings of their ranges
// where those are not the same.
func seriesNames(records []Record) []string {
	var names []string
	for _, r := range records {
		name := format.Shorten(format.Clean(r.Summary.Target), 500)
		if r.Range != records[0].Range || len(records) > 1 && r.Range != records[1].Range {
			name += ", from " + r.Range.From.UTC().Format("2006-01-02 15:04")
		}
		names = append(names, name)
	}
	return names
}

func spreadChart(name string) plot.Chart {
	return plot.Chart{
		Title: name + " distribution (CDF)",
		X:     plot.Axis{Label: name, Unit: plot.Second},
		Y:     plot.Axis{Label: "share of samples", Unit: plot.Percent},
	}
}

func courseChart(name string) plot.Chart {
	return plot.Chart{
		Title: name + " over time",
		X:     plot.Axis{Label: "since the beginning of the range", Unit: plot.Second},
		Y:     plot.Axis{Label: name + ", mean of a period", Unit: plot.Second},
	}
}

// cumulated is the share of samples up to the upper bound of each bucket.
func (h histogram) cumulated() []plot.Point {
	var points []plot.Point
	below, total := 0.0, 0.0
	list := h.list()
	for _, b := range list {
		total += b.n
	}
	for i, b := range list {
		if math.IsInf(b.upper, 1) {
			break
		}
		if i == 0 {
			points = append(points, plot.Point{X: b.lower})
		}
		below += b.n
		points = append(points, plot.Point{X: b.upper, Y: below / total, Label: fmt.Sprintf("%.4g s: %.2f%%", b.upper, 100*below/total)})
	}
	return points
}

// course is the mean of a quantity in each of some periods, at its middle. Means
// are joined by lines where there is one in every period.
func (a *Archive) course(ctx context.Context, r Record, q quantity) ([]plot.Point, plot.Style, error) {
	n := min(pagePeriods, r.scrapes/scrapesInEach)
	if q.count == 0 || n == 0 {
		return nil, plot.Dots, nil
	}
	means, err := a.means(ctx, r, q, n)
	width := r.Range.Length() / time.Duration(n)
	var points []plot.Point
	for i, v := range means {
		if !math.IsNaN(v) {
			middle := time.Duration(i)*width + width/2
			points = append(points, plot.Point{X: middle.Seconds(), Y: v, Label: fmt.Sprintf("%s: %.4g s", stamp(r.Range.From.Add(middle)), v)})
		}
	}
	if len(points) < n {
		return points, plot.Dots, err
	}
	return points, plot.Both, err
}
