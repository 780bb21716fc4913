package status

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/llm-prober/prober/internal/probe"
)

// TestQuantiles holds what counts: one value of each probe, but one of each token for ITL, and no value of failed
// probes. Between two values a quantile is interpolated.
func TestQuantiles(t *testing.T) {
	contaminated := success("a", 5*ms, 15*ms)
	contaminated.Cache = probe.CacheContaminated
	v := viewOf(success("a", 20*ms, 70*ms), success("a", 10*ms, 20*ms, 30*ms, 40*ms), stalled("a"), contaminated)
	equal(t, "results and successes", []int{v.Results, v.OKResults}, []int{4, 3})
	equal(t, "remarks", v.Remarks(), []string{
		"last hour: 1 of 3 requests had a prompt that was in the server's cache: excluded from TTFT",
	})
	equal(t, "TTFT", v.Quantiles.TTFT, quantiles{N: 2, P50: 0.015, P95: 0.0195})
	equal(t, "ITL", v.Quantiles.ITL, quantiles{N: 5, P50: 0.01, P95: 0.042})
	equal(t, "E2EL", v.Quantiles.E2EL, quantiles{N: 3, P50: 0.04, P95: 0.067})
}

func TestOnlyTheLastHourCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := boardOf(success("a", 100*ms, 200*ms))
		equal(t, "values at first", b.views()[0].Quantiles.TTFT.N, 1)
		time.Sleep(time.Minute)
		b.Record(success("a", 300*ms, 400*ms))

		time.Sleep(59 * time.Minute)
		equal(t, "values at the end of the hour", b.views()[0].Quantiles.TTFT.N, 2)
		time.Sleep(time.Nanosecond)
		v := b.views()[0]
		equal(t, "TTFT after the hour", v.Quantiles.TTFT, quantiles{N: 1, P50: 0.3, P95: 0.3})
		equal(t, "results that are kept", len(v.history.kept()), 2)
		time.Sleep(time.Hour)
		equal(t, "state after two hours", b.views()[0].State, stateOK)
	})
}

// boardWith returns a board with one target, a, and its objectives.
func boardWith(objectives ...probe.Objective) *Board {
	b := newTestBoard()
	b.Set(probe.Description{Name: "a", Objectives: objectives})
	return b
}

// TestBlockedSlotsAreMissed holds that a target that hung for two minutes is not shown as available for most of them.
func TestBlockedSlotsAreMissed(t *testing.T) {
	b := boardWith(probe.Objective{Name: "availability", Signal: probe.SignalAvailability, Goal: 0.99})
	slow := success("a", 100*ms, 200*ms)
	slow.Blocked = 3
	hung := broken("a", probe.Timeout, "no answer within 2m")
	hung.Blocked = 11
	for _, r := range []*probe.Result{success("a", 100*ms, 200*ms), slow, hung} {
		b.Record(r)
	}
	equal(t, "objectives", b.views()[0].Objectives, []objective{
		{Name: "availability", Signal: probe.SignalAvailability, Goal: 0.99, Good: 2, Total: 14},
	})
}

// TestObjectivesAreJudgedByTheirPresentLimit holds that results stay judged under another name and goal, but are not
// judged by a limit that there was not when they were recorded.
func TestObjectivesAreJudgedByTheirPresentLimit(t *testing.T) {
	quick := probe.Objective{Name: "quick", Signal: probe.SignalTTFT, Limit: 150 * ms, Goal: 0.9}
	up := probe.Objective{Name: "availability", Signal: probe.SignalAvailability, Goal: 0.5}
	b := boardWith(quick, up)
	b.Record(success("a", 100*ms, 200*ms))
	b.Record(success("a", 200*ms, 300*ms))
	b.Record(broken("a", probe.DNS, "no such host"))
	want := objective{Name: "quick", Signal: probe.SignalTTFT, Limit: new(0.15), Goal: 0.9, Good: 1, Total: 3}
	got := b.views()[0].Objectives
	equal(t, "objectives", got, []objective{
		want, {Name: "availability", Signal: probe.SignalAvailability, Goal: 0.5, Good: 2, Total: 3},
	})
	equal(t, "whether they are missed", []bool{got[0].Missed(), got[1].Missed()}, []bool{true, false})

	quick.Goal, quick.Name = 0.95, "fast"
	want.Goal, want.Name = 0.95, "fast"
	b.Set(probe.Description{Name: "a", Objectives: []probe.Objective{quick}})
	equal(t, "with another name and goal", b.views()[0].Objectives, []objective{want})

	quick.Limit = time.Second
	want.Limit, want.Good, want.Total = new(1.0), 1, 1
	b.Set(probe.Description{Name: "a", Objectives: []probe.Objective{quick}})
	b.Record(success("a", 200*ms, 300*ms))
	equal(t, "with another limit", b.views()[0].Objectives, []objective{want})

	quick.RefusalsAreBad = true
	b.Set(probe.Description{Name: "a", Objectives: []probe.Objective{quick}})
	b.Record(broken("a", probe.RateLimited, "HTTP 429"))
	b.Record(success("a", 200*ms, 300*ms))
	want.Total = 2
	equal(t, "with bad refusals", b.views()[0].Objectives, []objective{want})
}

// TestAGoalThatIsMetExactly holds that rounding does not make a goal missed: 0.55 * 100 is more than 55.
func TestAGoalThatIsMetExactly(t *testing.T) {
	o := objective{Goal: 0.55, Good: 55, Total: 100}
	equal(t, "missed with 55 of 100", o.Missed(), false)
	o.Good = 54
	equal(t, "missed with 54 of 100", o.Missed(), true)
}
