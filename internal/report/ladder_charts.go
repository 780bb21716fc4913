package report

import (
	"cmp"
	"slices"
	"strings"

	"github.com/llm-prober/prober/internal/format"
	"github.com/llm-prober/prober/internal/plot"
	"github.com/llm-prober/prober/internal/stats"
)

// A figure returns one number of a step of a ladder.
type figure func(Summary) stats.Number

// LadderCharts returns charts of steps of growing load: throughput and latencies, with a series for each target and
// prompt length. The load is the number of concurrent requests. If no step has one, because all were at a rate, it is
// the number of requests that succeeded per second.
func LadderCharts(summaries []Summary) []plot.Chart {
	byLoad := func(a, b Summary) int { return cmp.Compare(a.AtOnce, b.AtOnce) }
	ladder := ladder{
		steps: slices.SortedStableFunc(slices.Values(summaries), byLoad),
		load:  func(s Summary) stats.Number { return s.Throughput().Requests },
	}
	load := plot.Axis{Label: "requests/s"}
	if slices.ContainsFunc(summaries, func(s Summary) bool { return s.AtOnce > 0 }) {
		ladder.load = func(s Summary) stats.Number { return stats.Number(s.AtOnce) }
		// A step at a rate has 0 concurrent requests, and so no place on this axis.
		load = plot.Axis{Label: "concurrent requests", Log: true, Values: true}
	}
	rate := plot.Axis{Label: "output tokens/s"}
	charts := []plot.Chart{
		{Title: "Throughput", X: load, Y: rate, Series: ladder.series("", plot.Line, ladder.load, outputRate)},
		{
			Title: "TTFT", X: load, Y: plot.Axis{Label: "TTFT", Unit: plot.Second, Log: true},
			Series: slices.Concat(
				ladder.series(", median", plot.Line, ladder.load, func(s Summary) stats.Number { return s.TTFT.At(stats.P50) }),
				ladder.series(", P99", plot.Dashed, ladder.load, func(s Summary) stats.Number { return s.TTFT.At(stats.P99) }),
			),
		},
		{
			Title: "TPOT", X: load, Y: plot.Axis{Label: "median TPOT", Unit: plot.Second},
			Series: ladder.series("", plot.Line, ladder.load, func(s Summary) stats.Number { return s.TPOT.At(stats.P50) }),
		},
		{
			Title: "Throughput and latency", X: rate, Y: plot.Axis{Label: "median E2EL", Unit: plot.Second},
			Series: ladder.series("", plot.Line, outputRate, func(s Summary) stats.Number { return s.E2EL.At(stats.P50) }),
		},
	}
	if slices.ContainsFunc(summaries, func(s Summary) bool { return s.Failed() > 0 }) {
		charts = append(charts, plot.Chart{
			Title: "Failed requests", X: load, Y: plot.Axis{Label: "share of requests", Unit: plot.Share},
			Series: ladder.series("", plot.Line, ladder.load, failedShare),
		})
	}
	return withoutEmpty(charts)
}

// outputRate returns how many tokens per second a step generated.
func outputRate(s Summary) stats.Number { return s.Throughput().Output }

// failedShare returns the share of the requests of a step that failed.
func failedShare(s Summary) stats.Number { return stats.Number(s.Failed()) / stats.Number(s.Sent()) }

// A ladder is steps by their load.
type ladder struct {
	steps []Summary
	load  figure
}

// series returns a series for each target and prompt length, with a suffix to its name. Steps without x or y are left
// out.
func (l ladder) series(suffix string, style plot.Style, x, y figure) []plot.Series {
	isOtherLength := func(s Summary) bool { return s.PromptTokens != l.steps[0].PromptTokens }
	severalLengths := slices.ContainsFunc(l.steps, isOtherLength)
	var list []plot.Series
	for _, step := range l.steps {
		name := step.Target
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
