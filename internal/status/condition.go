package status

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/llm-prober/prober/internal/format"
	"github.com/llm-prober/prober/internal/probe"
	"github.com/llm-prober/prober/internal/report"
	"github.com/llm-prober/prober/internal/stats"
)

// The results by which a target is judged as degraded: see [history.recent].
const (
	recentTime    = 10 * time.Minute // the time of ProberSevereSlowdown
	recentResults = 20               // of a target that is probed less often, so many results of the last hour
)

// When an objective counts as missed by recent results.
const (
	leastJudged = 10 // events; fewer show little about a ratio
	leastBad    = 3  // events, as for ProberErrorBudgetBurn: one or two are no trouble
)

// When a target counts as much slower than usual. As on the first day of ProberSevereSlowdown, hours that are busy each
// day are not known, so it takes about twice the usual.
const (
	severeRatio    = 1.9             // of the recent median to the usual one; a ratio must be above it
	leastSamples   = 20              // successes, both recent and earlier: as for ProberSevereSlowdown
	usualLifetime  = 12 * time.Hour  // how long a slowdown is compared with what was usual when it began
	shortestMedian = 1.0 / (1 << 13) // seconds; tokens that are closer arrived together, so their times mean nothing
)

// A condition is what the last results of a target say about it, as of the latest of them. Without a result it is zero.
// A time is zero if the thing does not hold, or has never happened.
type condition struct {
	lastOK        time.Time // the latest success
	failingSince  time.Time // start of the first of the failures without a success after them
	degradedSince time.Time // the first result as of which the target was degraded, and has been since
	okSince       time.Time // the first result as of which it was neither failing nor degraded, and has been so since

	missed    []shortfall
	slowdowns []slowdown
	span      time.Duration // of the recent results, by which both are judged
}

// A shortfall is an objective that too few recent results met.
type shortfall struct {
	objective    probe.Objective
	good, judged int // events
}

// A slowdown is a latency whose recent median is far above the usual one.
type slowdown struct {
	latency       comparedLatency
	median, usual float64   // seconds
	began         time.Time // when it was noticed
}

// A comparedLatency is a latency by which a target can be slower than usual.
type comparedLatency string

// The latencies that are compared.
const (
	comparedTTFT comparedLatency = "TTFT"
	comparedITL  comparedLatency = "ITL"
	comparedTPOT comparedLatency = "TPOT"
)

// of returns the latency of a success, in seconds; NaN if it has none.
func (l comparedLatency) of(e *entry) float64 {
	switch l {
	case comparedTTFT:
		return float64(e.sample.Latencies.TTFT)
	case comparedITL:
		return float64(e.sample.Latencies.ITL)
	}
	return float64(e.sample.Latencies.TPOT)
}

// degradations says why the target is degraded, in sentences without full stops; nil if it is not.
func (c *condition) degradations() (list []string) {
	span := format.Elapsed(c.span.Seconds())
	for _, s := range c.missed {
		list = append(list, fmt.Sprintf("%s %s (%d of %d) over the last %s, goal %s", s.objective.Name,
			format.Attainment(s.good, s.judged), s.good, s.judged, span, format.Goal(s.objective.Goal)))
	}
	for _, s := range c.slowdowns {
		list = append(list, fmt.Sprintf("%s %.1f times the usual: median %s over the last %s, %s before",
			s.latency, s.median/s.usual, format.Seconds(s.median), span, format.Seconds(s.usual)))
	}
	return list
}

// assess updates the condition of h, whose latest result is new.
func (h *history) assess() {
	last := h.last()
	c := &h.condition
	from := h.recent(last.At)
	c.span = last.At.Sub(h.ring[max(0, from-1)].At)
	c.missed = shortfalls(h.ring[from:], h.target.Objectives)
	c.slowdowns = h.slowdowns(from)
	isDegraded := len(c.missed)+len(c.slowdowns) > 0
	if last.OK() {
		c.lastOK = last.At
	}
	c.failingSince = sinceWhen(!last.OK(), c.failingSince, last.Start)
	c.degradedSince = sinceWhen(isDegraded, c.degradedSince, last.At)
	c.okSince = sinceWhen(last.OK() && !isDegraded, c.okSince, last.At)
}

// sinceWhen returns since when something holds that has held since before, which is zero if it did not hold.
func sinceWhen(holds bool, before, now time.Time) time.Time {
	if !holds {
		return time.Time{}
	}
	return cmp.Or(before, now)
}

// recent returns the index in the ring of the first result that is recent. Recent are the results of the last ten
// minutes. Of a target that is probed rarely they are the last 20 of the last hour. Of one that is probed so often that
// the ring holds no more, they are half of the ring, because they are compared with the other half.
func (h *history) recent(now time.Time) int {
	from := h.indexSince(now.Add(-recentTime))
	if len(h.ring)-from < recentResults {
		from = max(h.indexSince(now.Add(-window)), len(h.ring)-recentResults)
	}
	if h.dropped {
		from = max(from, len(h.ring)/2)
	}
	return from
}

// shortfalls returns the objectives that recent results miss.
func shortfalls(recent []*entry, objectives []probe.Objective) (list []shortfall) {
	for _, o := range objectives {
		s := shortfall{objective: o}
		bad := 0
		for _, e := range recent {
			j := e.judgement(o)
			s.good += j.Good
			bad += j.Bad
		}
		s.judged = s.good + bad
		isMissed := report.Attainment{Goal: stats.Number(o.Goal), Good: s.good, Judged: s.judged}.Missed()
		if s.judged >= leastJudged && bad >= leastBad && isMissed {
			list = append(list, s)
		}
	}
	return list
}

// slowdowns returns the latencies that are much higher in the ring from an index on than before it. TPOT is left out if
// ITL is one of them: one fault raises both.
func (h *history) slowdowns(from int) (list []slowdown) {
	for _, latency := range []comparedLatency{comparedTTFT, comparedITL, comparedTPOT} {
		isSameFault := latency == comparedTPOT && slices.ContainsFunc(list, slowdown.isOfITL)
		s, isSlow := h.slowdown(latency, from)
		if isSlow && !isSameFault {
			list = append(list, s)
		}
	}
	return list
}

func (s slowdown) isOfITL() bool { return s.latency == comparedITL }

// slowdown compares the median of a latency in the ring from an index on with the usual one. isSlow is false if too few
// results have the latency.
func (h *history) slowdown(latency comparedLatency, from int) (s slowdown, isSlow bool) {
	recent := h.values(latency, from, len(h.ring))
	if len(recent) < leastSamples {
		return s, false
	}
	usual, since, isKnown := h.usual(latency, from)
	s = slowdown{latency: latency, median: float64(median(recent)), usual: usual, began: since}
	return s, isKnown && s.median > severeRatio*s.usual
}

// usual returns the usual value of a latency, in seconds: its median in the ring before an index. While the latency is
// slow it is what it was when that began, at since, because earlier results soon are as slow as recent ones.
func (h *history) usual(latency comparedLatency, before int) (seconds float64, since time.Time, isKnown bool) {
	now := h.last().At
	for _, s := range h.condition.slowdowns {
		if s.latency == latency && now.Sub(s.began) < usualLifetime {
			return s.usual, s.began, true
		}
	}
	values := h.values(latency, 0, before)
	seconds = float64(median(values))
	return seconds, now, len(values) >= leastSamples && seconds > shortestMedian
}

// values returns a latency of the results in a range of the ring that succeeded and have it. Results of another model
// than the latest one's are left out.
func (h *history) values(latency comparedLatency, from, to int) (list []float64) {
	model := modelOf(h.last())
	for _, e := range h.ring[from:to] {
		v := latency.of(e)
		if e.OK() && !math.IsNaN(v) && modelOf(e) == model {
			list = append(list, v)
		}
	}
	return list
}

// modelOf returns the model of a result; empty if it is not known.
func modelOf(e *entry) string {
	if e.Model == nil {
		return ""
	}
	return *e.Model
}
