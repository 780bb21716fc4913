package telemetry

import (
	"cmp"
	"iter"
	"runtime"
	"time"

	"github.com/llm-prober/prober/internal/probe"
)

// The functions here say what is known when somebody collects.

// fact is one number of a target that is always known.
func fact(value func(facts) float64) func(facts) iter.Seq[sample] {
	return func(f facts) iter.Seq[sample] { return only(sample{value: value(f)}, true) }
}

// moment is a point in time of a target; no sample while it is zero.
func moment(at func(facts) time.Time) func(facts) iter.Seq[sample] {
	return func(f facts) iter.Seq[sample] { return only(sample{value: unix(at(f))}, !at(f).IsZero()) }
}

// ofObjectives is one number of each objective that has it.
func ofObjectives(value func(probe.Objective) (float64, bool)) func(facts) iter.Seq[sample] {
	return func(f facts) iter.Seq[sample] {
		return func(yield func(sample) bool) {
			for _, o := range f.target.Objectives {
				v, ok := value(o)
				if ok && !yield(sample{at: point{valid(o.Name)}, value: v}) {
					return
				}
			}
		}
	}
}

func objectiveGoal(o probe.Objective) (float64, bool) { return o.Goal, true }

func objectiveLimit(o probe.Objective) (float64, bool) {
	return o.Limit.Seconds(), o.Signal != probe.SignalAvailability
}

// objectiveNames are the label values of a target's objectives.
func objectiveNames(t probe.Description) []string {
	var names []string
	for _, o := range t.Objectives {
		names = append(names, valid(o.Name))
	}
	return names
}

// skippedSlots are the counts of the slots that went without a probe.
func skippedSlots(f facts) iter.Seq[sample] {
	return func(yield func(sample) bool) {
		for _, reason := range Skips() {
			if !yield(sample{at: point{string(reason)}, value: float64(f.skipped[reason])}) {
				return
			}
		}
	}
}

// skipReasons are the reasons to skip as label values.
func skipReasons() []string {
	var names []string
	for _, reason := range Skips() {
		names = append(names, string(reason))
	}
	return names
}

// infoLabels are what is said of a target in labels: what it was configured with,
// and what its server has taught.
func infoLabels() []Label {
	labels := []Label{
		{Name: "group", From: "group of the target", fact: func(t probe.Description) string { return t.Group }},
		{Name: "api", From: "dialect; `unknown` until the server told", fact: func(t probe.Description) string { return cmp.Or(t.API, unknown) }},
		{Name: "url", From: "URL without user, password and query", fact: func(t probe.Description) string { return t.URL }},
		{Name: "server", From: "kind of server, as it was recognized or configured; `unknown` if it was not", fact: func(t probe.Description) string { return cmp.Or(t.Server, unknown) }},
	}
	labels = append(labels, Label{
		Name: "stamp", From: "who stamps the arrival of token frames: `kernel`, `user` for the prober itself, empty before the first was seen",
		fact: func(t probe.Description) string { return string(t.Stamp) },
	})
	for _, a := range (probe.Capabilities{}).Abilities() {
		labels = append(labels, Label{
			Name: a.Name, From: "`yes`, `no`, `optional` or `unknown`: " + a.Means(),
			fact: func(t probe.Description) string { return able(t, a.Name) },
		})
	}
	return labels
}

// able is what is known of one of the server's abilities.
func able(t probe.Description, name string) string {
	for _, a := range t.Abilities {
		if a.Name == name {
			return string(a.Claim)
		}
	}
	return unknown
}

// build is what is said of the prober in labels.
func build(s self) iter.Seq[sample] {
	return only(sample{at: point{valid(s.build.Version), valid(s.build.Revision), runtime.Version()}, value: 1}, true)
}

func lastReloadSuccessful(s self) iter.Seq[sample] {
	value := 0.0
	if s.reloadOK {
		value = 1
	}
	return only(sample{value: value}, s.reloads > 0)
}

func lastReloadSuccess(s self) iter.Seq[sample] {
	return only(sample{value: unix(s.reloadedAt)}, !s.reloadedAt.IsZero())
}

func exportFailures(s self) iter.Seq[sample] {
	return only(sample{value: float64(s.exportFailures)}, true)
}

func lookupFailures(s self) iter.Seq[sample] {
	return only(sample{value: float64(s.lookupFailures)}, true)
}

// unix is seconds since 1970, to the millisecond.
func unix(t time.Time) float64 { return float64(t.UnixMilli()) / 1000 }
