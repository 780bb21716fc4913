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

// promises makes objectives of those that were given as flags.
func (l *loader) promises() (objectives []*source) {
	for i, text := range l.Objectives {
		place := usage.FlagPlace("objective", text)
		parts := promise.FindStringSubmatch(strings.ReplaceAll(text, " ", ""))
		if parts == nil {
			l.problem(place, "not an objective",
				"want a signal, its limit and the goal, for example ttft=2s@95% or availability@99%")
			continue
		}
		s := newSource("", func(name string) string { return strings.ToLower(name) + " of " + place })
		s.whole = true
		for k, name := range []string{"SIGNAL", "LIMIT", "GOAL"} {
			if parts[k+1] != "" {
				s.values[name] = parts[k+1]
			}
		}
		if percent, ok := strings.CutSuffix(parts[3], "%"); ok {
			s.values["GOAL"] = ratio(percent)
		}
		taken := func(other *source) bool { return other.values["SIGNAL"] == parts[1] }
		if slices.ContainsFunc(objectives, taken) {
			s.values["NAME"] = fmt.Sprintf("%s_%d", parts[1], i+1)
		}
		objectives = append(objectives, s)
	}
	return objectives
}

// ratio returns a percentage as a ratio, and what is no number as it is.
func ratio(percent string) string {
	number, err := strconv.ParseFloat(percent, 64)
	if err != nil {
		return percent + "%"
	}
	return strconv.FormatFloat(number/100, 'g', 12, 64)
}

// validateObjectives judges the settings of each objective together, their names, and whether they can be measured.
func (l *loader) validateObjectives(c *loaded) {
	names := map[string]origin{}
	for i := range c.Objectives {
		o, from := &c.Objectives[i], c.objectives[i]
		if o.Name == "" && from.right("NAME") {
			o.Name = string(o.Signal)
		}
		other, twice := names[o.Name]
		if twice && o.Name != "" {
			l.problem(from.nameLabel("SIGNAL"), fmt.Sprintf("the name %s is already taken by %s", quote(o.Name),
				other.nameLabel("SIGNAL")), "set "+from.setting("NAME"))
		} else {
			names[o.Name] = from
		}
		l.validateLimit(*o, from)
		if !l.Finite && len(l.Objectives) == 0 {
			l.measure(*o, from, c.targets)
		}
	}
}

// validateLimit reports a limit of availability, and a latency without one.
func (l *loader) validateLimit(o Objective, from origin) {
	available := o.Signal == probe.SignalAvailability
	limited := from.given("LIMIT") || !from.right("LIMIT")
	switch {
	case !from.right("SIGNAL"):
	case available && limited:
		l.problem(from.label("LIMIT"), "availability has no limit", "leave it out, or say which signal it limits")
	case !available && !limited:
		l.problem(from.label("LIMIT"), "not given", string(o.Signal)+" needs a limit, for example 2s")
	}
}

// measure finds a goal that cannot page at the rate of some target, and says so once, for the slowest of them. It is a
// problem if somebody wrote the goal, and else a warning: a default is no reason not to start.
func (l *loader) measure(o Objective, from origin, targets []entry) {
	var slowest *Target
	for _, t := range targets {
		if t.right("QPS") && (slowest == nil || t.QPS < slowest.QPS) {
			slowest = t.Target
		}
	}
	if slowest == nil || !from.right("GOAL") || canPage(float64(slowest.QPS), o.Goal) {
		return
	}
	text := fmt.Sprintf("too strict for the %v probes per second of target %s: fewer than 3 bad probes an hour burn its "+
		"budget fast enough to page",
		slowest.QPS, quote(slowest.Name))
	goal, possible := bestGoal(float64(slowest.QPS))
	if !possible {
		text = fmt.Sprintf("cannot page at the %v probes per second of target %s: an hour has fewer than 3 of them",
			slowest.QPS, quote(slowest.Name))
	}
	if from.given("GOAL") {
		hint := fmt.Sprintf("want at least %.10g probes per second", leastRate(o.Goal))
		if possible {
			hint = fmt.Sprintf("want a goal of at most %.10g, or at least %.10g probes per second", goal, leastRate(o.Goal))
		}
		l.problem(from.label("GOAL"), text, hint)
		return
	}
	advice := fmt.Sprintf("raise qps to %.10g", leastRate(o.Goal))
	if possible {
		advice = fmt.Sprintf("set %s=%.10g, or %s", from.setting("GOAL"), goal, advice)
	}
	l.warn(fmt.Sprintf("the alert of objective %s, goal %v by default, is not reliable", quote(o.Name), o.Goal),
		text+"; "+advice)
}
