package telemetry

import (
	"cmp"
	"slices"
	"time"

	"github.com/llm-prober/prober/internal/probe"
)

type facts struct {
	target                                            probe.Description
	lastProbe, lastAvailable, lastSuccess, certExpiry time.Time // zero if there was none yet
	// some probe of the target succeeded, whatever its model and prompt
	hasWorked bool
}

func (f facts) inFlight() (n int, age time.Duration) {
	n, oldest := f.target.InFlight()
	if n > 0 {
		age = max(0, time.Since(oldest))
	}
	return n, age
}

// note takes the facts from a result. Results may come out of order.
func (f *facts) note(r *probe.Result) {
	end := r.Start.Add(r.Elapsed)
	if end.After(f.lastProbe) {
		f.lastProbe = end
	}
	if r.Available(f.hasWorked) && end.After(f.lastAvailable) {
		f.lastAvailable = end
	}
	f.hasWorked = f.hasWorked || r.Outcome == probe.OK
	if r.Outcome == probe.OK && end.After(f.lastSuccess) {
		f.lastSuccess = end
	}
	if !r.CertExpiry.IsZero() {
		f.certExpiry = r.CertExpiry
	}
	f.target.Stamp = cmp.Or(r.Stamp, f.target.Stamp)
}

func fact(value func(facts) float64) func(facts, func(sample)) {
	return func(f facts, to func(sample)) { to(sample{value: value(f)}) }
}

// moment is a point in time of a target; no sample while it is zero.
func moment(at func(facts) time.Time) func(facts, func(sample)) {
	return func(f facts, to func(sample)) {
		if t := at(f); !t.IsZero() {
			to(sample{value: unix(t)})
		}
	}
}

// unix is seconds since 1970, to the millisecond.
func unix(t time.Time) float64 { return float64(t.UnixMilli()) / 1000 }

func objectiveGoals(f facts, to func(sample)) {
	for _, o := range f.target.Objectives {
		to(sample{at: point{valid(o.Name)}, value: o.Goal})
	}
}

func objectiveLimits(f facts, to func(sample)) {
	for _, o := range f.target.Objectives {
		if o.Signal != probe.SignalAvailability {
			to(sample{at: point{valid(o.Name)}, value: o.Limit.Seconds()})
		}
	}
}

func objectiveNames(t probe.Description) []string {
	var names []string
	for _, o := range t.Objectives {
		names = append(names, valid(o.Name))
	}
	return names
}

// infoLabels are the labels that describe a target: its configuration, and what is known of its server.
func infoLabels() []Label {
	all := []Label{
		{Name: "group", From: "group of the target", fact: func(t probe.Description) string { return t.Group }},
		{Name: "api", From: "API dialect; `unknown` until it is detected", fact: func(t probe.Description) string { return cmp.Or(t.API, unknown) }},
		{Name: "url", From: "URL without user, password and query", fact: func(t probe.Description) string { return t.URL }},
		{Name: "server", From: "server type, configured or detected; `unknown` if neither", fact: func(t probe.Description) string { return cmp.Or(t.Server, unknown) }},
		{Name: "stamp", From: "source of arrival timestamps: `kernel`, or `user` for the prober itself; empty before the first token", fact: func(t probe.Description) string { return string(t.Stamp) }},
	}
	for _, a := range (probe.Capabilities{}).Abilities() {
		all = append(all, Label{
			Name: a.Name, From: a.Means,
			fact: func(t probe.Description) string {
				n := slices.IndexFunc(t.Abilities, func(has probe.Ability) bool { return has.Name == a.Name })
				if n < 0 {
					return unknown
				}
				return string(t.Abilities[n].Claim)
			},
		})
	}
	return all
}
