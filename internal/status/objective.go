package status

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/llm-prober/prober/internal/format"
	"github.com/llm-prober/prober/internal/probe"
	"github.com/llm-prober/prober/internal/report"
	"github.com/llm-prober/prober/internal/stats"
)

// leastBad is how many bad events miss an objective, as for ProberErrorBudgetBurn: one or two in an hour are below most
// goals and no trouble yet.
const leastBad = 3

// An objective is one of the target's, with the events of the results in the window.
type objective struct {
	probe.Objective

	Good, Bad int
	LastBad   *entry // nil without any
	Missed    bool   // the share is below the goal by at least leastBad events, of a target that is probed
}

// objectives returns the objectives with the events of the hour before now.
func (h *history) objectives(now time.Time) (list []objective) {
	results := h.since(now.Add(-window))
	for _, configured := range h.target.Objectives {
		o := objective{Objective: configured}
		for _, e := range results {
			j := e.judgement(configured)
			o.Good += j.Good
			o.Bad += j.Bad
			if j.Bad > 0 {
				o.LastBad = e
			}
		}
		o.Missed = !h.target.Disabled && o.Bad >= leastBad && !o.Met()
		list = append(list, o)
	}
	return list
}

// missesAny reports whether one of the objectives is missed.
func missesAny(list []objective) bool {
	return slices.ContainsFunc(list, func(o objective) bool { return o.Missed })
}

// Total returns the number of events.
func (o objective) Total() int { return o.Good + o.Bad }

// Met reports whether there are events, and as many of them are good as the goal demands.
func (o objective) Met() bool {
	return !report.Attainment{Goal: stats.Number(o.Goal), Good: o.Good, Judged: o.Total()}.Missed()
}

// spent returns the share of the error budget that the events have spent; NaN without any.
func (o objective) spent() float64 {
	return float64(o.Bad) / float64(o.Total()) / (1 - o.Goal)
}

// Detail says what the name of the objective does not: its signal, if it has another name, and its limit.
func (o objective) Detail() string {
	text := ""
	if o.Name != string(o.Signal) {
		text = string(o.Signal)
	}
	if o.Limit > 0 {
		text += " ≤ " + format.Short(o.Limit.Seconds())
	}
	return strings.TrimSpace(text)
}

// shortfall says how far an objective is missed and, unless the last result was bad, how long ago the last bad one was.
// The span is the length of the window in words: "hour" or "40 s".
func (o objective) shortfall(span string, last *entry, now time.Time) string {
	text := fmt.Sprintf("%s %s (%d of %d) over the last %s, goal %s",
		o.Name, format.Attainment(o.Good, o.Total()), o.Good, o.Total(), span, format.Goal(o.Goal))
	if o.LastBad != last {
		text += fmt.Sprintf(", last bad probe %s ago", format.Elapsed(now.Sub(o.LastBad.At).Seconds()))
	}
	return text
}
