package status

import (
	"math"
	"strings"
	"time"

	"github.com/llm-prober/prober/internal/probe"
	"github.com/llm-prober/prober/internal/report"
	"github.com/llm-prober/prober/internal/usage"
)

// A state is how a target is now, in a word.
type state string

const (
	failing  state = "failing"  // the last result is not ok
	hanging  state = "hanging"  // a probe has been under way for too long
	rejected state = "rejected" // it is not probed: its settings are wrong
	waiting  state = "waiting"  // there is no result yet
	fine     state = "ok"       // the last result is ok
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
	Capabilities  map[string]probe.Ability `json:"capabilities"`

	State       state          `json:"state"`
	Problems    usage.Problems `json:"problems"` // of the settings; empty unless it is rejected
	LastOutcome *probe.Outcome `json:"last_outcome"`
	LastError   *string        `json:"last_error"`
	LastHint    *string        `json:"last_hint"`
	LastResult  *time.Time     `json:"last_result_time"`
	InFlight    int            `json:"in_flight"`
	Oldest      *float64       `json:"oldest_in_flight_seconds"`
	Skipped     map[string]int `json:"skipped"` // by reason, since the target was added

	Window     float64               `json:"window_seconds"`
	Results    int                   `json:"results"`
	OKResults  int                   `json:"ok_results"`
	OKRatio    report.Number         `json:"ok_ratio"` // null without a result
	Outcomes   map[probe.Outcome]int `json:"outcomes"` // only those that happened
	Quantiles  allQuantiles          `json:"quantiles_seconds"`
	Objectives []objective           `json:"objectives"`

	Last    *entry `json:"-"` // the latest result; nil if there is none
	Scales  scales `json:"-"` // of the group; for the page only
	past    history
	summary report.Summary // of the results of the window that count, without those that outlived the ring
}

// allQuantiles are those of the quantities that are summed up.
type allQuantiles struct {
	TTFT quantiles `json:"ttft"`
	TPOT quantiles `json:"tpot"`
	ITL  quantiles `json:"itl"` // every token weighs the same
	E2EL quantiles `json:"e2el"`
}

// Quantiles of n values, in seconds; null in JSON without a value.
type quantiles struct {
	N   int           `json:"n"`
	P50 report.Number `json:"p50"`
	P95 report.Number `json:"p95"`
}

// quantilesOf returns what is shown of d, in whole nanoseconds, as the values are.
func quantilesOf(d report.Distribution) quantiles {
	at := func(share float64) report.Number { return report.Number(math.Round(float64(d.At(share))*1e9) / 1e9) }
	return quantiles{N: d.Count, P50: at(0.5), P95: at(0.95)}
}

// An objective is how the results of the window met one objective of the target.
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

// Ratio returns the share of good results. There is at least one result.
func (o objective) Ratio() float64 { return float64(o.Good) / float64(o.Total) }

// views returns all targets as they are now.
func (b *Board) views() []*view {
	now, list := time.Now(), []*view{}
	for _, h := range b.copies() {
		list = append(list, newView(h, now))
	}
	return list
}

// newView returns a target as it is at a moment.
func newView(h history, now time.Time) *view {
	t := h.target
	v := &view{
		Description: t, Interval: t.Interval.Seconds(),
		Server: orNull(t.Server), ServerVersion: orNull(t.Version), Capabilities: map[string]probe.Ability{},
		Problems: append(usage.Problems{}, h.problems...), Skipped: h.skipped, Window: window.Seconds(),
		Last: h.last(), past: h, summary: h.summarize(h.since(now.Add(-window))),
	}
	for _, a := range t.Abilities {
		v.Capabilities[a.Name] = a
	}
	last := v.Last
	if last != nil {
		v.LastOutcome, v.LastError, v.LastHint, v.LastResult = &last.Outcome, last.Error, last.Hint, &last.At
	}
	if h.dropped && h.ring[0].At.After(now.Add(-window)) {
		v.Window = now.Sub(h.ring[0].At).Seconds() // there was no room for older ones
	}
	v.sumUp()
	if t.InFlight != nil {
		n, oldest := t.InFlight()
		v.InFlight = n
		if n > 0 {
			v.Oldest = new(max(0, now.Sub(oldest)).Seconds())
		}
	}
	v.State = v.currentState()
	return v
}

// sumUp shows the summary in the fields of v.
func (v *view) sumUp() {
	s := &v.summary
	v.Results, v.OKResults, v.Outcomes = s.Sent(), s.Succeeded(), s.Outcomes
	v.OKRatio = report.Number(float64(v.OKResults) / float64(v.Results)) // NaN without a result
	v.Quantiles = allQuantiles{
		TTFT: quantilesOf(s.TTFT), TPOT: quantilesOf(s.TPOT), ITL: quantilesOf(s.ITL), E2EL: quantilesOf(s.E2EL),
	}
	v.Objectives = make([]objective, 0, len(s.Objectives))
	for i, a := range s.Objectives {
		of := v.Description.Objectives[i]
		o := objective{Name: of.Name, Signal: of.Signal, Goal: of.Goal, Good: a.Good, Total: a.Judged}
		if of.Signal != probe.SignalAvailability {
			o.Limit = new(of.Limit.Seconds())
		}
		v.Objectives = append(v.Objectives, o)
	}
}

// currentState returns the state of the target.
func (v *view) currentState() state {
	switch {
	case len(v.Problems) > 0:
		return rejected
	case v.Oldest != nil && *v.Oldest > v.patience():
		return hanging
	case v.Last == nil:
		return waiting
	case !v.Last.OK():
		return failing
	}
	return fine
}

// patience returns how many seconds a probe may be under way before the target counts as hanging: twice the 95th
// percentile of the last hour's E2EL, but at least half an interval or 10 s, whichever is shorter. So a server that is
// only slow does not hang, and one that hangs shows it in the first probe after the fault. Without a success in the
// last hour it is 10 s.
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

// orNull returns a pointer to s, or nil if s is empty.
func orNull(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// Why returns what is wrong with the target: the problems of its settings, or the error of its last result. It is empty
// if nothing is wrong.
func (v *view) Why() string {
	if v.LastError != nil && len(v.Problems) == 0 {
		return *v.LastError
	}
	var all []string
	for _, p := range v.Problems {
		all = append(all, p.Error())
	}
	return strings.Join(all, "; ")
}
