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

// A promise is an objective and what was given for it.
type promise struct {
	*Objective
	item
}

// objectives judges the objectives, alone, together and against the targets.
func (l *loader) objectives(objectives []promise, targets []entry) {
	first := map[string]promise{}
	for _, o := range objectives {
		if o.Name == "" && !o.values["NAME"].bad {
			o.Name = string(o.Signal)
		}
		if other, twice := first[o.Name]; twice && o.Name != "" {
			l.problem(o.origin("SIGNAL"), fmt.Sprintf("the name %s is already taken by %s", quote(o.Name), other.origin("SIGNAL")), "set "+o.setting("NAME"))
		} else {
			first[o.Name] = o
		}
		for _, name := range []string{"SIGNAL", "GOAL"} {
			if _, ok := o.values[name]; !ok {
				k, _ := l.objective.find(name)
				l.problem(o.label(name), "not given", k.hint)
			}
		}
		_, limited := o.values["LIMIT"]
		switch available := o.Signal == probe.SignalAvailability; {
		case !o.given("SIGNAL"):
		case available && limited:
			l.problem(o.label("LIMIT"), "availability has no limit", "leave it out")
		case !available && !limited:
			l.problem(o.label("LIMIT"), "not given", string(o.Signal)+" needs a limit, for example 2s")
		}
		l.worth(o, targets)
	}
}

// worth reports a goal that the rate of some target cannot measure, once,
// for the slowest of them.
func (l *loader) worth(o promise, targets []entry) {
	var slowest *Target
	for _, t := range targets {
		if t.given("QPS") && (slowest == nil || t.QPS < slowest.QPS) {
			slowest = t.Target
		}
	}
	if slowest == nil || !o.given("GOAL") || measurable(slowest.QPS, o.Goal) {
		return
	}
	hint := fmt.Sprintf("for this goal want at least %s probes per second", smallestQPS(o.Goal))
	if goal, ok := largestGoal(slowest.QPS); ok {
		hint = fmt.Sprintf("at this rate want a goal of at most %s, or %s", goal, hint)
	}
	l.problem(o.label("GOAL"), fmt.Sprintf("cannot be measured at the %v probes per second of target %s: a page (burn rate 14.4 over one hour) must need 3 bad probes",
		slowest.QPS, quote(slowest.Name)), hint)
}
