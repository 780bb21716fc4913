package report

import (
	"fmt"
	"time"

	"github.com/llm-prober/prober/internal/format"
	"github.com/llm-prober/prober/internal/plot"
)

// RunPage draws samples, of one target or several: how TTFT, TPOT, ITL and E2EL
// are spread, and each over time. Canceled samples are left out.
func RunPage(title string, notes []string, samples []Sample) plot.Page {
	page := plot.Page{Title: title, Notes: notes}
	samples, _ = split(samples, notCanceled)
	start, _ := stretch(samples)
	good, bad := split(samples, succeeded)
	for _, q := range quantities() {
		spread, course := spreadChart(q), courseChart(q)
		for _, list := range byTarget(good) {
			spread.Series = add(spread.Series, list[0].Target, plot.Step, cumulated(valuesOf(q, list)))
			course.Series = add(course.Series, list[0].Target, plot.Dots, thin(courseOf(list, start, q.of)))
		}
		if q.name == "E2EL" {
			course.Series = add(course.Series, "failed", plot.Dots, thin(courseOf(bad, start, elapsed)))
		}
		for _, c := range []plot.Chart{spread.Stretched(), course} {
			if c.Series != nil {
				page.Charts = append(page.Charts, c)
			}
		}
	}
	return page
}

func spreadChart(q quantity) plot.Chart {
	of := "requests"
	if q.name == "ITL" {
		of = "tokens"
	}
	return plot.Chart{
		Title: q.name + " distribution (CDF)",
		X:     plot.Axis{Label: q.name, Unit: plot.Second},
		Y:     plot.Axis{Label: "share of " + of, Unit: plot.Percent},
	}
}

func courseChart(q quantity) plot.Chart {
	label := q.name
	if q.name == "ITL" {
		label = "ITL, median of a request"
	}
	return plot.Chart{
		Title: q.name + " over time",
		X:     plot.Axis{Label: "since the first request", Unit: plot.Second},
		Y:     plot.Axis{Label: label, Unit: plot.Second},
	}
}

// add appends a series, unless it has no points.
func add(list []plot.Series, name string, style plot.Style, points []plot.Point) []plot.Series {
	if len(points) == 0 {
		return list
	}
	return append(list, plot.Series{Name: format.Clean(name), Style: style, Points: points})
}

// byTarget are the samples of each target, in the order in which they are first
// seen.
func byTarget(samples []Sample) [][]Sample {
	var lists [][]Sample
	place := map[string]int{}
	for _, s := range samples {
		i, ok := place[s.Target]
		if !ok {
			i = len(lists)
			place[s.Target] = i
			lists = append(lists, nil)
		}
		lists[i] = append(lists[i], s)
	}
	return lists
}

// valuesOf are all samples of a quantity: of ITL those of every token.
func valuesOf(q quantity, list []Sample) []float64 {
	if q.name == "ITL" {
		return allITL(list)
	}
	var values []float64
	for _, s := range list {
		if v := q.of(s); v.Known {
			values = append(values, v.Value)
		}
	}
	return values
}

func elapsed(s Sample) Seconds { return Seconds{Value: s.Elapsed.Seconds(), Known: true} }

// courseOf is a quantity of each request by its start.
func courseOf(list []Sample, start time.Time, of func(Sample) Seconds) []plot.Point {
	var points []plot.Point
	for _, s := range byStart(list) {
		v := of(s)
		if !v.Known {
			continue
		}
		label := fmt.Sprintf("%s, round %d: %s", format.Clean(s.Target), s.Round, format.Seconds(v.Value))
		if !succeeded(s) {
			label = fmt.Sprintf("%s, round %d: %s after %s", format.Clean(s.Target), s.Round, s.Outcome, format.Seconds(v.Value))
		}
		points = append(points, plot.Point{X: s.Start.Sub(start).Seconds(), Y: v.Value, Label: label})
	}
	return points
}
