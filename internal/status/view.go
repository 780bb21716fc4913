package status

import (
	"math"
	"time"

	"github.com/llm-prober/prober/internal/format"
	"github.com/llm-prober/prober/internal/probe"
	"github.com/llm-prober/prober/internal/report"
	"github.com/llm-prober/prober/internal/server"
	"github.com/llm-prober/prober/internal/stats"
	"github.com/llm-prober/prober/internal/usage"
)

// A state says in a word how a target is now.
type state string

// The states, the most urgent first.
const (
	stateFailing  state = "failing"  // the last probe failed
	stateHanging  state = "hanging"  // a probe has been under way for too long
	stateRejected state = "rejected" // the target is not probed: its settings are wrong
	stateDegraded state = "degraded" // probes miss an objective, or are much slower than usual: see [condition]
	stateWaiting  state = "waiting"  // there is no result yet
	stateOK       state = "ok"       // the last probe succeeded
	stateDisabled state = "disabled" // the target is not probed: the configuration says so
)

// longWait is how long a probe may be under way before its target hangs, if the usual E2EL is not known.
const longWait = 10 * time.Second

// A view is one target at one moment, as /api/v1/targets and the page show it. Durations are seconds; what is absent is
// null. Counts and quantiles are those of the results in memory that are at most window_seconds old. The fields up to
// Labels are those of [probe.Description].
type view struct {
	Name         string   `json:"name"`
	Group        string   `json:"group"`
	Model        string   `json:"model"`
	API          string   `json:"api"`
	URL          string   `json:"url"`
	Prompt       string   `json:"prompt"`
	PromptTokens int      `json:"prompt_tokens"`
	MaxTokens    int      `json:"max_tokens"`
	TokensPerDay int      `json:"tokens_per_day"`
	Notes        []string `json:"notes"`

	Labels map[string]string `json:"labels"` // by name; empty without any

	Interval      float64                   `json:"interval_seconds"`
	Server        *string                   `json:"server"`         // server type; null if unknown
	ServerVersion *string                   `json:"server_version"` // as the server reports it; null if unknown
	Capabilities  map[string]server.Ability `json:"capabilities"`

	State        state          `json:"state"`
	Problems     usage.Problems `json:"problems"`     // of the settings; empty unless the target is rejected
	Degradations []string       `json:"degradations"` // sentences; also while it is failing or hanging
	Since        time.Time      `json:"since"`        // when it got into its state
	LastOK       *time.Time     `json:"last_ok_time"` // null if no probe has succeeded
	LastOutcome  *probe.Outcome `json:"last_outcome"`
	LastError    *string        `json:"last_error"`
	LastHint     *string        `json:"last_hint"`
	LastResult   *time.Time     `json:"last_result_time"`
	InFlight     int            `json:"in_flight"`
	Oldest       *float64       `json:"oldest_in_flight_seconds"`
	Skipped      map[string]int `json:"skipped"` // by reason, since the target was added
	Links        viewLinks      `json:"links"`

	Window     float64               `json:"window_seconds"`
	Results    int                   `json:"results"`
	OKResults  int                   `json:"ok_results"`
	OKRatio    stats.Number          `json:"ok_ratio"` // null without a result
	Outcomes   map[probe.Outcome]int `json:"outcomes"` // only those that happened
	Quantiles  allQuantiles          `json:"quantiles_seconds"`
	Objectives []objective           `json:"objectives"`

	// For the page only.
	Last     *entry `json:"-"` // the latest result; nil if there is none
	Scales   scales `json:"-"` // of the group
	history  history
	summary  report.Summary // of the results in the window
	oldestAt time.Time      // start of the oldest probe in flight; zero without one
}

// viewLinks are absolute addresses about a target, null if they are not known.
type viewLinks struct {
	Page      *string `json:"page"`
	Dashboard *string `json:"dashboard"`
	Runbook   *string `json:"runbook"` // null if nothing is wrong
}

// allQuantiles are the quantiles of each latency.
type allQuantiles struct {
	TTFT quantiles `json:"ttft"`
	TPOT quantiles `json:"tpot"`
	ITL  quantiles `json:"itl"` // every token weighs the same
	E2EL quantiles `json:"e2el"`
}

// quantiles are those of N values, in seconds. They are null in JSON if there is no value.
type quantiles struct {
	N   int          `json:"n"`
	P50 stats.Number `json:"p50"`
	P95 stats.Number `json:"p95"`
}

// quantilesOf returns the quantiles of d, rounded to nanoseconds.
func quantilesOf(d stats.Distribution) quantiles {
	at := func(share stats.Share) stats.Number { return stats.Number(math.Round(float64(d.At(share))*1e9) / 1e9) }
	return quantiles{N: d.Count, P50: at(stats.P50), P95: at(stats.P95)}
}

// An objective is one objective of the target, with the number of results in the window that met it.
type objective struct {
	Name   string       `json:"name"`
	Signal probe.Signal `json:"signal"`
	Limit  *float64     `json:"limit_seconds"` // null for availability
	Goal   float64      `json:"goal_ratio"`
	Good   int          `json:"good"`
	Total  int          `json:"total"` // results that were judged

	Disabled bool `json:"-"` // the target is not probed now, and misses nothing
}

// Missed reports whether results were judged and too few of them are good, of a target that is probed.
func (o objective) Missed() bool {
	attained := report.Attainment{Goal: stats.Number(o.Goal), Good: o.Good, Judged: o.Total}
	return !o.Disabled && o.Total > 0 && attained.Missed()
}

// Ratio returns the share of good results. There is at least one result.
func (o objective) Ratio() float64 { return float64(o.Good) / float64(o.Total) }

// views returns all targets as they are now.
func (b *Board) views() []*view {
	now := time.Now()
	list := []*view{}
	for _, h := range b.copies() {
		list = append(list, newView(h, now, b.links))
	}
	return list
}

// newView returns a target as it is now.
func newView(h history, now time.Time, links Links) *view {
	t := h.target
	v := &view{
		Name: t.Name, Group: t.Group, Model: t.Model, API: t.API, URL: t.URL, Prompt: t.Prompt,
		PromptTokens: t.PromptTokens, MaxTokens: t.MaxTokens, TokensPerDay: t.TokensPerDay, Notes: t.Notes,
		Labels:        nonNil(t.Labels),
		Interval:      t.Interval.Seconds(),
		Server:        orNull(t.Server),
		ServerVersion: orNull(t.Version),
		Capabilities:  map[string]server.Ability{},
		Problems:      append(usage.Problems{}, h.problems...),
		Degradations:  []string{},
		Skipped:       h.skipped,
		Last:          h.last(),
		history:       h,
	}
	for _, a := range t.Abilities {
		v.Capabilities[a.Name] = a
	}
	if !t.Disabled { // else its results are no longer of now
		v.Degradations = append(v.Degradations, h.condition.degradations()...)
	}
	v.addLast()
	v.addInFlight(now)
	v.addSummary(now)
	v.State, v.Since = v.currentState()
	v.Links = viewLinks{
		Page:      orNull(links.page(t.Name)),
		Dashboard: orNull(links.dashboard(t.Name, t.Prompt)),
		Runbook:   orNull(v.runbookURL()),
	}
	return v
}

// addLast sets the fields about the last result, if there is one.
func (v *view) addLast() {
	last := v.Last
	if last == nil {
		return
	}
	v.LastOutcome = &last.Outcome
	v.LastError = last.Error
	v.LastHint = last.Hint
	v.LastResult = &last.At
	if !v.history.condition.lastOK.IsZero() {
		v.LastOK = &v.history.condition.lastOK
	}
}

// addInFlight sets the fields about the probes in flight.
func (v *view) addInFlight(now time.Time) {
	inFlight := v.history.target.InFlight
	if inFlight == nil {
		return
	}
	n, oldest := inFlight()
	v.InFlight = n
	if n > 0 {
		v.oldestAt = oldest
		v.Oldest = new(max(0, now.Sub(oldest)).Seconds())
	}
}

// addSummary sets the fields about the results in the window. The window is shorter than an hour if there was no room
// for older results.
func (v *view) addSummary(now time.Time) {
	h := &v.history
	v.Window = window.Seconds()
	if h.dropped && h.ring[0].At.After(now.Add(-window)) {
		v.Window = now.Sub(h.ring[0].At).Seconds()
	}
	v.summary = h.summarize(h.since(now.Add(-window)))
	s := &v.summary
	v.Results = s.Sent()
	v.OKResults = s.Succeeded()
	v.OKRatio = stats.Number(float64(v.OKResults) / float64(v.Results)) // NaN without a result
	v.Outcomes = s.Outcomes
	v.Quantiles = allQuantiles{
		TTFT: quantilesOf(s.TTFT), TPOT: quantilesOf(s.TPOT), ITL: quantilesOf(s.ITL), E2EL: quantilesOf(s.E2EL),
	}
	v.Objectives = make([]objective, 0, len(s.Objectives))
	for i, attained := range s.Objectives {
		configured := h.target.Objectives[i]
		o := objective{
			Name: configured.Name, Signal: configured.Signal, Goal: configured.Goal,
			Good: attained.Good, Total: attained.Judged, Disabled: h.target.Disabled,
		}
		if configured.Signal != probe.SignalAvailability {
			o.Limit = new(configured.Limit.Seconds())
		}
		v.Objectives = append(v.Objectives, o)
	}
}

// currentState returns the state of the target, and since when it is in it.
func (v *view) currentState() (current state, since time.Time) {
	c := &v.history.condition
	switch {
	case len(v.Problems) > 0:
		return stateRejected, v.history.rejectedSince
	case v.history.target.Disabled:
		return stateDisabled, v.history.disabledSince
	case v.Oldest != nil && *v.Oldest > v.patience():
		return stateHanging, v.hangingSince()
	case v.Last == nil:
		return stateWaiting, v.history.added
	case !v.Last.OK():
		return stateFailing, c.failingSince
	case !c.degradedSince.IsZero():
		return stateDegraded, c.degradedSince
	}
	return stateOK, c.okSince
}

// hangingSince returns since when the target hangs: the start of its oldest probe or, if the ones before it failed, of
// the first of those. So the time stays the same when the probe fails and the next one hangs.
func (v *view) hangingSince() time.Time {
	failingSince := v.history.condition.failingSince
	if failingSince.IsZero() || v.oldestAt.Before(failingSince) {
		return v.oldestAt
	}
	return failingSince
}

// patience returns how many seconds a probe may be under way before the target counts as hanging. This is twice the
// 95th percentile of the last hour's E2EL, so that a server that is only slow does not hang. It is at least half an
// interval or 10 s, whichever is shorter, so that a server that hangs shows it in the first probe. Without a success in
// the last hour it is 10 s.
func (v *view) patience() float64 {
	least := longWait.Seconds()
	if v.Quantiles.E2EL.N == 0 {
		return least
	}
	if v.Interval > 0 {
		least = min(least, v.Interval/2)
	}
	return max(least, 2*float64(v.Quantiles.E2EL.P95))
}

// nonNil returns labels that are not null in JSON.
func nonNil(labels map[string]string) map[string]string {
	if labels == nil {
		return map[string]string{}
	}
	return labels
}

// orNull returns a pointer to s, or nil if s is empty.
func orNull(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// Why says what is wrong with the target, in sentences without full stops; nil if nothing is wrong.
func (v *view) Why() (list []string) {
	for _, p := range v.Problems {
		list = append(list, p.Error())
	}
	if len(list) > 0 {
		return list // it is not probed, so nothing else is of now
	}
	if v.State == stateDisabled {
		return nil
	}
	if v.State == stateHanging {
		list = append(list, "a probe has been in flight for "+format.Elapsed(*v.Oldest))
	}
	if v.LastError != nil {
		list = append(list, *v.LastError)
	}
	if v.IsDown() && (v.LastOK == nil || time.Since(*v.LastOK) > recentTime) {
		return list // every objective is missed, of course
	}
	return append(list, v.Degradations...)
}

// IsDown reports whether probes do not succeed now, so that the last success is of interest.
func (v *view) IsDown() bool {
	return v.State == stateFailing || v.State == stateHanging || v.State == stateRejected
}
