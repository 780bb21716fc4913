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
func (l *loader) flagObjectives() (entries []*entry) {
	isThere := map[string]bool{} // signals
	for i, text := range l.options.Objectives {
		at := usage.FlagPlace("objective", text)
		parts := flagForm.FindStringSubmatch(strings.ReplaceAll(text, " ", ""))
		if parts == nil {
			l.problems.Add(at, "not an objective",
				"want a signal, its limit and the goal, for example ttft=2s@95% or availability@99%")
			continue
		}
		signal := parts[1]
		e := newEntry(l.schema.objective, func(k Key) place { return place{at: at, key: k.fileKey()} })
		s := e.settings.(*objectiveSettings)
		e.write(&s.Signal, signal)
		e.write(&s.Limit, parts[2])
		e.write(&s.Goal, ratio(parts[3]))
		if isThere[signal] {
			e.write(&s.Name, fmt.Sprintf("%s_%d", signal, i+1))
		}
		isThere[signal] = true
		entries = append(entries, e)
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
	var others []*target // those that have the objectives of all
	for _, t := range l.targets {
		if t.objectives == nil {
			others = append(others, t)
			continue
		}
		l.validateList(t.objectives, []*target{t})
		for _, o := range t.objectives {
			t.entry.problems = append(t.entry.problems, o.entry.problems...)
		}
	}
	l.validateList(l.objectives, others)
}

// validateList judges whether each objective of a list has a limit if it needs one, a name of its own, prompts to
// judge, and a goal whose alert can fire in time for the most seldom of them. The targets are those that have the list.
func (l *loader) validateList(list []*objective, targets []*target) {
	named := map[string]*objective{}
	for _, o := range list {
		s, e := o.settings, o.entry
		other, isTaken := named[s.Name]
		if isTaken && s.Name != "" {
			e.reportTakenName(s.Name, o.namePlace(), other.namePlace())
		}
		named[s.Name] = o
		isAvailability := s.Signal == probe.SignalAvailability
		switch {
		case !e.right(&s.Signal, &s.Limit):
		case isAvailability && e.given(&s.Limit):
			e.problem(&s.Limit, "availability has no limit", "leave it out, or set the signal that it limits")
		case !isAvailability && !e.given(&s.Limit):
			e.problem(&s.Limit, "not given", string(s.Signal)+" needs a limit, for example 2s")
		}
		t, prompt, ok := o.mostSeldom(targets)
		isJudged := !l.options.Finite && len(l.options.Objectives) == 0
		if ok && isJudged {
			l.validateGoal(o, t.settings, prompt)
		}
	}
}

// mostSeldom returns which prompt of which target is asked most seldom, of those that o judges. A prompt that no target
// has is reported. ok is false if there is none, or if settings on which that depends are wrong.
func (o *objective) mostSeldom(targets []*target) (slowest *target, prompt int, ok bool) {
	s, e := o.settings, o.entry
	if !e.right(&s.Prompt) {
		return nil, 0, false
	}
	var names []string
	lowest := math.Inf(1) // probes per second
	isThere := s.Prompt == "" || len(targets) == 0
	areKnown := true
	for _, t := range targets {
		if !t.promptsAreRight() || !t.entry.right(&t.settings.QPS) {
			areKnown = false
			continue
		}
		for i, p := range t.settings.Prompts {
			names = append(names, p.Name)
			if s.Prompt != "" && s.Prompt != p.Name {
				continue
			}
			isThere = true
			rate := t.settings.RateOf(i)
			if rate < lowest {
				lowest = rate
				slowest, prompt, ok = t, i, true
			}
		}
	}
	if !isThere && areKnown {
		wrong := usage.Unknown("", s.Prompt, slices.Compact(slices.Sorted(slices.Values(names))))
		e.problem(&s.Prompt, wrong.Text, wrong.Hint)
	}
	return slowest, prompt, ok
}

// namePlace returns the place where the name of o is from: its own or, without one, its signal.
func (o *objective) namePlace() string {
	if o.entry.given(&o.settings.Name) {
		return o.entry.problemPlace(&o.settings.Name)
	}
	return o.entry.problemPlace(&o.settings.Signal)
}

// validateGoal reports a goal that is too high for the rate of prompt i of a target. It is a problem if a user wrote
// the goal, and a warning otherwise: a default must not keep the prober from starting.
func (l *loader) validateGoal(o *objective, slowest *Target, i int) {
	s, e := o.settings, o.entry
	rate := slowest.RateOf(i)
	if !e.right(&s.Goal) || canPage(rate, s.Goal) {
		return
	}
	asked := "target " + quote(slowest.Name)
	perSecond := "probes per second"
	if len(slowest.Prompts) > 1 {
		asked = "prompt " + quote(slowest.Prompts[i].Name) + " of " + asked
		perSecond += " of that prompt"
	}
	text := fmt.Sprintf("too high for %s at %.4g probes per second: fewer than %v bad probes an hour burn the "+
		"error budget too fast, and the alert needs %v", asked, rate, pageProbes, pageProbes)
	hint := fmt.Sprintf("want at least %.10g %s", leastRate(s.Goal), perSecond)
	if goal, ok := bestGoal(rate); ok {
		hint = fmt.Sprintf("want a goal of at most %.10g, or at least %.10g %s", goal, leastRate(s.Goal), perSecond)
	}
	if e.given(&s.Goal) {
		e.problem(&s.Goal, text, hint)
		return
	}
	at := fmt.Sprintf("objective %s (%s)", quote(s.Name), e.placeOf(e.key(&s.Goal)).phrase())
	l.warn(at, fmt.Sprintf("the default goal of %v is %s; %s", s.Goal, text, hint))
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
