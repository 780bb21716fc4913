package telemetry

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/llm-prober/prober/internal/probe"
)

// samplesOf are what one instrument makes of a result.
func samplesOf(t *testing.T, name string, r *probe.Result) []sample {
	t.Helper()
	for _, i := range Catalog() {
		if i.Name == name && i.ofResult != nil {
			var all []sample
			i.ofResult(fixedTarget(), r, func(s sample) { all = append(all, s) })
			return all
		}
	}
	t.Fatalf("no instrument %s", name)
	return nil
}

func TestValues(t *testing.T) {
	slow := succeeded5()
	slow.Timeline.Tokens[0].At = 2 * time.Second
	slow.Tokens = slow.Tokens[:1]
	aloneAfter := succeeded5()
	for i := range aloneAfter.Tokens {
		aloneAfter.Timeline.Tokens[i].N = 1
	}
	silent := succeeded5()
	silent.Timeline.Tokens[3].N = 0
	unscheduled := succeeded5()
	unscheduled.Due = time.Time{}

	reused := succeeded5()
	reused.Phases = probe.Phases{Reused: true, Wrote: ms(3), Header: ms(50)}
	warm, contaminated, hidden := succeeded5(), succeeded5(), succeeded5()
	warm.Cache, contaminated.Cache, hidden.Hidden = probe.CacheWarm, probe.CacheContaminated, true

	died := stalled()
	died.Taint = probe.TaintCoalesced
	merged := succeeded5()
	merged.Timeline.Tokens[2].Delay, merged.Timeline.Tokens[3].Delay = ms(15), ms(15)
	byUser := succeeded5()
	for i := range byUser.Tokens {
		byUser.Timeline.Tokens[i].Kernel, byUser.Timeline.Tokens[i].Delay = false, 0
	}

	v := func(value float64) sample { return sample{value: value} }
	mark := func(s sample) sample { s.marked = true; return s }
	third := v((ms(40) / 3).Seconds())
	at := func(value float64, labels ...string) sample {
		s := v(value)
		copy(s.at[:], labels)
		return s
	}
	for _, test := range []struct {
		name string
		of   *probe.Result
		want []sample
	}{
		{"llm.probe.ttft", succeeded5(), []sample{mark(v(0.6))}},
		{"llm.probe.ttft", stalled(), nil},
		{"llm.probe.server_ttft", succeeded5(), []sample{v(0.59)}},
		{"llm.probe.tpot", succeeded5(), []sample{mark(v(0.015))}},
		{"llm.probe.tpot", stalled(), nil},
		{"llm.probe.itl", succeeded5(), []sample{mark(v(0.02)), third, third, third}},
		{"llm.probe.itl", aloneAfter, []sample{mark(v(0.02)), v(0.02), v(0.02)}},
		{"llm.probe.itl", silent, nil},
		{"llm.probe.itl", stalled(), nil},
		{"llm.probe.chunk_gap", succeeded5(), []sample{v(0.02), mark(v(0.04)), v(0)}},
		{"llm.probe.chunk_gap", silent, []sample{v(0.02), mark(v(0.04)), v(0)}},
		{"llm.probe.chunk_gap", slow, nil},
		{"llm.probe.chunk_gap", stalled(), nil},
		{"llm.probe.max_gap", succeeded5(), []sample{mark(v(0.04))}},
		{"llm.probe.max_gap", stalled(), []sample{mark(v(30))}},
		{"llm.probe.max_gap", refused(), nil},
		{"llm.probe.e2el", succeeded5(), []sample{mark(v(0.665))}},
		{"llm.probe.e2el", stalled(), nil},
		{"llm.probe.phase", succeeded5(), []sample{
			at(0.001, "dns"), at(0.002, "connect"), at(0.005, "tls"), at(0.002, "write"), at(0.08, "headers"),
		}},
		{"llm.probe.phase", reused, []sample{at(0.003, "write"), at(0.047, "headers")}},
		{"llm.probe.phase", refused(), nil},
		{"llm.probe.ttft", warm, []sample{mark(v(0.6))}},
		{"llm.probe.server_ttft", warm, []sample{v(0.59)}},
		{"llm.probe.ttfat", warm, []sample{v(0.62)}},
		{"llm.probe.objective_events", contaminated, []sample{at(1, "up", "good")}},
		{"llm.probe.objective_events", hidden, []sample{at(1, "up", "good")}},
		{"llm.probe.ttft", contaminated, nil},
		{"llm.probe.server_ttft", contaminated, nil},
		{"llm.probe.ttfat", contaminated, nil},
		{"llm.probe.e2el", contaminated, []sample{mark(v(0.665))}},
		{"llm.probe.ttft", hidden, nil},
		{"llm.probe.server_ttft", hidden, nil},
		{"llm.probe.ttfat", hidden, []sample{v(0.62)}},
		{"llm.probe.e2el", hidden, []sample{mark(v(0.665))}},
		{"llm.probe.failed", succeeded5(), nil},
		{"llm.probe.failed", stalled(), []sample{at(30.62, "stalled")}},
		{"llm.probe.probes", refused(), []sample{at(1, "connect")}},
		{"llm.probe.tokens", succeeded5(), []sample{at(100, "prompt"), at(16, "cached"), at(5, "output")}},
		{"llm.probe.tokens", stalled(), []sample{at(100, "prompt")}},
		{"llm.probe.frames", stalled(), []sample{v(2)}},
		{"llm.probe.coalesced_frames", succeeded5(), []sample{v(1)}},
		{"llm.probe.ttft", tainted5(probe.TaintLate), []sample{mark(v(0.6))}},
		{"llm.probe.tpot", tainted5(probe.TaintLate), []sample{mark(v(0.015))}},
		{"llm.probe.e2el", tainted5(probe.TaintLate), []sample{mark(v(0.665))}},
		{"llm.probe.itl", tainted5(probe.TaintLate), nil},
		{"llm.probe.itl", merged, []sample{mark(v(0.02)), third, third, third}},
		{"llm.probe.chunk_gap", merged, []sample{mark(v(0.02))}},
		{"gen_ai.client.operation.time_per_output_chunk", merged, []sample{mark(v(0.02))}},
		{"llm.probe.max_gap", merged, nil},
		{"llm.probe.joined_tokens", merged, []sample{v(3)}},
		{"llm.probe.joined_tokens", succeeded5(), []sample{v(0)}},
		{"llm.probe.max_gap", died, []sample{mark(v(30))}},
		{"llm.probe.coalesced_frames", tainted5(probe.TaintCoalesced), []sample{v(1)}},
		{"llm.probe.tainted", succeeded5(), nil},
		{"llm.probe.tainted", tainted5(probe.TaintLate), []sample{at(1, "late")}},
		{"llm.probe.tainted", died, []sample{at(1, "coalesced")}},
		{"llm.prober.read_delay", succeeded5(), []sample{v(20e-6), v(1e-3), v(40e-6)}},
		{"llm.prober.read_delay", died, []sample{v(20e-6), v(1e-3)}},
		{"llm.prober.read_delay", byUser, nil},
		{"llm.prober.read_delay", refused(), nil},
		{"llm.prober.refused_stamps", succeeded5(), []sample{v(0)}},
		{"llm.prober.refused_stamps", tainted5(probe.TaintLate), []sample{v(2)}},
		{"llm.probe.objective_events", tainted5(probe.TaintLate), []sample{at(1, "up", "good"), at(1, "fast", "good")}},
		{"llm.probe.objective_events", succeeded5(), []sample{at(1, "up", "good"), at(1, "fast", "good")}},
		{"llm.probe.objective_events", slow, []sample{at(1, "up", "good"), at(1, "fast", "bad")}},
		{"llm.probe.objective_events", refused(), []sample{at(1, "up", "bad"), at(1, "fast", "bad")}},
		{"llm.prober.schedule_delay", succeeded5(), []sample{v(0.002)}},
		{"llm.prober.schedule_delay", unscheduled, nil},
		{"gen_ai.client.operation.duration", succeeded5(), []sample{mark(v(0.665))}},
		{"gen_ai.client.operation.duration", stalled(), []sample{mark(at(30.62, "stalled"))}},
		{"gen_ai.client.token.usage", succeeded5(), []sample{at(100, "input"), at(5, "output")}},
	} {
		t.Run(test.name+" of "+string(test.of.Outcome), func(t *testing.T) {
			got := samplesOf(t, test.name, test.of)
			if diff := cmp.Diff(test.want, got, cmp.AllowUnexported(sample{})); diff != "" {
				t.Errorf("samples (-want +got):\n%s", diff)
			}
		})
	}
}

func TestLongestGapIsMarkedOncePerProbe(t *testing.T) {
	for _, name := range []string{"llm.probe.itl", "llm.probe.chunk_gap"} {
		for _, r := range random(200) {
			marks := 0
			samples := samplesOf(t, name, r)
			for _, s := range samples {
				if s.marked {
					marks++
				}
			}
			if want := min(1, len(samples)); marks != want {
				t.Fatalf("%s of %s: %d marks in %d samples, want %d", name, r.TraceID, marks, len(samples), want)
			}
		}
	}
}
