package status

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/llm-prober/prober/internal/probe"
)

func TestQuantilesInterpolate(t *testing.T) {
	for _, test := range []struct {
		values   []float64
		p50, p95 float64
	}{
		{[]float64{7}, 7, 7},
		{[]float64{3, 1}, 2, 2.9},
		{[]float64{5, 1, 3}, 3, 4.8},
		{[]float64{0, 40, 20, 10, 30}, 20, 38},
	} {
		q := quantilesOf(test.values)
		if got, want := []float64{*q.P50, *q.P95}, []float64{test.p50, test.p95}; !cmp.Equal(got, want) {
			t.Errorf("quantiles of %v: %v, want %v", test.values, got, want)
		}
	}
	if got := quantilesOf(nil); got != (quantiles{}) {
		t.Errorf("quantiles of nothing: %v", got)
	}
}

func TestITLWeighsEveryToken(t *testing.T) {
	b := newTestBoard("a")
	b.Record(success("a", 0, 50*ms))
	b.Record(success("a", 0, 10*ms, 20*ms, 30*ms, 40*ms))

	itl := b.snapshots()[0].summary.itl
	if itl.N != 5 || *itl.P50 != 0.01 {
		t.Errorf("ITL of %d tokens with median %v, want 5 and 0.01", itl.N, *itl.P50)
	}
}

func TestFailuresPutNoNumberIntoQuantiles(t *testing.T) {
	b := newTestBoard("a")
	b.Record(success("a", 10*ms, 20*ms))
	stalled := success("a", 500*ms, 900*ms)
	stalled.Outcome = probe.Stalled
	b.Record(stalled)

	s := b.snapshots()[0].summary
	if s.results != 2 || s.ok != 1 || s.ttft.N != 1 || s.itl.N != 1 || *s.ttft.P95 != 0.01 {
		t.Errorf("summary %+v counts the failed result", s)
	}
}

func TestOnlyTheLastHourCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newTestBoard("a")
		b.Record(success("a", 100*ms, 200*ms))
		time.Sleep(time.Minute)
		b.Record(success("a", 300*ms, 400*ms))

		time.Sleep(59 * time.Minute)
		if s := b.snapshots()[0]; s.summary.ttft.N != 2 {
			t.Errorf("%d results at the end of the hour, want 2", s.summary.ttft.N)
		}
		time.Sleep(time.Nanosecond)
		s := b.snapshots()[0]
		if s.summary.ttft.N != 1 || *s.summary.ttft.P50 != 0.3 {
			t.Errorf("TTFT %+v after the hour, want the second result only", s.summary.ttft)
		}
		if len(s.kept) != 2 || s.state != fine {
			t.Errorf("%d results kept in state %s, want both and ok", len(s.kept), s.state)
		}
	})
}

func TestObjectivesAreCountedByTheirPresentLimit(t *testing.T) {
	quick := probe.Objective{Name: "quick", Signal: probe.SignalTTFT, Limit: 150 * ms, Goal: 0.9}
	up := probe.Objective{Name: "availability", Signal: probe.SignalAvailability, Goal: 0.5}
	b := newTestBoard()
	b.Set(probe.Description{Name: "a", Objectives: []probe.Objective{quick, up}})
	b.Record(success("a", 100*ms, 200*ms))
	b.Record(success("a", 200*ms, 300*ms))
	b.Record(broken("a", probe.DNS, "no such host"))

	want := []tally{{quick, 1, 3}, {up, 2, 3}}
	if diff := cmp.Diff(want, b.snapshots()[0].tallies(), cmp.AllowUnexported(tally{})); diff != "" {
		t.Errorf("tallies (-want +got):\n%s", diff)
	}
	if want[0].missed() == want[1].missed() {
		t.Error("1 of 3 misses 90 %, and 2 of 3 keeps 50 %")
	}

	relaxed := quick
	relaxed.Limit = time.Second
	b.Set(probe.Description{Name: "a", Objectives: []probe.Objective{relaxed}})
	b.Record(success("a", 200*ms, 300*ms))
	if diff := cmp.Diff([]tally{{relaxed, 1, 1}}, b.snapshots()[0].tallies(), cmp.AllowUnexported(tally{})); diff != "" {
		t.Errorf("tallies by the new limit (-want +got):\n%s", diff)
	}
}

func TestSummariesAreComputedOncePerResult(t *testing.T) {
	entries := []*entry{{number: 1, account: probe.Account{Outcome: probe.OK, ITL: []float64{2, 1}}}}
	var c cache
	if got := c.of(entries); got.itl.N != 2 {
		t.Fatalf("summary %+v, want two tokens", got)
	}
	entries[0].account.ITL = nil // entries never change; if they did, this would not show
	if got := c.of(entries); got.itl.N != 2 {
		t.Errorf("summary %+v, want the saved one", got)
	}
	entries = append(entries, &entry{number: 2, account: probe.Account{Outcome: probe.OK}})
	if got := c.of(entries); got.results != 2 || got.itl.N != 0 {
		t.Errorf("summary %+v, want a new one", got)
	}
}
