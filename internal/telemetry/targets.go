package telemetry

import (
	"cmp"
	"slices"
	"time"

	"github.com/llm-prober/prober/internal/probe"
)

// Set adds a target, with all its series at zero, or changes it.
//
// If the model, the prompt, its labels or the names of objectives changed, its series are replaced by new ones at zero.
// Timestamps such as last_success are kept unless the model or the prompt changed, and the expiry of certificates
// unless the URL changed. What t leaves open (model, API, server, its version, source of timestamps) stays as it was
// known before, as long as the URL is the same.
func (r *Recorder) Set(t probe.Description) {
	t.URL = withoutSecrets(t.URL)
	if t.API == "auto" {
		t.API = ""
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	s, ok := r.targets[t.Name]
	if !ok {
		r.begin(targetState{target: t})
		return
	}
	if t.URL == s.target.URL {
		t = withLearned(t, s.target)
	}
	r.change(s, t)
}

// change replaces the description of a target that is set, and its series if they changed.
func (r *Recorder) change(s *targetSeries, t probe.Description) {
	sameLabels := slices.Equal(targetLabels(s.target), targetLabels(t))
	sameSeries := sameLabels && r.sameConfigured(s.target, t) && sameObjectives(s.target, t)
	sameGenAI := sameAttributes(s.target, t)

	var next targetState
	if sameLabels {
		next = s.targetState
	}
	if t.URL != s.target.URL {
		next.certExpiry = time.Time{} // it is another server's
	}
	next.hasWorked = s.hasWorked && asksTheSame(s.target, t)
	next.target = t

	if !sameSeries {
		r.end(t.Name)
		r.begin(next)
		return
	}
	s.targetState = next
	if !sameGenAI {
		r.release(ScopeGenAI, t)
		r.openAll(s, ScopeGenAI)
	}
}

// withLearned returns t, with what it leaves open filled in from the description before.
func withLearned(t, before probe.Description) probe.Description {
	t.Model = cmp.Or(t.Model, before.Model)
	t.API = cmp.Or(t.API, before.API)
	t.Server = cmp.Or(t.Server, before.Server)
	if t.Server == before.Server {
		t.Version = cmp.Or(t.Version, before.Version)
	}
	t.Timestamps = cmp.Or(t.Timestamps, before.Timestamps)
	return t
}

// sameConfigured reports whether two targets have the same values of the labels that the configuration gives them and
// that are shown.
func (r *Recorder) sameConfigured(a, b probe.Description) bool {
	differs := func(name string) bool { return a.Labels[name] != b.Labels[name] }
	return !slices.ContainsFunc(r.labels, differs)
}

// sameObjectives reports whether the names of two targets' objectives are the same, in any order.
func sameObjectives(a, b probe.Description) bool {
	namesA := objectiveNames(a)
	namesB := objectiveNames(b)
	slices.Sort(namesA)
	slices.Sort(namesB)
	return slices.Equal(namesA, namesB)
}

// asksTheSame reports whether two descriptions ask the same server for answers of the same length. Only then a server
// that answered before is expected to answer now: another prompt may be too long for it.
func asksTheSame(before, now probe.Description) bool {
	return before.URL == now.URL && before.Prompt == now.Prompt &&
		before.PromptTokens == now.PromptTokens && before.MaxTokens == now.MaxTokens
}

// Remove ends all series of a target. It ignores an unknown name.
func (r *Recorder) Remove(name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.end(name)
}

// begin adds a target with all its series.
func (r *Recorder) begin(state targetState) {
	s := &targetSeries{targetState: state, series: map[seriesID][]series{}}
	r.targets[state.target.Name] = s
	r.openAll(s, ScopeGenAI)
	r.openAll(s, ScopeTarget)
}

// end removes a target with all its series, if it is set.
func (r *Recorder) end(name string) {
	s, ok := r.targets[name]
	if !ok {
		return
	}
	delete(r.targets, name)
	r.release(ScopeTarget, s.target)
	r.release(ScopeGenAI, s.target)
}

// openAll creates the series that a target has in a scope, except for those that a result creates.
func (r *Recorder) openAll(s *targetSeries, scope Scope) {
	for _, i := range r.recorded {
		if i.Scope != scope || i.createOn != nil {
			continue
		}
		for _, own := range i.combinations(s.target) {
			s.series[seriesID{i.Name, own}] = r.open(i, s.target, own)
		}
	}
}

// open creates one series in all backends that have the instrument.
func (r *Recorder) open(i *Instrument, t probe.Description, own ownLabels) []series {
	var all []series
	for _, b := range r.backends {
		one := b.open(i, t, own)
		if one != nil {
			all = append(all, one)
		}
	}
	return all
}

// release ends all series that a target has in a scope, in all backends.
func (r *Recorder) release(scope Scope, t probe.Description) {
	for _, b := range r.backends {
		b.release(scope, t)
	}
}
