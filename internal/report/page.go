package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/llm-prober/prober/internal/format"
	"github.com/llm-prober/prober/internal/plot"
)

// On a page, the columns of a comparison, and up to how many comparisons their verdicts stand above the charts.
const (
	detailsWidth = 100
	mostVerdicts = 3
)

// Page is charts of d with its verdicts, an overview, its comparisons, warnings, and what made it.
func Page(title string, d Document, charts []plot.Chart) plot.Page {
	started := d.Started.UTC().Format("2006-01-02 15:04:05 UTC")
	page := plot.Page{
		Title: title, Charts: charts, Warnings: slices.Clone(d.Warnings),
		Settings: []string{fmt.Sprintf("%s, prober %s, from %s", d.Source, cmp.Or(d.Version, "unknown"), started)},
	}
	for _, s := range d.Summaries {
		for _, f := range s.Failures[:min(len(s.Failures), mostFailures)] {
			page.Warnings = append(page.Warnings, headline(s)+": "+strings.Join(known(s.failed(f), f.Hint), "; "))
		}
		for _, w := range append(bucketNotes(s), s.Warnings...) {
			page.Warnings = append(page.Warnings, headline(s)+": "+w)
		}
		if text := fmt.Sprintf("%s: %s, model %s", s.Target, s.URL, s.Model); s.URL != "" && !slices.Contains(page.Settings, text) {
			page.Settings = append(page.Settings, text)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(d.Settings)) {
		page.Settings = append(page.Settings, name+": "+d.Settings[name])
	}
	if len(d.Summaries) > 0 {
		page.Summary = Overview(d.Summaries)
	}
	for i, c := range d.Comparisons {
		if i > 0 {
			page.Details += "\n"
		}
		page.Details += c.Text(detailsWidth)
		if len(d.Comparisons) <= mostVerdicts {
			page.Verdicts = append(page.Verdicts, verdicts(c)...)
		}
	}
	return page
}

// RunCharts draws the distributions and timelines of TTFT, TPOT, ITL and E2EL, of a step of each target. Canceled
// samples are left out.
func RunCharts(steps []*Step) []plot.Chart {
	var charts []plot.Chart
	for _, q := range quantities {
		of, course := "requests", q.name
		if q.name == nameITL {
			of, course = "tokens", "ITL, median of a request"
		}
		spread, timeline := latencyCharts(q.name, of, course)
		for _, step := range steps {
			if step.Len() == 0 {
				continue
			}
			target := step.samples[0].Target
			list, _ := split(step.samples, notCanceled)
			list = slices.Clone(list)
			slices.SortStableFunc(list, func(a, b Sample) int { return a.Start.Compare(b.Start) })
			good, bad := split(list, succeeded)
			points := cumulated(q.values(good))
			if q.name == nameITL {
				points = step.cumulatedITL()
			}
			spread.Series = append(spread.Series, plot.Series{Target: target, Style: plot.Step, Points: points})
			timeline.Series = append(timeline.Series, plot.Series{Target: target, Points: thin(courseOf(good, q))})
			if q.name == "E2EL" {
				failed := plot.Series{Target: target, Name: target + ", failed", Style: plot.Hollow, Points: thin(courseOf(bad, q))}
				timeline.Series = append(timeline.Series, failed)
			}
		}
		charts = append(charts, spread, timeline)
	}
	return drawn(charts)
}

func drawn(charts []plot.Chart) []plot.Chart {
	for i, c := range charts {
		charts[i].Series = slices.DeleteFunc(c.Series, func(s plot.Series) bool { return len(s.Points) == 0 })
	}
	return slices.DeleteFunc(charts, func(c plot.Chart) bool { return len(c.Series) == 0 })
}

// latencyCharts returns empty charts of a quantity: its distribution over requests or tokens, and what the label names over time.
func latencyCharts(name, of, label string) (spread, timeline plot.Chart) {
	return plot.Chart{
			Title: name + " distribution (CDF)", X: plot.Axis{Label: name, Unit: plot.Second},
			Y: plot.Axis{Label: "share of " + of, Unit: plot.Share},
		}, plot.Chart{
			Title: name + " over time", X: plot.Axis{Label: "time", Unit: plot.Time}, Y: plot.Axis{Label: label, Unit: plot.Second},
		}
}

// courseOf is a quantity of each request by its start; of one that failed, when it did.
func courseOf(list []Sample, q quantity) []plot.Point {
	var points []plot.Point
	for _, s := range list {
		v, what := float64(*q.of(&s.Request)), ""
		if !succeeded(s) {
			v, what = s.Elapsed.Seconds(), string(s.Outcome)+" after "
		}
		if finite(v) {
			label := fmt.Sprintf("%s, round %d: %s%s", s.Target, s.Round, what, format.Seconds(v))
			points = append(points, plot.Point{X: float64(s.Start.UnixMicro()) / 1e6, Y: v, Label: label})
		}
	}
	return points
}

// most is how many points a series has at most: half as many as a chart is wide.
const most = 500

func cumulated(values []float64) []plot.Point {
	var points []plot.Point
	for i, v := range slices.Sorted(slices.Values(values)) {
		points = append(points, plot.Point{X: v, Y: float64(i+1) / float64(len(values))})
	}
	return thin(points)
}

// cumulatedITL is the distribution of ITL over tokens; by the middles of buckets if they are too many.
func (s *Step) cumulatedITL() []plot.Point {
	if s.itls != nil {
		return cumulated(s.itls)
	}
	var points []plot.Point
	h := &s.spreads[indexITL]
	passed := 0
	for i, n := range h.buckets {
		if n == 0 {
			continue
		}
		passed += int(n)
		low, high := h.boundsOf(i)
		points = append(points, plot.Point{X: (low + high) / 2, Y: float64(passed) / float64(h.count)})
	}
	return thin(points)
}

// thin keeps of points in the order of X the lowest and the highest of equal numbers in a row: what stands out stays.
func thin(points []plot.Point) []plot.Point {
	if len(points) <= most {
		return points
	}
	byY := func(a, b plot.Point) int { return cmp.Compare(a.Y, b.Y) }
	var kept []plot.Point
	for i := range most / 2 {
		row := points[i*len(points)/(most/2) : (i+1)*len(points)/(most/2)]
		low, high := slices.MinFunc(row, byY), slices.MaxFunc(row, byY)
		if low.X > high.X {
			low, high = high, low
		}
		if kept = append(kept, low); high != low {
			kept = append(kept, high)
		}
	}
	return kept
}

// LadderCharts draws steps of growing load: throughput and latency, a series for each target and length of prompts. The load is
// requests at once, or where no step was so, the requests that succeeded in a second.
func LadderCharts(summaries []Summary) []plot.Chart {
	steps := slices.SortedStableFunc(slices.Values(summaries), func(a, b Summary) int { return cmp.Compare(a.AtOnce, b.AtOnce) })
	x, load := plot.Axis{Label: "requests/s"}, func(s Summary) Number { return s.Throughput().Requests }
	if slices.ContainsFunc(steps, func(s Summary) bool { return s.AtOnce > 0 }) {
		// A step that was at a rate is at 0, which has no place on a logarithmic axis.
		x, load = plot.Axis{Label: "concurrent requests", Log: true, Values: true}, func(s Summary) Number { return Number(s.AtOnce) }
	}
	rate := plot.Axis{Label: "output tokens/s"}
	output := func(s Summary) Number { return s.Throughput().Output }
	failed := func(s Summary) Number { return Number(s.Failed()) / Number(s.Sent()) }
	charts := []plot.Chart{
		{Title: "Throughput", X: x, Y: rate, Series: curves(steps, "", plot.Line, load, output)},
		{Title: "TTFT", X: x, Y: plot.Axis{Label: "TTFT", Unit: plot.Second, Log: true}, Series: append(
			curves(steps, ", median", plot.Line, load, func(s Summary) Number { return s.TTFT.At(0.50) }),
			curves(steps, ", P99", plot.Dashed, load, func(s Summary) Number { return s.TTFT.At(0.99) })...)},
		{
			Title: "TPOT", X: x, Y: plot.Axis{Label: "median TPOT", Unit: plot.Second},
			Series: curves(steps, "", plot.Line, load, func(s Summary) Number { return s.TPOT.At(0.50) }),
		},
		{
			Title: "Throughput and latency", X: rate, Y: plot.Axis{Label: "median E2EL", Unit: plot.Second},
			Series: curves(steps, "", plot.Line, output, func(s Summary) Number { return s.E2EL.At(0.50) }),
		},
	}
	if slices.ContainsFunc(steps, func(s Summary) bool { return s.Failed() > 0 }) {
		charts = append(charts, plot.Chart{
			Title: "Failed requests", X: x, Y: plot.Axis{Label: "share of requests", Unit: plot.Share},
			Series: curves(steps, "", plot.Line, load, failed),
		})
	}
	return drawn(charts)
}

// curves are series whose names end with a suffix; steps that have no x or no y are left out.
func curves(steps []Summary, suffix string, style plot.Style, x, y func(Summary) Number) []plot.Series {
	lengths := slices.ContainsFunc(steps, func(s Summary) bool { return s.PromptTokens != steps[0].PromptTokens })
	var list []plot.Series
	for _, step := range steps {
		name := step.Target
		if lengths && step.PromptTokens > 0 {
			name += ", " + format.Count(step.PromptTokens, "token")
		}
		i := slices.IndexFunc(list, func(s plot.Series) bool { return s.Target == name })
		if i < 0 {
			i = len(list)
			list = append(list, plot.Series{Target: name, Name: name + suffix, Style: style})
		}
		if p := (plot.Point{X: float64(x(step)), Y: float64(y(step))}); finite(p.X) && finite(p.Y) {
			p.Label = strings.Join(known(name, step.Load), ", ")
			list[i].Points = append(list[i].Points, p)
		}
	}
	return list
}
