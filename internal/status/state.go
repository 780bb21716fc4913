package status

import (
	"cmp"
	"math"
	"strings"
	"time"

	"github.com/llm-prober/prober/internal/probe"
	"github.com/llm-prober/prober/internal/stats"
)

// A state says in a word how a target is now.
type state string

// The states. docs/page.md explains them to users.
const (
	stateFailing  state = "failing"           // the last probe failed
	stateHanging  state = "hanging"           // a probe has been under way for too long
	stateRejected state = "rejected"          // the target is not probed: its settings are wrong
	stateMissing  state = "missing_objective" // the last probe succeeded, but the last hour misses an objective
	stateSlow     state = "slow"              // the last probe succeeded, but the last ones took far longer than usual
	stateWaiting  state = "waiting"           // there is no result yet
	stateOK       state = "ok"                // the last probe succeeded, and nothing is wrong
	stateDisabled state = "disabled"          // the target is not probed: the configuration says so
)

// urgency lists the states, the most urgent first.
var urgency = []state{
	stateFailing, stateHanging, stateRejected, stateMissing, stateSlow, stateWaiting, stateOK, stateDisabled,
}

// Words returns the state as a reader sees it.
func (s state) Words() string { return strings.ReplaceAll(string(s), "_", " ") }

// longWait is how long a probe may be under way before its target hangs, if the usual E2EL is not known.
const longWait = 10 * time.Second

// A condition is what the results of a target say about it, up to the latest one. Without a result it is zero. A time
// is zero if nothing of the kind holds now, or has ever happened.
type condition struct {
	firstAt      time.Time // the first result
	lastOK       time.Time // the latest success
	failingSince time.Time // start of the first failure after the latest success
	missingSince time.Time // the result from which on an objective has been missed
	slowSince    time.Time // the result from which on the target has been slow
	okSince      time.Time // the result from which on it has neither failed nor been slow, and has missed no objective
	slowdowns    []slowdown
	e2el         stats.Distribution // of the hour before the latest result
}

// assess updates the condition. It is called for each new result, and when the objectives may have changed.
func (h *history) assess() {
	last := h.last()
	if last == nil {
		return
	}
	c := &h.condition
	c.firstAt = cmp.Or(c.firstAt, last.At)
	if last.OK() {
		c.lastOK = last.At
	}
	isMissing := missesAny(h.objectives(last.At))
	hour := h.since(last.At.Add(-window))
	c.e2el = e2elOf(hour)
	c.slowdowns = h.usual.slowdowns(hour, last.At)
	isSlow := len(c.slowdowns) > 0
	c.failingSince = sinceWhen(!last.OK(), c.failingSince, last.Start)
	c.missingSince = sinceWhen(isMissing, c.missingSince, last.At)
	c.slowSince = sinceWhen(isSlow, c.slowSince, last.At)
	c.okSince = sinceWhen(last.OK() && !isMissing && !isSlow, c.okSince, last.At)
}

// sinceWhen returns since when something holds, or zero if it does not. Before is what it returned the last time.
func sinceWhen(holds bool, before, now time.Time) time.Time {
	if !holds {
		return time.Time{}
	}
	return cmp.Or(before, now)
}

// e2elOf returns how the E2EL of results is spread.
func e2elOf(results []*entry) stats.Distribution {
	var values []float64
	for _, e := range results {
		v := float64(e.sample.Latencies.E2EL)
		if !math.IsNaN(v) {
			values = append(values, v)
		}
	}
	return stats.DistributionOf(values)
}

// state returns the state of the target. It misses an objective if isMissing is set. The time oldestAt is the start of
// its oldest probe in flight, zero without one.
func (h *history) state(now, oldestAt time.Time, isMissing bool) state {
	c := &h.condition
	switch {
	case len(h.problems) > 0:
		return stateRejected
	case h.target.Disabled:
		return stateDisabled
	case !oldestAt.IsZero() && now.Sub(oldestAt).Seconds() > h.patience():
		return stateHanging
	case c.firstAt.IsZero():
		return stateWaiting
	case !c.failingSince.IsZero():
		return stateFailing
	case isMissing:
		return stateMissing
	case !c.slowSince.IsZero():
		return stateSlow
	}
	return stateOK
}

// setState sets the state of the target, since when it is in it, and the alert about it.
func (v *view) setState() {
	c := &v.history.condition
	v.State = v.history.state(v.now, v.oldestAt, missesAny(v.Objectives))
	switch v.State {
	case stateRejected:
		v.Since = v.history.rejectedSince
		v.Runbook = "ProberTargetRejected"
	case stateDisabled:
		v.Since = v.history.disabledSince
	case stateHanging:
		v.Since = v.hangingSince()
		v.SinceStart = c.lastOK.IsZero()
		v.Runbook = "ProberProbeHanging"
	case stateWaiting:
		v.Since = v.history.added
	case stateFailing:
		v.Since = c.failingSince
		v.SinceStart = c.lastOK.IsZero()
		v.Runbook = runbookOf(v.Last.Outcome, !c.lastOK.IsZero())
	case stateMissing:
		v.Since = cmp.Or(c.missingSince, v.Last.At)
		v.Runbook = "ProberErrorBudgetBurn"
	case stateSlow:
		v.Since = c.slowSince
		v.Runbook = "ProberSevereSlowdown"
	case stateOK:
		v.Since = cmp.Or(c.okSince, v.Last.At)
		v.SinceStart = v.Since.Equal(c.firstAt)
	}
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
func (h *history) patience() float64 {
	least := longWait.Seconds()
	usual := h.condition.e2el
	if usual.Count == 0 {
		return least
	}
	if h.target.Interval > 0 {
		least = min(least, h.target.Interval.Seconds()/2)
	}
	return max(least, 2*float64(usual.At(stats.P95)))
}

// runbookOf returns the name of the alert about failures with an outcome. The rules of package alerts decide the same
// in PromQL. There, too, a server that has never taken a request was probably asked wrongly.
func runbookOf(o probe.Outcome, hasSucceeded bool) string {
	switch {
	case o.Refusal(), o == probe.Rejected && !hasSucceeded:
		return "ProberTargetRefuses"
	case o == probe.Stalled:
		return "ProberStreamStall"
	case o == probe.WrongAnswer, o == probe.WrongLength:
		return "ProberWrongAnswer"
	}
	return "ProberTargetDown"
}
