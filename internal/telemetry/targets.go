package telemetry

import (
	"cmp"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/llm-prober/prober/internal/probe"
)

// A promptState is what gauges show of a prompt of a target: its description, and what is known from its results.
type promptState struct {
	target probe.Description

	// When something last happened; zero if it did not yet.
	lastProbe     time.Time
	lastAvailable time.Time
	lastSuccess   time.Time
	lastFailure   time.Time
	howItFailed   []string // of the last failure: outcome, HTTP status and reason

	wording   probe.Wording // of the last answer that was whole and has text; the zero value before the first
	wordingAt time.Time     // when that probe ended

	certExpiry time.Time // earliest expiry in the server's certificate chain; zero if unknown
	hasWorked  bool      // a probe of the prompt succeeded, whatever model the target had then
}

// Set adds a prompt of a target, with all its series at zero, or changes it. It leaves other prompts of the target as
// they are.
//
// If the model, the depths, the labels or the names of objectives changed, the series are replaced by new ones at zero.
// Timestamps such as last_success are kept unless the model changed, and the expiry of certificates unless the URL
// changed. What t leaves open (model, API, server, its version, source of timestamps) stays as it was known before, as
// long as the URL is the same.
func (r *Recorder) Set(t probe.Description) {
	t.URL = withoutSecrets(t.URL)
	if t.API == "auto" {
		t.API = ""
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	s, ok := r.prompts[t.ID()]
	if !ok {
		r.begin(promptState{target: t})
		return
	}
	before := s.state.target
	if t.URL == before.URL {
		t = withLearned(t, before)
	}
	state := s.state.describedAs(t)
	if !r.haveSameSeries(before, t) {
		r.end(t.ID())
		r.begin(state)
		return
	}
	s.state = state
	if !sameGenAIAttributes(before, t) {
		r.release(ScopeGenAI, t)
		r.openAll(s.series, ScopeGenAI, t)
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

// describedAs returns the state with another description, and with what is still known: see [Recorder.Set].
func (s promptState) describedAs(t probe.Description) promptState {
	before := s.target
	isSameServer := t.URL == before.URL
	next := s
	if t.Model != before.Model {
		next = promptState{certExpiry: s.certExpiry}
	}
	next.target = t
	if !isSameServer {
		next.certExpiry = time.Time{}
	}
	// Only a server that is asked for the same is expected to answer as before: a longer prompt may be too long for it.
	next.hasWorked = s.hasWorked && isSameServer && t.AsksTheSame(before)
	return next
}

// haveSameSeries reports whether two descriptions of a target have the same labels, the same depths, and objectives of
// the same names in any order.
func (r *Recorder) haveSameSeries(a, b probe.Description) bool {
	isRelabelled := func(name string) bool { return a.Labels[name] != b.Labels[name] }
	objectivesA := slices.Sorted(slices.Values(objectiveNames(a)))
	objectivesB := slices.Sorted(slices.Values(objectiveNames(b)))
	return slices.Equal(targetLabels(a), targetLabels(b)) &&
		!slices.ContainsFunc(r.labels, isRelabelled) &&
		slices.Equal(a.Depths, b.Depths) &&
		slices.Equal(objectivesA, objectivesB)
}

// Remove ends all series of a prompt of a target. It ignores unknown names.
func (r *Recorder) Remove(target, prompt string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.end(probe.PromptID{Target: target, Prompt: prompt})
}

// begin adds a prompt with all its series.
func (r *Recorder) begin(state promptState) {
	s := &promptSeries{state: state, series: map[seriesID]series{}}
	r.prompts[state.target.ID()] = s
	r.openAll(s.series, ScopeGenAI, state.target)
	r.openAll(s.series, ScopeTarget, state.target)
}

// end removes a prompt with all its series, if it is set.
func (r *Recorder) end(id probe.PromptID) {
	s, ok := r.prompts[id]
	if !ok {
		return
	}
	delete(r.prompts, id)
	r.release(ScopeTarget, s.state.target)
	r.release(ScopeGenAI, s.state.target)
}

// openAll adds the series of a scope that exist from the start, which are all that no result creates.
func (r *Recorder) openAll(to map[seriesID]series, scope Scope, t probe.Description) {
	for _, i := range r.recorded {
		if i.Scope != scope || i.createOn != nil {
			continue
		}
		for _, own := range i.initialLabels(t) {
			to[idOf(i.Name, own...)] = r.open(i, t, own)
		}
	}
}

// open creates one series in all backends that have the instrument.
func (r *Recorder) open(i Instrument, t probe.Description, own []string) series {
	var all series
	for _, b := range r.backends {
		observe := b.open(i, t, own)
		if observe != nil {
			all = append(all, observe)
		}
	}
	return all
}

// release ends all series that a prompt of a target has in a scope, in all backends.
func (r *Recorder) release(scope Scope, t probe.Description) {
	for _, b := range r.backends {
		b.release(scope, t)
	}
}

// update changes the state by a result. Results may come out of order.
func (s *promptState) update(r *probe.Result) {
	end := r.Start.Add(r.Elapsed)
	s.lastProbe = later(s.lastProbe, end)
	if r.Available(s.hasWorked) {
		s.lastAvailable = later(s.lastAvailable, end)
	}
	if r.Outcome == probe.OK {
		s.hasWorked = true
		s.lastSuccess = later(s.lastSuccess, end)
	} else if end.After(s.lastFailure) {
		s.lastFailure = end
		status := "" // there was none
		if r.Status > 0 {
			status = strconv.Itoa(r.Status)
		}
		s.howItFailed = []string{string(r.Outcome), status, string(r.Reason)}
	}
	if r.Wording.Characters > 0 && end.After(s.wordingAt) {
		s.wording = r.Wording
		s.wordingAt = end
	}
	if !r.CertExpiry.IsZero() {
		s.certExpiry = r.CertExpiry
	}
	s.target.Timestamps = cmp.Or(r.Timestamps, s.target.Timestamps)
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// unknown is the label value of a model, API or server type that is not known yet.
const unknown = "unknown"

// targetLabels returns the labels that every series of a target has besides the vantage and configured ones: target,
// model and prompt.
func targetLabels(t probe.Description) []string {
	return []string{toValidUTF8(t.Name), toValidUTF8(cmp.Or(t.Model, unknown)), toValidUTF8(t.Prompt)}
}

// withoutSecrets returns the scheme, host and path of a URL, since the rest may be secret. It returns an empty text if
// the URL is not valid.
func withoutSecrets(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return ""
	}
	shown := url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}
	return toValidUTF8(shown.String())
}
