package status

import (
	"encoding/json"
	"testing"
	"testing/synctest"
	"time"

	"github.com/llm-prober/prober/internal/probe"
	"github.com/llm-prober/prober/internal/report"
)

// TestQuantiles holds what counts: one value a probe, and one a token for ITL. Failed
// probes put no number into quantiles. That of report interpolates.
func TestQuantiles(t *testing.T) {
	stalled := success("a", 500*ms, 900*ms)
	stalled.Outcome = probe.Stalled
	contaminated := success("a", 5*ms, 15*ms)
	contaminated.Cache = probe.CacheContaminated
	s := viewOf(success("a", 20*ms, 70*ms), success("a", 10*ms, 20*ms, 30*ms, 40*ms), stalled, contaminated)
	equal(t, "results and successes", []int{s.Results, s.OKResults}, []int{4, 3})
	equal(t, "remarks", s.Remarks(), []string{"last hour: 1 of 3 requests had a prompt that was in the server's cache: excluded from TTFT"})
	for name, test := range map[string]struct {
		q        quantiles
		n        int
		p50, p95 report.Number
	}{
		"TTFT": {s.Quantiles.TTFT, 2, 0.015, 0.0195},
		"ITL":  {s.Quantiles.ITL, 5, 0.01, 0.042},
		"E2EL": {s.Quantiles.E2EL, 3, 0.04, 0.067},
	} {
		equal(t, name, test.q, quantiles{test.n, test.p50, test.p95})
	}
	for _, v := range []any{viewOf().Quantiles.ITL, viewOf(stalled).Quantiles.E2EL} {
		text, err := json.Marshal(v)
		equal(t, "quantiles of nothing", string(text), `{"n":0,"p50":null,"p95":null}`)
		equal(t, "error", err, nil)
	}
}

func TestOnlyTheLastHourCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := boardOf(success("a", 100*ms, 200*ms))
		time.Sleep(time.Minute)
		b.Record(success("a", 300*ms, 400*ms))

		time.Sleep(59 * time.Minute)
		equal(t, "results at the end of the hour", b.views()[0].Quantiles.TTFT.N, 2)
		time.Sleep(time.Nanosecond)
		v := b.views()[0]
		equal(t, "TTFT after the hour", v.Quantiles.TTFT, quantiles{1, 0.3, 0.3})
		equal(t, "results that are kept", len(v.past.kept()), 2)
		time.Sleep(time.Hour)
		equal(t, "state after two hours", b.views()[0].State, fine)
	})
}

// TestBlockedSlotsAreMissed holds that a target that hung for two minutes is not shown as available for most of them.
func TestBlockedSlotsAreMissed(t *testing.T) {
	up := probe.Objective{Name: "availability", Signal: probe.SignalAvailability, Goal: 0.99}
	b := newTestBoard()
	b.Set(probe.Description{Name: "a", Objectives: []probe.Objective{up}})
	b.Record(success("a", 100*ms, 200*ms))
	slow := success("a", 100*ms, 200*ms)
	slow.Blocked = 3
	b.Record(slow)
	hung := broken("a", probe.Timeout, "no answer within 2m")
	hung.Blocked = 11
	b.Record(hung)
	equal(t, "objectives", b.views()[0].Objectives, []objective{{"availability", "availability", nil, 0.99, 2, 14}})
}

func TestObjectivesAreCountedByTheirPresentLimit(t *testing.T) {
	quick := probe.Objective{Name: "quick", Signal: probe.SignalTTFT, Limit: 150 * ms, Goal: 0.9}
	up := probe.Objective{Name: "availability", Signal: probe.SignalAvailability, Goal: 0.5}
	b := newTestBoard()
	b.Set(probe.Description{Name: "a", Objectives: []probe.Objective{quick, up}})
	b.Record(success("a", 100*ms, 200*ms))
	b.Record(success("a", 200*ms, 300*ms))
	b.Record(broken("a", probe.DNS, "no such host"))
	limit := 0.15
	got := b.views()[0].Objectives
	equal(t, "objectives", got, []objective{{"quick", "ttft", &limit, 0.9, 1, 3}, {"availability", "availability", nil, 0.5, 2, 3}})
	equal(t, "whether they are missed", []bool{got[0].Missed(), got[1].Missed()}, []bool{true, false})

	quick.Goal, quick.Name = 0.95, "fast"
	b.Set(probe.Description{Name: "a", Objectives: []probe.Objective{quick}})
	equal(t, "by a new goal", b.views()[0].Objectives, []objective{{"fast", "ttft", &limit, 0.95, 1, 3}})

	quick.Limit, limit = time.Second, 1
	b.Set(probe.Description{Name: "a", Objectives: []probe.Objective{quick}})
	b.Record(success("a", 200*ms, 300*ms))
	equal(t, "by the new limit", b.views()[0].Objectives, []objective{{"fast", "ttft", &limit, 0.95, 1, 1}})
}
