package config

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/llm-prober/prober/internal/probe"
)

// A page is sent when the error budget burns 14.4 times as fast as it may, over one hour (SRE
// workbook, chapter 5). It must take at least three bad probes: QPS × 3600 × 14.4 × (1 − goal) ≥ 3.
const (
	pageProbes = 3.0
	pagePerQPS = 3600 * 14.4
	rounding   = 1e-9 // relative; floats must not refuse what is equal on paper
)

// roundUp rounds v, above 0, up to two significant digits.
func roundUp(v float64) float64 {
	unit := math.Pow10(int(math.Floor(math.Log10(v))) - 1)
	return math.Ceil(v/unit*(1-rounding)) * unit
}

// promise is the form of an objective that is given as a flag.
var promise = regexp.MustCompile(`^([a-z0-9_]+)(?:[<=]([^@]*))?(?:@(.*))?$`)

func (l *loader) promises() (items []item) {
	for i, text := range l.Objectives {
		place := FlagPlace("objective", text)
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

// measure reports a goal that the rate of some target cannot measure, once, for the slowest of them.
func (l *loader) measure(o Objective, it item, targets []entry) {
	var slowest *Target
	for _, t := range targets {
		if t.given("QPS") && (slowest == nil || t.QPS < slowest.QPS) {
			slowest = t.Target
		}
	}
	if slowest == nil || !it.given("GOAL") || slowest.QPS*pagePerQPS*(1-o.Goal) >= pageProbes*(1-rounding) {
		return
	}
	hint := fmt.Sprintf("for this goal want at least %.10g probes per second", roundUp(pageProbes/(pagePerQPS*(1-o.Goal))))
	if goal := 1 - roundUp(pageProbes/(pagePerQPS*slowest.QPS)); goal > 0 { // rounded down
		hint = fmt.Sprintf("at this rate want a goal of at most %.10g, or %s", goal, hint)
	}
	l.problem(it.label("GOAL"), fmt.Sprintf("cannot be measured at the %v probes per second of target %s: a page (burn rate 14.4 over one hour) must need 3 bad probes",
		slowest.QPS, quote(slowest.Name)), hint)
}
