package report

import (
	"cmp"
	"math"
	"slices"

	"github.com/llm-prober/prober/internal/format"
	"github.com/llm-prober/prober/internal/plot"
)

// LadderCharts draws steps of growing load, of one target or several: what they brought
// and how long it took. A series is a target, or a target and a length of prompts where
// there are several.
func LadderCharts(summaries []Summary) (charts []plot.Chart) {
	ladders := laddersOf(summaries)
	load, steps := loadAxis(summaries)
	rate := plot.Axis{Label: "output tokens/s"}
	seconds := func(label string) plot.Axis { return plot.Axis{Label: label, Unit: plot.Second} }
	for _, c := range []plot.Chart{
		{Title: "Throughput", X: load, Y: rate, Series: curves(ladders, "", plot.Line, steps, outputRate)},
		{Title: "TTFT", X: load, Y: plot.Axis{Label: "TTFT", Unit: plot.Second, Log: true}, Series: append(
			curves(ladders, ", median", plot.Line, steps, quantileOf("TTFT", 0.50)),
			curves(ladders, ", P99", plot.Dashed, steps, quantileOf("TTFT", 0.99))...)},
		{Title: "TPOT", X: load, Y: seconds("median TPOT"), Series: curves(ladders, "", plot.Line, steps, quantileOf("TPOT", 0.50))},
		{
			Title: "Throughput and latency", X: rate, Y: seconds("median E2EL"),
			Series: curves(ladders, "", plot.Line, outputRate, quantileOf("E2EL", 0.50)),
		},
	} {
		if c.Series != nil {
			charts = append(charts, c)
		}
	}
	if slices.ContainsFunc(summaries, func(s Summary) bool { return s.Failed() > 0 }) {
		failed := plot.Chart{Title: "Failed requests", X: load, Y: plot.Axis{Label: "share of requests", Unit: plot.Share}}
		failed.Series = curves(ladders, "", plot.Line, steps, failedShare)
		charts = append(charts, failed)
	}
	return charts
}

// A ladder is the steps of one series, by load.
type ladder struct {
	name  string
	steps []Summary
}

func laddersOf(summaries []Summary) []ladder {
	lengths, targets := map[int]bool{}, map[string]bool{}
	for _, s := range summaries {
		lengths[s.PromptTokens], targets[s.Target] = true, true
	}
	var list []ladder
	for _, s := range summaries {
		name := s.Target
		switch length := format.Count(s.PromptTokens, "token"); {
		case len(lengths) == 1 || s.PromptTokens == 0:
		case len(targets) == 1:
			name = length
		default:
			name += ", " + length
		}
		i := slices.IndexFunc(list, func(l ladder) bool { return l.name == name })
		if i < 0 {
			i = len(list)
			list = append(list, ladder{name: name})
		}
		list[i].steps = append(list[i].steps, s)
	}
	for _, l := range list {
		slices.SortStableFunc(l.steps, func(a, b Summary) int { return cmp.Compare(a.AtOnce, b.AtOnce) })
	}
	return list
}

// loadAxis is the load of steps: requests at once, or where no step was so, the
// requests that succeeded in a second.
func loadAxis(summaries []Summary) (plot.Axis, func(Summary) float64) {
	if slices.ContainsFunc(summaries, func(s Summary) bool { return s.AtOnce > 0 }) {
		return plot.Axis{Label: "concurrent requests", Log: true, Values: true}, atOnce
	}
	return plot.Axis{Label: "requests/s"}, func(s Summary) float64 { return s.Throughput().Requests }
}

// atOnce is 0, which has no place on a logarithmic axis, for a step that was at a rate.
func atOnce(s Summary) float64 { return float64(s.AtOnce) }

func outputRate(s Summary) float64 { return s.Throughput().Output }

func failedShare(s Summary) float64 { return float64(s.Failed()) / float64(s.Failed()+s.Succeeded()) }

// quantileOf is a quantile of one quantity, NaN where there is none.
func quantileOf(name string, share float64) func(Summary) float64 {
	return func(s Summary) float64 {
		for _, d := range s.latencies() {
			if q, ok := d.At(share); ok && d.Name == name {
				return float64(q.Value)
			}
		}
		return math.NaN()
	}
}

// curves are the ladders as series, whose names end with a suffix; steps that have no x
// or no y are left out.
func curves(ladders []ladder, suffix string, style plot.Style, x, y func(Summary) float64) []plot.Series {
	var list []plot.Series
	for _, l := range ladders {
		s := plot.Series{Target: l.name, Name: l.name + suffix, Style: style}
		for _, step := range l.steps {
			if finite(x(step)) && finite(y(step)) {
				s.Points = append(s.Points, plot.Point{X: x(step), Y: y(step), Label: stepLabel(l, step)})
			}
		}
		list = add(list, s)
	}
	return list
}

func stepLabel(l ladder, s Summary) string {
	if s.Load != "" {
		return l.name + ", " + s.Load
	}
	return l.name
}
