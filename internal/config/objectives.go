package config

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/llm-prober/prober/internal/probe"
	"github.com/llm-prober/prober/internal/usage"
)

// A page is sent when the error budget burns 14.4 times as fast as it may, over one hour (SRE workbook, chapter 5), and
// at least three probes of that hour were bad. See [pagingBad].
const (
	pageProbes = 3.0
	pageBurn   = 14.4
	rounding   = 1e-9 // relative; floats must not refuse what is equal on paper
)

// pagingBad returns how many bad probes in an hour burn the budget of a goal fast enough for a page. It is never more
// than the probes of the hour: where 14.4 times the budget is above 1, all of them are bad before.
func pagingBad(qps, goal float64) float64 {
	return qps * 3600 * min(1, pageBurn*(1-goal))
}

// canPage reports whether the page for a goal needs at least three bad probes in an hour.
func canPage(qps, goal float64) bool { return pagingBad(qps, goal) >= pageProbes*(1-rounding) }

// leastRate returns the lowest rate, in two digits, at which a goal can page.
func leastRate(goal float64) float64 { return roundUp(pageProbes / pagingBad(1, goal)) }

// bestGoal returns the highest goal, its budget in two digits, that can page at a rate. ok is false if none can.
func bestGoal(qps float64) (goal float64, ok bool) {
	budget := pageProbes / (3600 * pageBurn * qps)
	if pageBurn*budget > 1+rounding {
		return 0, false
	}
	goal = 1 - roundUp(budget)
	if !canPage(qps, goal) { // 14.4 times what was rounded up is above 1
		goal = 1 - budget
	}
	return goal, true
}

// roundUp rounds v, above 0, up to two significant digits.
func roundUp(v float64) float64 {
	unit := math.Pow10(int(math.Floor(math.Log10(v))) - 1)
	return math.Ceil(v/unit*(1-rounding)) * unit
}

// promise is the form of an objective that is given as a flag.
var promise = regexp.MustCompile(`^([a-z0-9_]+)(?:[<=]([^@]*))?(?:@(.*))?$`)

func (l *loader) promises() (items []item) {
	for i, text := range l.Objectives {
		place := usage.FlagPlace("objective", text)
		parts := promise.FindStringSubmatch(strings.ReplaceAll(text, " ", ""))
		if parts == nil {
			l.problem(place, "not an objective", "want a signal, its limit and the goal, for example ttft=2s@95% or availability@99%")
			continue
		}
		if percent, ok := strings.CutSuffix(parts[3], "%"); ok {
			if goal, err := strconv.ParseFloat(percent, 64); err == nil {
				parts[3] = strconv.FormatFloat(goal/100, 'g', 12, 64)
			}
		}
		it := item{values: values{}, setting: func(name string) string { return strings.ToLower(name) + " of " + place }}
		for k, name := range []string{"SIGNAL", "LIMIT", "GOAL"} {
			if parts[k+1] != "" {
				it.values[name] = source{text: parts[k+1], label: place}
			}
		}
		if slices.ContainsFunc(items, func(other item) bool { return other.values["SIGNAL"].text == parts[1] }) {
			it.values["NAME"] = source{text: fmt.Sprintf("%s_%d", parts[1], i+1), label: place}
		}
		items = append(items, it)
	}
	return items
}

// judge judges an objective, made of it. names are those of the objectives before it.
func (l *loader) judge(o *Objective, it item, names map[string]item) {
	if o.Name == "" && !it.values["NAME"].bad {
		o.Name = string(o.Signal)
	}
	if other, twice := names[o.Name]; twice && o.Name != "" {
		l.problem(it.origin("SIGNAL"), fmt.Sprintf("the name %s is already taken by %s", quote(o.Name), other.origin("SIGNAL")), "set "+it.setting("NAME"))
	} else {
		names[o.Name] = it
	}
	switch available := o.Signal == probe.SignalAvailability; {
	case !it.given("SIGNAL") || available != it.has("LIMIT"):
	case available:
		l.problem(it.label("LIMIT"), "availability has no limit", "leave it out, or say which signal it limits")
	default:
		l.problem(it.label("LIMIT"), "not given", string(o.Signal)+" needs a limit, for example 2s")
	}
}

// measure finds a goal that cannot page at the rate of some target, and says so once, for the slowest of them. It is a
// problem if somebody wrote the goal, and else a warning: a default is no reason not to start.
func (l *loader) measure(o Objective, it item, targets []entry) {
	var slowest *Target
	for _, t := range targets {
		if t.given("QPS") && (slowest == nil || t.QPS < slowest.QPS) {
			slowest = t.Target
		}
	}
	if slowest == nil || !it.given("GOAL") || canPage(slowest.QPS, o.Goal) {
		return
	}
	text := fmt.Sprintf("too strict for the %v probes per second of target %s: fewer than 3 bad probes an hour burn its "+
		"budget fast enough to page",
		slowest.QPS, quote(slowest.Name))
	goal, possible := bestGoal(slowest.QPS)
	if !possible {
		text = fmt.Sprintf("cannot page at the %v probes per second of target %s: an hour has fewer than 3 of them",
			slowest.QPS, quote(slowest.Name))
	}
	if !it.values["GOAL"].assumed {
		hint := fmt.Sprintf("want at least %.10g probes per second", leastRate(o.Goal))
		if possible {
			hint = fmt.Sprintf("want a goal of at most %.10g, or at least %.10g probes per second", goal, leastRate(o.Goal))
		}
		l.problem(it.label("GOAL"), text, hint)
		return
	}
	advice := fmt.Sprintf("raise qps to %.10g", leastRate(o.Goal))
	if possible {
		advice = fmt.Sprintf("set %s=%.10g, or %s", it.setting("GOAL"), goal, advice)
	}
	l.warn(fmt.Sprintf("the alert of objective %s, goal %v by default, is not reliable", quote(o.Name), o.Goal),
		text+"; "+advice)
}
