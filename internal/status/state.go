package status

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/llm-prober/prober/internal/format"
	"github.com/llm-prober/prober/internal/probe"
	"github.com/llm-prober/prober/internal/report"
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

// leastBad is how many bad events miss an objective, as for ProberErrorBudgetBurn: one or two in an hour are below most
// goals and no trouble yet.
const leastBad = 3

// The results by which a target is slow.
const (
	recentResults = 20 // the last ones, of at most an hour
	leastRecent   = 10 // those of them that have the latency
)

// longWait is how long a probe may be under way before its target hangs, if the usual E2EL is not known.
const longWait = 10 * time.Second

// A condition is what the results of a target say about it, as of the latest of them. Without a result it is zero.
// A time is zero if the thing does not hold, or has never happened.
type condition struct {
	firstAt      time.Time // the first result
	lastOK       time.Time // the latest success
	failingSince time.Time // start of the first of the failures without a success after them
	missingSince time.Time // the first result as of which an objective was missed, and has been since
	slowSince    time.Time // likewise, the target was slow
	okSince      time.Time // likewise, the target was neither failing nor slow, and missed no objective
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
	isMissing := slices.ContainsFunc(h.objectives(last.At), objective.isMissed)
	c.slowdowns = h.usual.slowdowns(h.since(last.At.Add(-window)), last.At)
	isSlow := len(c.slowdowns) > 0
	c.failingSince = sinceWhen(!last.OK(), c.failingSince, last.Start)
	c.missingSince = sinceWhen(isMissing, c.missingSince, last.At)
	c.slowSince = sinceWhen(isSlow, c.slowSince, last.At)
	c.okSince = sinceWhen(last.OK() && !isMissing && !isSlow, c.okSince, last.At)
}

// sinceWhen returns since when something holds that has held since before, which is zero if it did not hold.
func sinceWhen(holds bool, before, now time.Time) time.Time {
	if !holds {
		return time.Time{}
	}
	return cmp.Or(before, now)
}

// An objective is one of the target's, with the events of the results in the window.
type objective struct {
	probe.Objective

	Good, Bad int
	LastBad   *entry // nil without any
	Missed    bool   // the share is below the goal by at least leastBad events, of a target that is probed
}

// objectives returns the objectives with the events of the hour before now.
func (h *history) objectives(now time.Time) (list []objective) {
	results := h.since(now.Add(-window))
	for _, configured := range h.target.Objectives {
		o := objective{Objective: configured}
		for _, e := range results {
			j := e.judgement(configured)
			o.Good += j.Good
			o.Bad += j.Bad
			if j.Bad > 0 {
				o.LastBad = e
			}
		}
		o.Missed = !h.target.Disabled && o.Bad >= leastBad && o.isBelowGoal()
		list = append(list, o)
	}
	return list
}

// Total returns the number of events.
func (o objective) Total() int { return o.Good + o.Bad }

// isBelowGoal reports whether fewer events were good than the goal demands, or whether there are none.
func (o objective) isBelowGoal() bool {
	return report.Attainment{Goal: stats.Number(o.Goal), Good: o.Good, Judged: o.Total()}.Missed()
}

// Met reports whether there are events, and enough of them are good.
func (o objective) Met() bool { return !o.isBelowGoal() }

// Condition says what the name of the objective does not: its signal, if it has another name, and its limit.
func (o objective) Condition() string {
	text := ""
	if o.Name != string(o.Signal) {
		text = string(o.Signal)
	}
	if o.Limit > 0 {
		text += " ≤ " + format.Short(o.Limit.Seconds())
	}
	return strings.TrimSpace(text)
}

// spent returns the share of the error budget that the events have spent; NaN without any.
func (o objective) spent() float64 {
	return float64(o.Bad) / float64(o.Total()) / (1 - o.Goal)
}

func (o objective) isMissed() bool { return o.Missed }

// shortfall says how far an objective is missed, and when it last was if that was not by the last result. The span is
// the length of the window in words: "hour" or "40 s".
func (o objective) shortfall(span string, last *entry, now time.Time) string {
	text := fmt.Sprintf("%s %s (%d of %d) over the last %s, goal %s",
		o.Name, format.Attainment(o.Good, o.Total()), o.Good, o.Total(), span, format.Goal(o.Goal))
	if o.LastBad != last {
		text += fmt.Sprintf(", last bad probe %s ago", format.Elapsed(now.Sub(o.LastBad.At).Seconds()))
	}
	return text
}

// comparedLatencies are those by which a target can be slow.
var comparedLatencies = [...]struct {
	name string
	of   func(report.Sample) stats.Number // NaN without a value
}{
	{"TTFT", func(s report.Sample) stats.Number { return s.Latencies.TTFT }},
	{"ITL", func(s report.Sample) stats.Number { return s.Latencies.ITL }},
	{"TPOT", func(s report.Sample) stats.Number { return s.Latencies.TPOT }},
}

// A usual is what the latencies of a target usually are while its server has one model and is asked the same.
type usual struct {
	model     string
	latencies [len(comparedLatencies)]stats.Usual
}

// add adds a result. The first of another model makes u forget the others.
func (u *usual) add(e *entry) {
	if !e.OK() {
		return
	}
	model := ""
	if e.Model != nil {
		model = *e.Model
	}
	if model != u.model {
		*u = usual{model: model}
	}
	for i, latency := range comparedLatencies {
		v := float64(latency.of(e.sample))
		if !math.IsNaN(v) {
			u.latencies[i].Add(e.At, v)
		}
	}
}

// A slowdown is a latency that is far above the usual one.
type slowdown struct {
	latency       string
	recent, usual float64 // medians in seconds
	n             int     // recent probes
}

// slowdowns returns what is slow in the last results of an hour: the latencies whose median is above [stats.SlowRatio]
// times the usual. TPOT is left out if ITL is slow: one fault raises both.
func (u *usual) slowdowns(hour []*entry, now time.Time) (list []slowdown) {
	recent := hour[max(0, len(hour)-recentResults):]
	for i, latency := range comparedLatencies {
		usually, isKnown := u.latencies[i].Value(now)
		var values []float64
		for _, e := range recent {
			v := float64(latency.of(e.sample))
			if !math.IsNaN(v) {
				values = append(values, v)
			}
		}
		if !isKnown || len(values) < leastRecent {
			continue
		}
		s := slowdown{latency: latency.name, recent: stats.Median(values), usual: usually, n: len(values)}
		isSameFault := s.latency == "TPOT" && slices.ContainsFunc(list, func(s slowdown) bool { return s.latency == "ITL" })
		if s.recent > stats.SlowRatio*s.usual && !isSameFault {
			list = append(list, s)
		}
	}
	return list
}

// sentence says how slow the latency is.
func (s slowdown) sentence() string {
	return fmt.Sprintf("%s %.1f times the usual: median of the last %d probes %s, usually %s",
		s.latency, s.recent/s.usual, s.n, format.Seconds(s.recent), format.Seconds(s.usual))
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
	case slices.ContainsFunc(v.Objectives, objective.isMissed):
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
