package report

import (
	"fmt"
	"slices"

	"github.com/llm-prober/prober/internal/format"
	"github.com/llm-prober/prober/internal/plot"
)

// RunCharts draws samples of targets, in the order of their names: how TTFT, TPOT, ITL and E2EL
// are spread, and each over time. Canceled samples are left out.
func RunCharts(targets []string, samples []Sample) (charts []plot.Chart) {
	samples, _ = split(samples, notCanceled)
	for _, q := range quantities() {
		of, course := "requests", q.name
		if q.name == "ITL" {
			of, course = "tokens", "ITL, median of a request"
		}
		spread, timeline := DistributionChart(q.name, of), TimelineChart(q.name, course)
		for _, target := range targets {
			list, _ := split(samples, func(s Sample) bool { return s.Target == target })
			slices.SortStableFunc(list, func(a, b Sample) int { return a.Start.Compare(b.Start) })
			good, bad := split(list, succeeded)
			spread.Series = add(spread.Series, plot.Series{Target: target, Style: plot.Step, Points: cumulated(valuesOf(q, good))})
			timeline.Series = add(timeline.Series, plot.Series{Target: target, Points: thin(courseOf(good, q.of))})
			if q.name == "E2EL" {
				failed := plot.Series{Target: target, Name: target + ", failed", Style: plot.Hollow, Points: thin(courseOf(bad, elapsed))}
				timeline.Series = add(timeline.Series, failed)
			}
		}
		for _, c := range []plot.Chart{spread, timeline} {
			if c.Series != nil {
				charts = append(charts, c)
			}
		}
	}
	return charts
}

// DistributionChart is an empty chart for a quantity's distribution.
func DistributionChart(name, of string) plot.Chart {
	return plot.Chart{
		Title: name + " distribution (CDF)",
		X:     plot.Axis{Label: name, Unit: plot.Second},
		Y:     plot.Axis{Label: "share of " + of, Unit: plot.Share},
	}
}

// TimelineChart is an empty chart for a quantity over time.
func TimelineChart(name, label string) plot.Chart {
	return plot.Chart{
		Title: name + " over time",
		X:     plot.Axis{Label: "time", Unit: plot.Time},
		Y:     plot.Axis{Label: label, Unit: plot.Second},
	}
}

// add appends a series, unless it has no points.
func add(list []plot.Series, s plot.Series) []plot.Series {
	if len(s.Points) == 0 {
		return list
	}
	return append(list, s)
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
func courseOf(list []Sample, of func(Sample) Seconds) []plot.Point {
	var points []plot.Point
	for _, s := range list {
		v := of(s)
		if !v.Known {
			continue
		}
		label := fmt.Sprintf("%s, round %d: %s", s.Target, s.Round, format.Seconds(v.Value))
		if !succeeded(s) {
			label = fmt.Sprintf("%s, round %d: %s after %s", s.Target, s.Round, s.Outcome, format.Seconds(v.Value))
		}
		points = append(points, plot.Point{X: float64(s.Start.UnixMicro()) / 1e6, Y: v.Value, Label: label})
	}
	return points
}
