package status

import (
	"slices"
	"time"

	"github.com/llm-prober/prober/internal/probe"
	"github.com/llm-prober/prober/internal/report"
)

// A state is how a target is now, in a word.
type state string

const (
	failing state = "failing" // the last result is not ok
	hanging state = "hanging" // a probe has been under way for too long
	waiting state = "waiting" // there is no result yet
	fine    state = "ok"      // the last result is ok
)

// longWait is how long a probe may be under way before its target hangs, where nothing better is known.
const longWait = 10 * time.Second

// A view is one target at one moment, as /api/v1/targets and the page show it. Durations are seconds; what is absent is
// null. Counts and quantiles are those of the results in memory that are at most window_seconds old.
type view struct {
	probe.Description
	Interval      float64                  `json:"interval_seconds"`
	Server        *string                  `json:"server"`         // server type; null if unknown
	ServerVersion *string                  `json:"server_version"` // that it says it is
	HeldTo        map[string]probe.Ability `json:"held_to"`

	State       state          `json:"state"`
	LastOutcome *probe.Outcome `json:"last_outcome"`
	LastError   *string        `json:"last_error"`
	LastHint    *string        `json:"last_hint"`
	LastResult  *time.Time     `json:"last_result_time"`
	InFlight    int            `json:"in_flight"`
	Oldest      *float64       `json:"oldest_in_flight_seconds"`
	Skipped     map[string]int `json:"skipped"` // by reason, since the target was added

	Window float64 `json:"window_seconds"`
	summary
	Objectives []objective `json:"objectives"`

	Last   *entry `json:"-"` // the latest result; nil if there is none
	Scales scales `json:"-"` // of the group; for the page only
	past   history
	recent []*entry // those of the window that count, without what outlived the ring
}

type objective struct {
	Name   string       `json:"name"`
	Signal probe.Signal `json:"signal"`
	Limit  *float64     `json:"limit_seconds"` // null for availability
	Goal   float64      `json:"goal_ratio"`
	Good   int          `json:"good"`
	Total  int          `json:"total"`
}

// Missed reports whether results were judged, and fewer are good than promised.
func (o objective) Missed() bool {
	return o.Total > 0 && report.Attainment{Goal: report.Number(o.Goal), Good: o.Good, Judged: o.Total}.Missed()
}

// Ratio is the share of good ones; there is at least one result.
func (o objective) Ratio() float64 { return float64(o.Good) / float64(o.Total) }

func (b *Board) views() []*view {
	now, list := time.Now(), []*view{}
	for _, h := range b.copies() {
		list = append(list, newView(h, now))
	}
	return list
}

func newView(h history, now time.Time) *view {
	t := h.target
	v := &view{
		Description: t, Interval: t.Interval.Seconds(),
		Server: orNull(t.Server), ServerVersion: orNull(t.Version), HeldTo: map[string]probe.Ability{},
		Skipped: h.skipped, Window: window.Seconds(), Objectives: []objective{},
		Last: h.last(), past: h, recent: h.since(now.Add(-window)),
	}
	for _, a := range t.Abilities {
		v.HeldTo[a.Name] = a
	}
	if last := v.Last; last != nil {
		v.LastOutcome, v.LastError, v.LastHint, v.LastResult = &last.Outcome, last.Error, last.Hint, &last.At
	}
	if h.dropped && h.ring[0].At.After(now.Add(-window)) {
		v.Window = now.Sub(h.ring[0].At).Seconds() // there was no room for older ones
	}
	v.summary = h.summarize(wholeHour, v.recent)
	for _, o := range t.Objectives {
		v.Objectives = append(v.Objectives, v.judged(o))
	}
	if t.InFlight != nil {
		n, oldest := t.InFlight()
		if v.InFlight = n; n > 0 {
			v.Oldest = new(max(0, now.Sub(oldest)).Seconds())
		}
	}
	v.State = v.judge()
	return v
}

// judged counts the results that were judged by the signal and limit of the objective as it is now. Its goal and name
// say nothing about a single result, so results from before a reload that changed only these count as well.
func (v *view) judged(o probe.Objective) objective {
	t := objective{Name: o.Name, Signal: o.Signal, Goal: o.Goal}
	if o.Signal != probe.SignalAvailability {
		t.Limit = new(o.Limit.Seconds())
	}
	same := func(of probe.Objective) bool { return of.Signal == o.Signal && of.Limit == o.Limit }
	for _, e := range v.recent {
		switch {
		case slices.ContainsFunc(e.good, same):
			t.Good++
			t.Total++
		case slices.ContainsFunc(e.bad, same):
			t.Total += 1 + e.blocked
		}
	}
	return t
}

func (v *view) judge() state {
	switch {
	case v.Oldest != nil && *v.Oldest > v.patience():
		return hanging
	case v.Last == nil:
		return waiting
	case !v.Last.OK():
		return failing
	}
	return fine
}

// patience is how long a probe may be under way before the target counts as hanging: twice the 95th percentile of the
// last hour's E2EL, but no less than half an interval or 10 s, whichever is shorter. So a server that just is slow does
// not hang, and one that hangs shows it in the first probe after the fault. It is 10 s without a success in the last
// hour.
func (v *view) patience() float64 {
	least, p95 := longWait.Seconds(), v.Quantiles.E2EL.P95
	if p95 == nil {
		return least
	}
	if v.Interval > 0 {
		least = min(least, v.Interval/2)
	}
	return max(least, 2**p95)
}

func orNull(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
