package config

import (
	"fmt"
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

// likelyRatio returns the ratio that was probably meant by a goal in percent; "" if that is not likely.
func likelyRatio(text string) string {
	percent, isPercent := strings.CutSuffix(text, "%")
	number, err := strconv.ParseFloat(percent, 64)
	if err != nil || number <= 0 || number >= 100 || number <= 1 && !isPercent {
		return ""
	}
	return ratio(percent + "%")
}

// validateObjectives judges the settings of each objective together, their names, and whether they can page.
func (l *loader) validateObjectives() {
	names := map[string]*objective{}
	for _, o := range l.objectives {
		other, twice := names[o.Name]
		if twice && o.Name != "" {
			text := fmt.Sprintf("the name %s is already taken by %s", quote(o.Name), other.nameLabel("SIGNAL"))
			o.problems.Add(o.nameLabel("SIGNAL"), text, o.naming)
		}
		names[o.Name] = o
		o.validateLimit()
		if !l.Finite && len(l.Objectives) == 0 {
			l.validateGoal(o)
		}
	}
}

// validateLimit reports a limit of availability, and a latency without one.
func (o *objective) validateLimit() {
	isAvailability := o.Signal == probe.SignalAvailability
	switch {
	case !o.right("SIGNAL"):
	case isAvailability && o.given("LIMIT"):
		o.problem("LIMIT", "availability has no limit", "leave it out, or say which signal it limits")
	case !isAvailability && !o.given("LIMIT") && o.right("LIMIT"):
		o.problem("LIMIT", "not given", string(o.Signal)+" needs a limit, for example 2s")
	}
}

// validateGoal finds a goal that cannot page at the rate of some target, and says so once, for the slowest of them. It is
// a problem if somebody wrote the goal, and else a warning: a default is no reason not to start.
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
	rate := leastRate(o.Goal)
	goal, possible := bestGoal(slowest.QPS)
	probes := fmt.Sprintf("the %v probes per second of target %s", slowest.QPS, quote(slowest.Name))
	text := "cannot page at " + probes + ": an hour has fewer than 3 of them"
	hint := fmt.Sprintf("want at least %.10g probes per second", rate)
	advice := fmt.Sprintf("raise qps to %.10g", rate)
	if possible {
		text = "too strict for " + probes + ": fewer than 3 bad probes an hour burn its budget fast enough to page"
		hint = fmt.Sprintf("want a goal of at most %.10g, or at least %.10g probes per second", goal, rate)
		advice = fmt.Sprintf("set %s=%.10g, or %s", o.at("GOAL"), goal, advice)
	}
	if o.given("GOAL") {
		o.problem("GOAL", text, hint)
		return
	}
	l.warn(fmt.Sprintf("the alert of objective %s, goal %v by default, is not reliable", quote(o.Name), o.Goal),
		text+"; "+advice)
}
