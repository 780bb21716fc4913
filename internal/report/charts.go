package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/llm-prober/prober/internal/format"
	"github.com/llm-prober/prober/internal/plot"
	"github.com/llm-prober/prober/internal/stats"
)

// RunCharts returns charts of one step of each target: for each quantity its distribution, and its course over time.
// Canceled requests are left out.
func RunCharts(steps []*Step) []plot.Chart {
	var charts []plot.Chart
	for _, q := range quantities {
		distribution := plot.Chart{
			Title: q.Name + " distribution (CDF)",
			X:     plot.Axis{Label: q.Name, Unit: plot.Second},
			Y:     plot.Axis{Label: "share of requests", Unit: plot.Share},
		}
		course := plot.Chart{
			Title: q.Name + " over time",
			X:     plot.Axis{Label: "time", Unit: plot.Time},
			Y:     plot.Axis{Label: q.Name, Unit: plot.Second},
		}
		if q.Name == nameITL {
			distribution.Y.Label = "share of tokens"
			course.Y.Label = "ITL, median of a request"
		}
		for _, step := range steps {
			if step.Len() == 0 {
				continue
			}
			target := step.samples[0].Target
			good := filter(step.samples, Sample.succeeded)
			values := q.values(good)
			if q.Name == nameITL {
				values = step.itls.kept
			}
			distribution.Series = append(distribution.Series,
				plot.Series{Target: target, Style: plot.Step, Points: cumulativePoints(values)})
			course.Series = append(course.Series, plot.Series{Target: target, Points: pointsOverTime(good, q)})
			if q.Name == "E2EL" {
				failed := filter(step.samples, Sample.failed)
				course.Series = append(course.Series, plot.Series{
					Target: target, Name: target + ", failed", Style: plot.Hollow, Points: pointsOverTime(failed, q),
				})
			}
		}
		charts = append(charts, distribution, course)
	}
	return withoutEmpty(charts)
}

// pointsOverTime returns a quantity of each request by its start. A request that failed has the time until it did.
func pointsOverTime(samples []Sample, q Quantity) []plot.Point {
	var points []plot.Point
	for _, s := range samples {
		value, prefix := float64(*q.ofRequest(&s.Latencies)), ""
		if s.failed() {
			value, prefix = s.Elapsed.Seconds(), string(s.Outcome)+" after "
		}
		if !stats.Finite(value) {
			continue
		}
		points = append(points, plot.Point{
			X:     float64(s.Start.UnixMicro()) / 1e6,
			Y:     value,
			Label: fmt.Sprintf("%s, round %d: %s%s", s.Target, s.Latencies.Round, prefix, format.Seconds(value)),
		})
	}
	slices.SortStableFunc(points, func(a, b plot.Point) int { return cmp.Compare(a.X, b.X) })
	return downsample(points)
}

// cumulativePoints returns, for each value, the share of values up to it.
func cumulativePoints(values []float64) []plot.Point {
	var points []plot.Point
	for i, v := range slices.Sorted(slices.Values(values)) {
		points = append(points, plot.Point{X: v, Y: float64(i+1) / float64(len(values))})
	}
	return downsample(points)
}

// maxPoints is how many points a series has at most: about as many as a chart has pixels across.
const maxPoints = 500

// downsample returns at most maxPoints of points, which are in the order of X. It divides them into rows of equal
// length, and keeps the lowest and the highest of each row, so that outliers stay.
func downsample(points []plot.Point) []plot.Point {
	if len(points) <= maxPoints {
		return points
	}
	const rows = maxPoints / 2
	byY := func(a, b plot.Point) int { return cmp.Compare(a.Y, b.Y) }
	var result []plot.Point
	for i := range rows {
		row := points[i*len(points)/rows : (i+1)*len(points)/rows]
		first, second := slices.MinFunc(row, byY), slices.MaxFunc(row, byY)
		if first.X > second.X {
			first, second = second, first
		}
		result = append(result, first)
		if second != first {
			result = append(result, second)
		}
	}
	return result
}

// LadderCharts returns charts of steps of growing load: throughput and latencies, with a series for each target and
// prompt length. The load is the number of concurrent requests. If no step has one, because all were at a rate, it is
// the number of requests that succeeded per second.
func LadderCharts(summaries []Summary) []plot.Chart {
	byLoad := func(a, b Summary) int { return cmp.Compare(a.AtOnce, b.AtOnce) }
	steps := slices.SortedStableFunc(slices.Values(summaries), byLoad)
	load := func(s Summary) stats.Number { return s.Throughput().RequestRate }
	loadAxis := plot.Axis{Label: "requests/s"}
	if slices.ContainsFunc(steps, func(s Summary) bool { return s.AtOnce > 0 }) {
		load = func(s Summary) stats.Number { return stats.Number(s.AtOnce) }
		// A step at a rate has 0 concurrent requests, and so no place on this axis.
		loadAxis = plot.Axis{Label: "concurrent requests", Log: true, Values: true}
	}
	outputRate := func(s Summary) stats.Number { return s.Throughput().OutputRate }
	rateAxis := plot.Axis{Label: "output tokens/s"}
	medianTTFT := func(s Summary) stats.Number { return s.TTFT.At(stats.P50) }
	highTTFT := func(s Summary) stats.Number { return s.TTFT.At(stats.P99) }
	medianTPOT := func(s Summary) stats.Number { return s.TPOT.At(stats.P50) }
	medianE2EL := func(s Summary) stats.Number { return s.E2EL.At(stats.P50) }
	failedShare := func(s Summary) stats.Number { return stats.Number(s.Failed()) / stats.Number(s.Sent()) }

	charts := []plot.Chart{
		{
			Title: "Throughput", X: loadAxis, Y: rateAxis,
			Series: ladderSeries(steps, "", plot.Line, load, outputRate),
		},
		{
			Title: "TTFT", X: loadAxis, Y: plot.Axis{Label: "TTFT", Unit: plot.Second, Log: true},
			Series: slices.Concat(
				ladderSeries(steps, ", median", plot.Line, load, medianTTFT),
				ladderSeries(steps, ", P99", plot.Dashed, load, highTTFT),
			),
		},
		{
			Title: "TPOT", X: loadAxis, Y: plot.Axis{Label: "median TPOT", Unit: plot.Second},
			Series: ladderSeries(steps, "", plot.Line, load, medianTPOT),
		},
		{
			Title: "Throughput and latency", X: rateAxis, Y: plot.Axis{Label: "median E2EL", Unit: plot.Second},
			Series: ladderSeries(steps, "", plot.Line, outputRate, medianE2EL),
		},
	}
	if slices.ContainsFunc(steps, func(s Summary) bool { return s.Failed() > 0 }) {
		charts = append(charts, plot.Chart{
			Title: "Failed requests", X: loadAxis, Y: plot.Axis{Label: "share of requests", Unit: plot.Share},
			Series: ladderSeries(steps, "", plot.Line, load, failedShare),
		})
	}
	return withoutEmpty(charts)
}

// ladderSeries returns a series for each target, prompt and prompt length, with a suffix to its name. Steps without x
// or y are left out.
func ladderSeries(
	steps []Summary, suffix string, style plot.Style, x, y func(Summary) stats.Number,
) (list []plot.Series) {
	isOtherLength := func(s Summary) bool { return s.PromptTokens != steps[0].PromptTokens }
	severalLengths := slices.ContainsFunc(steps, isOtherLength)
	for _, step := range steps {
		name := strings.Join(nonEmpty(step.Target, step.Prompt), ", ")
		if severalLengths && step.PromptTokens > 0 {
			name += ", " + format.Count(step.PromptTokens, "token")
		}
		i := slices.IndexFunc(list, func(s plot.Series) bool { return s.Target == name })
		if i < 0 {
			i = len(list)
			list = append(list, plot.Series{Target: name, Name: name + suffix, Style: style})
		}
		point := plot.Point{X: float64(x(step)), Y: float64(y(step))}
		if stats.Finite(point.X) && stats.Finite(point.Y) {
			point.Label = strings.Join(nonEmpty(name, step.Load), ", ")
			list[i].Points = append(list[i].Points, point)
		}
	}
	return list
}

// withoutEmpty returns the charts that have points, without series that have none.
func withoutEmpty(charts []plot.Chart) []plot.Chart {
	for i, c := range charts {
		charts[i].Series = slices.DeleteFunc(c.Series, func(s plot.Series) bool { return len(s.Points) == 0 })
	}
	return slices.DeleteFunc(charts, func(c plot.Chart) bool { return len(c.Series) == 0 })
}
