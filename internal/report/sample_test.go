package report

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/llm-prober/prober/internal/probe"
	"github.com/llm-prober/prober/internal/wire"
)

func TestSampleOf(t *testing.T) {
	r := answered(3, 2)
	r.Round, r.Start, r.Due = 7, noon(), noon().Add(-3*time.Second)
	r.Timeline.Tokens[2].Read, r.Timeline.Tokens[2].At = r.Timeline.Tokens[1].Read, r.Timeline.Tokens[1].At
	r.Warnings = []error{probe.Warning{Text: "warning"}, probe.Warning{Derived: true}}
	gap := r.Timeline.Tokens[1].At - r.Timeline.Tokens[0].At
	r.Timeline.Finish = 0
	want := Sample{
		Request: Request{Round: 7, TTFT: 0.9, TPOT: Number(gap.Seconds() / 4), ITL: Number(gap.Seconds() / 4), E2EL: Number((900*ms + gap).Seconds())},
		Target:  "vllm-a", Start: noon(), Elapsed: r.Elapsed, Late: 3 * time.Second, Outcome: probe.OK,
		Prompt: wire.Tokens(21000), Output: wire.Tokens(6), Frames: 3, Bursts: 1,
		ITLs:     slices.Repeat([]float64{gap.Seconds() / 4}, 4),
		Warnings: []probe.Warning{{Text: "warning"}},
	}
	if diff := cmp.Diff(want, SampleOf(r), near()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestSamplesLackWhatResultsLack(t *testing.T) {
	cached, hidden := answered(3, 1), answered(3, 1)
	cached.Cache, hidden.Hidden = probe.CacheContaminated, true
	for _, r := range []*probe.Result{cached, hidden} {
		if s := SampleOf(r); s.TTFT > 0 || !(s.E2EL > 0) || s.Contaminated != (r == cached) || s.Hidden != (r == hidden) {
			t.Errorf("%+v", s)
		}
	}
	late := answered(3, 1)
	late.Taint = probe.TaintLate
	if s := SampleOf(late); !s.Tainted || s.ITLs != nil || !(s.TTFT > 0) || !(s.TPOT > 0) || !(s.E2EL > 0) {
		t.Errorf("a request that was read late: %+v", s)
	}
	for _, stamp := range []probe.Stamping{"", probe.ByKernel, probe.ByUser} {
		r := answered(3, 1)
		r.Stamp = stamp
		if s := SampleOf(r); s.ByUser != (stamp == probe.ByUser) {
			t.Errorf("timestamps by %q: %+v", stamp, s)
		}
	}
	if s := SampleOf(stalled()); s.TTFT > 0 || s.TPOT > 0 || s.E2EL > 0 || s.ITLs != nil || s.Frames != 37 {
		t.Errorf("a failed request has numbers: %+v", s)
	}
}
