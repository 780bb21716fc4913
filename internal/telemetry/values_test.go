package telemetry

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/llm-prober/prober/internal/probe"
)

// samplesOf returns what one instrument makes of a result.
func samplesOf(t *testing.T, name string, r *probe.Result) []sample {
	t.Helper()
	for _, i := range Catalog() {
		if i.Name == name && i.fromResult != nil {
			var all []sample
			i.fromResult(fixedTarget(), r, func(s sample) { all = append(all, s) })
			return all
		}
	}
	t.Fatalf("no instrument %s", name)
	return nil
}

// TestValues holds what the exposition of the fixed results does not show: what odd ones are no samples of.
func TestValues(t *testing.T) {
	of := func(change func(*probe.Result)) *probe.Result { return with(succeeded5(), change) }
	alone := of(func(r *probe.Result) { r.Timeline.Tokens[2].N = 1 })
	slow := of(func(r *probe.Result) { r.Timeline.Tokens[0].At, r.Tokens = 2*time.Second, r.Tokens[:1] })
	reused := of(func(r *probe.Result) { r.Phases = probe.Phases{Reused: true, Wrote: ms(3), Header: ms(50)} })
	warm := of(func(r *probe.Result) { r.Cache = probe.CacheWarm })
	contaminated := of(func(r *probe.Result) { r.Cache = probe.CacheContaminated })
	hidden := of(func(r *probe.Result) { r.Hidden = true })
	tainted := of(func(r *probe.Result) { r.Taint, r.Refused = probe.TaintLate, 2 })
	merged := of(func(r *probe.Result) { r.Timeline.Tokens[2].Delay, r.Timeline.Tokens[3].Delay = ms(15), ms(15) })
	unscheduled := of(func(r *probe.Result) { r.Due = time.Time{} })
	died := with(stalled(), func(r *probe.Result) { r.Taint = probe.TaintCoalesced })
	refused := with(stalled(), func(r *probe.Result) { r.Outcome = probe.Unauthorized })
	rejected := with(stalled(), func(r *probe.Result) { r.Outcome = probe.Rejected })
	blocking := with(stalled(), func(r *probe.Result) { r.Blocked = 11 })
	blockingWell := of(func(r *probe.Result) { r.Blocked = 11 })
	byUser := of(func(r *probe.Result) {
		for i := range r.Tokens {
			r.Timeline.Tokens[i].Kernel, r.Timeline.Tokens[i].Delay = false, 0
		}
	})

	v := func(value float64) sample { return sample{value: value} }
	mark := func(value float64) sample { return sample{value: value, exemplar: true} }
	at := func(value float64, labels ...string) sample {
		s := v(value)
		copy(s.labels[:], labels)
		return s
	}
	third := v((ms(40) / 3).Seconds())
	for n, test := range []struct {
		name string
		of   *probe.Result
		want []sample
	}{
		{"llm.probe.itl", alone, []sample{mark(0.02), v(0.02), v(0.02)}}, // the first of the longest
		{"llm.probe.itl", tainted, nil},
		{"llm.probe.itl", merged, []sample{mark(0.02), third, third, third}},
		{"llm.probe.chunk_gap", slow, nil},
		{"llm.probe.chunk_gap", merged, []sample{mark(0.02)}},
		{"gen_ai.client.operation.time_per_output_chunk", merged, []sample{mark(0.02)}},
		{"llm.probe.max_gap", merged, nil},
		{"llm.probe.max_gap", died, []sample{mark(30)}},
		{"llm.probe.joined_tokens", merged, []sample{v(3)}},
		{"llm.probe.phase", reused, []sample{at(0.003, "write"), at(0.047, "headers")}},
		{"llm.probe.ttft", warm, []sample{mark(0.6)}},
		{"llm.probe.server_ttft", warm, []sample{v(0.59)}},
		{"llm.probe.ttfat", warm, []sample{v(0.62)}},
		{"llm.probe.prompt_cache", warm, []sample{at(1, "warm")}},
		{"llm.probe.ttft", contaminated, nil},
		{"llm.probe.server_ttft", contaminated, nil},
		{"llm.probe.ttfat", contaminated, nil},
		{"llm.probe.e2el", contaminated, []sample{mark(0.665)}},
		{"llm.probe.objective_events", contaminated, []sample{at(1, "up", "good")}},
		{"llm.probe.ttft", hidden, nil},
		{"llm.probe.server_ttft", hidden, nil},
		{"llm.probe.ttfat", hidden, []sample{v(0.62)}},
		{"llm.probe.e2el", hidden, []sample{mark(0.665)}},
		{"llm.probe.objective_events", slow, []sample{at(1, "up", "good"), at(1, "fast", "bad")}},
		{"llm.probe.objective_events", refused, nil},
		{"llm.probe.objective_events", rejected, []sample{at(1, "up", "bad"), at(1, "fast", "bad")}},
		{"llm.probe.objective_events", blocking, []sample{at(12, "up", "bad"), at(12, "fast", "bad")}},
		{"llm.probe.objective_events", blockingWell, []sample{at(1, "up", "good"), at(1, "fast", "good")}},
		{"llm.probe.ttft", tainted, []sample{mark(0.6)}},
		{"llm.probe.tpot", tainted, []sample{mark(0.015)}},
		{"llm.probe.tainted", tainted, []sample{at(1, "late")}},
		{"llm.probe.tainted", died, []sample{at(1, "coalesced")}},
		{"llm.prober.kernel_timestamps_rejected", tainted, []sample{v(2)}},
		{"llm.prober.read_delay", byUser, nil},
		{"llm.prober.schedule_delay", unscheduled, nil},
	} {
		if diff := cmp.Diff(test.want, samplesOf(t, test.name, test.of), cmp.AllowUnexported(sample{})); diff != "" {
			t.Errorf("samples of %s, row %d (-want +got):\n%s", test.name, n, diff)
		}
	}
}
