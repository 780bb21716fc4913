package config

import (
	"fmt"
	"math"
	"strconv"

	"github.com/llm-prober/prober/internal/probe"
)

// A page is sent when the error budget burns 14.4 times as fast as it may, over
// one hour (the multiwindow alert of the SRE workbook, chapter 5). It is worth
// something only if it takes at least three bad probes:
//
//	QPS × 3600 × 14.4 × (1 − goal) ≥ 3
const (
	pageProbes = 3.0
	pagePerQPS = 3600 * 14.4
	rounding   = 1e-9 // relative; floats must not refuse what is equal on paper
	goodDigits = 2    // digits of the hints
)

// measurable reports whether qps probes a second can show that goal is missed.
func measurable(qps, goal float64) bool {
	return qps*pagePerQPS*(1-goal) >= pageProbes*(1-rounding)
}

// largestGoal is the largest goal that qps can measure, rounded down. ok is
// false if it can measure none.
func largestGoal(qps float64) (goal string, ok bool) {
	budget, decimals := roundUp(pageProbes / (pagePerQPS * qps))
	if budget >= 1 {
		return "", false
	}
	return strconv.FormatFloat(1-budget, 'f', decimals, 64), true
}

// smallestQPS is the smallest rate that can measure goal, rounded up.
func smallestQPS(goal float64) string {
	qps, decimals := roundUp(pageProbes / (pagePerQPS * (1 - goal)))
	return strconv.FormatFloat(qps, 'f', decimals, 64)
}

// roundUp rounds v, above 0, up to goodDigits significant digits, and says how
// many decimals that takes.
func roundUp(v float64) (rounded float64, decimals int) {
	decimals = goodDigits - 1 - int(math.Floor(math.Log10(v)))
	unit := math.Pow10(-decimals)
	return math.Ceil(v/unit*(1-rounding)) * unit, max(0, decimals)
}

// objectives judges the objectives, alone, together and against the targets.
func (l *loader) objectives(c *Config, m layer) {
	first := map[string]item{}
	for i, o := range c.Objectives {
		it := m.objectives[i]
		l.objective(o, it)
		if other, twice := first[o.Name]; twice && o.Name != "" {
			l.problem(promise(it), fmt.Sprintf("objective %s is already that of %s", quote(o.Name), promise(other)), "set "+it.setting("NAME"))
		} else {
			first[o.Name] = it
		}
		l.worth(o, it, c.Targets, m.targets)
	}
}

// promise is the place that an objective's name comes from.
func promise(it item) string {
	if it.given("NAME") {
		return it.label("NAME")
	}
	return it.label("SIGNAL")
}

// objective judges one objective.
func (l *loader) objective(o Objective, it item) {
	for _, name := range []string{"SIGNAL", "GOAL"} {
		if _, ok := it.values[name]; !ok {
			f, _ := l.schema.find(name, objectiveScope)
			l.problem(it.word(name), "not given", f.hint())
		}
	}
	_, limited := it.values["LIMIT"]
	switch {
	case !it.given("SIGNAL"):
	case o.Signal == probe.SignalAvailability && limited:
		l.problem(it.label("LIMIT"), "availability has no limit", "leave it out")
	case o.Signal != probe.SignalAvailability && !limited:
		l.problem(it.word("LIMIT"), "not given", string(o.Signal)+" needs a limit, for example 2s")
	}
}

// worth reports a goal that the rate of some target cannot measure, once,
// for the slowest of them.
func (l *loader) worth(o Objective, it item, targets []Target, items []item) {
	slowest, found := Target{}, false
	for i, t := range targets {
		if items[i].given("QPS") && (!found || t.QPS < slowest.QPS) {
			slowest, found = t, true
		}
	}
	if !found || !it.given("GOAL") || measurable(slowest.QPS, o.Goal) {
		return
	}
	hint := fmt.Sprintf("for this goal want at least %s probes per second", smallestQPS(o.Goal))
	if goal, ok := largestGoal(slowest.QPS); ok {
		hint = fmt.Sprintf("at this rate want a goal of at most %s, or %s", goal, hint)
	}
	l.problem(it.label("GOAL"), fmt.Sprintf("cannot be measured at the %v probes per second of target %s: a page (burn rate 14.4 over one hour) must need 3 bad probes",
		slowest.QPS, quote(slowest.Name)), hint)
}
