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

// promise is the form of an objective that is given as a flag.
var promise = regexp.MustCompile(`^([a-z0-9_]+)(?:[<=]([^@]*))?(?:@(.*))?$`)

// promises makes objectives of those that were given as flags.
func (l *loader) promises() (entries []*origin) {
	var signals []string
	for i, text := range l.Objectives {
		place := usage.FlagPlace("objective", text)
		parts := promise.FindStringSubmatch(strings.ReplaceAll(text, " ", ""))
		if parts == nil {
			l.problems.Add(place, "not an objective",
				"want a signal, its limit and the goal, for example ttft=2s@95% or availability@99%")
			continue
		}
		at := func(name string) string { return place + ": " + strings.ToLower(name) }
		from := newOrigin(l.settings.objective, at)
		from.says["SIGNAL"] = value{parts[1], at("SIGNAL")}
		from.says["LIMIT"] = value{parts[2], at("LIMIT")}
		from.says["GOAL"] = value{ratio(parts[3]), at("GOAL")}
		if slices.Contains(signals, parts[1]) {
			from.says["NAME"] = value{fmt.Sprintf("%s_%d", parts[1], i+1), at("NAME")}
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

// validateObjectives judges the settings of each objective together, their names, and whether they can page.
func (l *loader) validateObjectives() {
	named := map[string]*objective{}
	for _, o := range l.objectives {
		other, taken := named[o.Name]
		if taken && o.Name != "" {
			o.nameTaken(o.Name, other.origin, "SIGNAL")
		}
		named[o.Name] = o
		isAvailability := o.Signal == probe.SignalAvailability
		switch {
		case !o.right("SIGNAL", "LIMIT"):
		case isAvailability && o.given("LIMIT"):
			o.problem("LIMIT", "availability has no limit", "leave it out, or say which signal it limits")
		case !isAvailability && !o.given("LIMIT"):
			o.problem("LIMIT", "not given", string(o.Signal)+" needs a limit, for example 2s")
		}
		if !l.Finite && len(l.Objectives) == 0 {
			l.validateGoal(o)
		}
	}
}

// validateGoal finds a goal that cannot page at the rate of some target, and says so once, for the slowest of them. It
// is a problem if somebody wrote the goal, and else a warning: a default is no reason not to start.
func (l *loader) validateGoal(o *objective) {
	var slowest *target
	for _, t := range l.targets {
		if t.right("QPS") && (slowest == nil || t.QPS < slowest.QPS) {
			slowest = t
		}
	}
	if slowest == nil || !o.right("GOAL") || canPage(slowest.QPS, o.Goal) {
		return
	}
	text := fmt.Sprintf("cannot page at the %v probes per second of target %s: fewer than %v bad probes an hour would "+
		"burn its budget fast enough", slowest.QPS, quote(slowest.Name), pageProbes)
	hint := fmt.Sprintf("want at least %.10g probes per second", leastRate(o.Goal))
	if goal, ok := bestGoal(slowest.QPS); ok {
		hint = fmt.Sprintf("want a goal of at most %.10g, or at least %.10g probes per second", goal, leastRate(o.Goal))
	}
	if o.given("GOAL") {
		o.problem("GOAL", text, hint)
		return
	}
	l.warn(fmt.Sprintf("the alert of objective %s, goal %v by default (%s), is not reliable",
		quote(o.Name), o.Goal, o.at("GOAL")), text+"; "+hint)
}

// A page is sent when the error budget burns 14.4 times as fast as it may, over one hour (SRE workbook, chapter 5), and
// at least three probes of that hour were bad. Where 14.4 times the budget is above 1, all probes of the hour are bad
// before.
const (
	pageProbes = 3.0
	pageBurn   = 14.4
	rounding   = 1e-9 // relative; floats must not refuse what is equal on paper
)

// canPage reports whether the page for a goal needs at least three bad probes in an hour.
func canPage(qps, goal float64) bool { return qps*(1+rounding) >= pageRate(goal) }

// pageRate returns the lowest rate at which a goal can page.
func pageRate(goal float64) float64 { return pageProbes / 3600 / min(1, pageBurn*(1-goal)) }

// leastRate returns pageRate in two digits.
func leastRate(goal float64) float64 { return twoDigits(pageRate(goal)*(1-rounding), math.Ceil) }

// bestGoal returns the highest goal, its budget in two digits, that can page at a rate. ok is false if none can.
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
