package report

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/llm-prober/prober/internal/format"
	"github.com/llm-prober/prober/internal/plot"
	"github.com/llm-prober/prober/internal/stats"
)

// RunCharts returns charts of one step of each target: for each quantity its distribution, and its course over time.
// Canceled requests are left out.
func RunCharts(steps []*Step) []plot.Chart {
	var charts []plot.Chart
	for _, q := range quantities {
		distribution, course := emptyCharts(q)
		for _, step := range steps {
			if step.Len() == 0 {
				continue
			}
			target := step.samples[0].Target
			good, failed := step.byStart()
			distribution.Series = append(distribution.Series,
				plot.Series{Target: target, Style: plot.Step, Points: step.distributionPoints(q, good)})
			course.Series = append(course.Series, plot.Series{Target: target, Points: pointsOverTime(good, q)})
			if q.Name == "E2EL" {
				course.Series = append(course.Series, plot.Series{
					Target: target, Name: target + ", failed", Style: plot.Hollow, Points: pointsOverTime(failed, q),
				})
			}
		}
		charts = append(charts, distribution, course)
	}
	return withoutEmpty(charts)
}

// emptyCharts returns charts of a quantity without series: its distribution over requests or tokens, and its course.
func emptyCharts(q Quantity) (distribution, course plot.Chart) {
	of, label := "requests", q.Name
	if q.Name == nameITL {
		of, label = "tokens", "ITL, median of a request"
	}
	distribution = plot.Chart{
		Title: q.Name + " distribution (CDF)",
		X:     plot.Axis{Label: q.Name, Unit: plot.Second},
		Y:     plot.Axis{Label: "share of " + of, Unit: plot.Share},
	}
	course = plot.Chart{
		Title: q.Name + " over time",
		X:     plot.Axis{Label: "time", Unit: plot.Time},
		Y:     plot.Axis{Label: label, Unit: plot.Second},
	}
	return distribution, course
}

// byStart returns the requests that succeeded, and those that failed, by their start.
func (s *Step) byStart() (good, failed []Sample) {
	counted, _ := partition(s.samples, notCanceled)
	sorted := slices.Clone(counted)
	slices.SortStableFunc(sorted, func(a, b Sample) int { return a.Start.Compare(b.Start) })
	return partition(sorted, succeeded)
}

// pointsOverTime returns a quantity of each request by its start. A request that failed has the time until it did.
func pointsOverTime(list []Sample, q Quantity) []plot.Point {
	var points []plot.Point
	for _, s := range list {
		value, prefix := float64(*q.ofRequest(&s.Latencies)), ""
		if !succeeded(s) {
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
	return downsample(points)
}

// distributionPoints returns the distribution of a quantity: over the good requests, or over the tokens of all of them.
func (s *Step) distributionPoints(q Quantity, good []Sample) []plot.Point {
	if q.Name == nameITL {
		return s.itlDistributionPoints()
	}
	return cumulativePoints(q.values(good))
}

// itlDistributionPoints returns the distribution of ITL over tokens. If there are too many tokens to be exact, it goes
// by the middles of buckets.
func (s *Step) itlDistributionPoints() []plot.Point {
	if s.itls != nil {
		return cumulativePoints(s.itls)
	}
	var points []plot.Point
	h := &s.histograms[indexITL]
	passed := 0
	for i, n := range h.buckets {
		if n == 0 {
			continue
		}
		passed += int(n)
		low, high := h.boundsOf(i)
		points = append(points, plot.Point{X: (low + high) / 2, Y: float64(passed) / float64(h.count)})
	}
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

// maxPoints is how many points a series has at most: half as many as a chart has pixels across.
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

// withoutEmpty returns the charts that have points, without series that have none.
func withoutEmpty(charts []plot.Chart) []plot.Chart {
	for i, c := range charts {
		charts[i].Series = slices.DeleteFunc(c.Series, func(s plot.Series) bool { return len(s.Points) == 0 })
	}
	return slices.DeleteFunc(charts, func(c plot.Chart) bool { return len(c.Series) == 0 })
}
