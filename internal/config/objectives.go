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

// flagForm matches an objective that is given as a flag: a signal, its limit and the goal.
var flagForm = regexp.MustCompile(`^([a-z0-9_]+)(?:[<=]([^@]*))?(?:@(.*))?$`)

// flagObjectives returns an entry for each objective that was given as a flag.
func (l *loader) flagObjectives() (entries []*origin) {
	var signals []string
	for i, text := range l.Objectives {
		place := usage.FlagPlace("objective", text)
		parts := flagForm.FindStringSubmatch(strings.ReplaceAll(text, " ", ""))
		if parts == nil {
			l.problems.Add(place, "not an objective",
				"want a signal, its limit and the goal, for example ttft=2s@95% or availability@99%")
			continue
		}
		at := func(name string) string { return place + ": " + strings.ToLower(name) }
		from := newOrigin(l.settings.objective, at)
		from.says["SIGNAL"] = value{text: parts[1], place: at("SIGNAL")}
		from.says["LIMIT"] = value{text: parts[2], place: at("LIMIT")}
		from.says["GOAL"] = value{text: ratio(parts[3]), place: at("GOAL")}
		if slices.Contains(signals, parts[1]) {
			from.says["NAME"] = value{text: fmt.Sprintf("%s_%d", parts[1], i+1), place: at("NAME")}
		}
		signals = append(signals, parts[1])
		entries = append(entries, from)
	}
	return entries
}

// ratio returns a percentage as a ratio, and everything else as it is.
func ratio(text string) string {
	percent, isPercent := strings.CutSuffix(text, "%")
	number, err := strconv.ParseFloat(percent, 64)
	if !isPercent || err != nil {
		return text
	}
	return strconv.FormatFloat(number/100, 'g', 12, 64)
}

// validateObjectives judges the objectives of all targets, and those that targets have themselves. A problem with the
// latter is one of the target.
func (l *loader) validateObjectives() {
	var slowest *target // of those that have the objectives of all
	for _, t := range l.targets {
		switch {
		case t.objectives != nil:
			l.validateList(t.objectives, t)
			for _, o := range t.objectives {
				t.problems = append(t.problems, o.problems...)
			}
		case t.right("QPS") && (slowest == nil || t.QPS < slowest.QPS):
			slowest = t
		}
	}
	l.validateList(l.objectives, slowest)
}

// validateList judges whether each objective of a list has a limit if it needs one, a name of its own, and a goal whose
// alert can fire in time for the slowest target that has the list. No target may have it: then slowest is nil.
func (l *loader) validateList(list []*objective, slowest *target) {
	named := map[string]*objective{}
	for _, o := range list {
		other, taken := named[o.Name]
		if taken && o.Name != "" {
			o.nameTaken(o.Name, other.origin, "SIGNAL")
		}
		named[o.Name] = o
		isAvailability := o.Signal == probe.SignalAvailability
		switch {
		case !o.right("SIGNAL", "LIMIT"):
		case isAvailability && o.given("LIMIT"):
			o.problem("LIMIT", "availability has no limit", "leave it out, or set the signal that it limits")
		case !isAvailability && !o.given("LIMIT"):
			o.problem("LIMIT", "not given", string(o.Signal)+" needs a limit, for example 2s")
		}
		isJudged := !l.Finite && len(l.Objectives) == 0 && slowest != nil && slowest.right("QPS")
		if isJudged {
			l.validateGoal(o, slowest)
		}
	}
}

// validateGoal reports a goal that is too high for the rate of the slowest target. It is a problem if a user wrote the
// goal, and a warning otherwise: a default must not keep the prober from starting.
func (l *loader) validateGoal(o *objective, slowest *target) {
	if !o.right("GOAL") || canPage(slowest.QPS, o.Goal) {
		return
	}
	text := fmt.Sprintf("too high for target %s at %v probes per second: fewer than %v bad probes an hour burn the "+
		"error budget too fast, and the alert needs %[3]v", quote(slowest.Name), slowest.QPS, pageProbes)
	hint := fmt.Sprintf("want at least %.10g probes per second", leastRate(o.Goal))
	if goal, ok := bestGoal(slowest.QPS); ok {
		hint = fmt.Sprintf("want a goal of at most %.10g, or at least %.10g probes per second", goal, leastRate(o.Goal))
	}
	if o.given("GOAL") {
		o.problem("GOAL", text, hint)
		return
	}
	place := fmt.Sprintf("objective %s (%s)", quote(o.Name), o.at("GOAL"))
	l.warn(place, fmt.Sprintf("the default goal of %v is %s; %s", o.Goal, text, hint))
}

// The alert on an error budget pages when the budget burned 14.4 times as fast as it may, over one hour (SRE workbook,
// chapter 5), and at least three probes of that hour were bad. If 14.4 times the budget is above 1, it pages when all
// probes of the hour were bad.
const (
	pageProbes = 3.0
	pageBurn   = 14.4
	rounding   = 1e-9 // relative; rounding of floats must not make equal values differ
)

// canPage reports whether a goal pages in time at a rate: the budget burns too fast only after three bad probes an
// hour.
func canPage(qps, goal float64) bool { return qps*(1+rounding) >= pageRate(goal) }

// pageRate returns the lowest rate, in probes per second, at which a goal can page.
func pageRate(goal float64) float64 { return pageProbes / 3600 / min(1, pageBurn*(1-goal)) }

// leastRate returns pageRate, rounded up to two digits.
func leastRate(goal float64) float64 { return twoDigits(pageRate(goal)*(1-rounding), math.Ceil) }

// bestGoal returns the highest goal that can page at a rate. Its budget has two digits. ok is false if no goal can.
func bestGoal(qps float64) (goal float64, ok bool) {
	budget := pageProbes / 3600 / pageBurn / qps
	goal = 1 - twoDigits(budget*(1-rounding), math.Ceil)
	if !canPage(qps, goal) { // 14.4 times what was rounded up is above 1
		goal = 1 - budget
	}
	return goal, canPage(qps, goal)
}

// twoDigits rounds v, above 0, to two significant digits.
func twoDigits(v float64, round func(float64) float64) float64 {
	unit := math.Pow10(1 - int(math.Floor(math.Log10(v))))
	return round(v*unit) / unit
}
