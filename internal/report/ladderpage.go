package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/llm-prober/prober/internal/format"
	"github.com/llm-prober/prober/internal/plot"
)

// LadderPage draws steps of growing load, of one target or several: what they
// brought and how long it took. A series is a target, or a target and a length of
// prompts where there are several.
func LadderPage(title string, notes []string, summaries []Summary) plot.Page {
	page := plot.Page{Title: title, Notes: notes}
	ladders := laddersOf(summaries)
	x, steps := loadAxis(summaries)
	for _, c := range []plot.Chart{
		{Title: "Throughput", X: x, Y: plot.Axis{Label: "output tokens/s", Unit: plot.Number}, Series: curves(ladders, "", plot.Both, steps, outputRate)},
		{Title: "TTFT", X: x, Y: plot.Axis{Label: "TTFT", Unit: plot.Second, Log: true}, Series: append(
			curves(ladders, ", median", plot.Both, steps, quantileOf("TTFT", 0.50)),
			curves(ladders, ", P99", plot.Line, steps, quantileOf("TTFT", 0.99))...)},
		{Title: "TPOT", X: x, Y: plot.Axis{Label: "median TPOT", Unit: plot.Second}, Series: curves(ladders, "", plot.Both, steps, quantileOf("TPOT", 0.50))},
		{
			Title: "Throughput and latency", X: plot.Axis{Label: "output tokens/s", Unit: plot.Number},
			Y: plot.Axis{Label: "median E2EL", Unit: plot.Second}, Series: curves(ladders, "", plot.Both, outputRate, quantileOf("E2EL", 0.50)),
		},
		{Title: "Failed requests", X: x, Y: plot.Axis{Label: "share of requests", Unit: plot.Percent}, Series: failedShares(ladders, steps)},
	} {
		if c.Series != nil {
			c.Y.Log = c.Y.Log && positive(c.Series)
			page.Charts = append(page.Charts, c)
		}
	}
	return page
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
		name := format.Clean(s.Target)
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
		return plot.Axis{Label: "concurrent requests", Unit: plot.Number, Log: true}, atOnce
	}
	return plot.Axis{Label: "requests/s", Unit: plot.Number}, func(s Summary) float64 { return s.Throughput().Requests }
}

// atOnce is NaN for a step that was at a rate.
func atOnce(s Summary) float64 {
	if s.AtOnce <= 0 {
		return math.NaN()
	}
	return float64(s.AtOnce)
}

func outputRate(s Summary) float64 { return s.Throughput().Output }

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

// curves are the ladders as series; steps that have no x or no y are left out.
func curves(ladders []ladder, suffix string, style plot.Style, x, y func(Summary) float64) []plot.Series {
	var list []plot.Series
	for _, l := range ladders {
		var points []plot.Point
		for _, s := range l.steps {
			if finite(x(s)) && finite(y(s)) {
				points = append(points, plot.Point{X: x(s), Y: y(s), Label: stepLabel(l, s)})
			}
		}
		list = add(list, l.name+suffix, style, points)
	}
	return list
}

func stepLabel(l ladder, s Summary) string {
	if s.Load != "" {
		return l.name + ", " + format.Clean(s.Load)
	}
	if s.AtOnce > 0 {
		return fmt.Sprintf("%s, %s at once", l.name, format.Grouped(s.AtOnce))
	}
	return l.name
}

// failedShares are the shares of requests that failed; none if all are 0.
func failedShares(ladders []ladder, x func(Summary) float64) []plot.Series {
	some := false
	list := curves(ladders, "", plot.Both, x, func(s Summary) float64 {
		some = some || s.Failed() > 0
		return float64(s.Failed()) / float64(s.Failed()+s.Succeeded())
	})
	if !some {
		return nil
	}
	return list
}

func positive(list []plot.Series) bool {
	return !slices.ContainsFunc(list, func(s plot.Series) bool {
		return slices.ContainsFunc(s.Points, func(p plot.Point) bool { return p.Y <= 0 })
	})
}
