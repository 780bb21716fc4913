package status

import (
	"cmp"
	"strings"
	"time"

	"github.com/llm-prober/prober/internal/probe"
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
	c.slowdowns = h.usual.slowdowns(h.since(last.At.Add(-window)), last.At)
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

// setState sets the state of the target, since when it is in it, and the alert about it.
func (v *view) setState() {
	c := &v.history.condition
	switch {
	case len(v.Problems) > 0:
		v.State, v.Since = stateRejected, v.history.rejectedSince
		v.Runbook = "ProberTargetRejected"
	case v.Target.Disabled:
		v.State, v.Since = stateDisabled, v.history.disabledSince
	case v.InFlight > 0 && v.Oldest > v.patience():
		v.State, v.Since = stateHanging, v.hangingSince()
		v.Runbook = "ProberProbeHanging"
	case v.Last == nil:
		v.State, v.Since = stateWaiting, v.history.added
	case !v.Last.OK():
		v.State, v.Since = stateFailing, c.failingSince
		v.SinceStart = c.lastOK.IsZero()
		v.Runbook = runbookOf(v.Last.Outcome, !c.lastOK.IsZero())
	case missesAny(v.Objectives):
		v.State, v.Since = stateMissing, cmp.Or(c.missingSince, v.Last.At)
		v.Runbook = "ProberErrorBudgetBurn"
	case !c.slowSince.IsZero():
		v.State, v.Since = stateSlow, c.slowSince
		v.Runbook = "ProberSevereSlowdown"
	default:
		v.State, v.Since = stateOK, cmp.Or(c.okSince, v.Last.At)
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
func (v *view) patience() float64 {
	least := longWait.Seconds()
	if v.Latencies.E2EL.N == 0 {
		return least
	}
	if v.Target.Interval > 0 {
		least = min(least, v.Target.Interval.Seconds()/2)
	}
	return max(least, 2*float64(v.Latencies.E2EL.P95))
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
