package telemetry

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/llm-prober/prober/internal/probe"
	"github.com/llm-prober/prober/internal/timing"
)

// samplesOf returns what an instrument makes of a result as text: labels, value, and * for an exemplar.
func samplesOf(t *testing.T, name string, r *probe.Result) string {
	t.Helper()
	for _, i := range Catalog() {
		if i.Name != name || i.fromResult == nil {
			continue
		}
		var all []string
		i.fromResult(fixedTarget(), r, func(s sample) {
			text := fmt.Sprintf("%s %.4g", strings.Join(s.labels, " "), s.value)
			if s.exemplar {
				text += "*"
			}
			all = append(all, strings.Join(strings.Fields(text), " "))
		})
		return strings.Join(all, ", ")
	}
	t.Fatalf("no instrument %s", name)
	return ""
}

// TestSamplesOfUnusualResults holds what the golden files do not show.
func TestSamplesOfUnusualResults(t *testing.T) {
	success := func(change func(*probe.Result)) *probe.Result { return with(succeeded5(), change) }
	failure := func(change func(*probe.Result)) *probe.Result { return with(stalled(), change) }
	for name, test := range map[string]struct {
		result *probe.Result
		want   map[string]string // by instrument
	}{
		"of gaps of one length the first is the exemplar": {
			success(func(r *probe.Result) { r.Timeline.Frames[2].N = 1 }),
			map[string]string{"llm.probe.itl": "0.02*, 0.02, 0.02"},
		},
		"an answer of one frame has no gap": {
			success(func(r *probe.Result) { r.Timeline.Frames = r.Timeline.Frames[:1] }),
			map[string]string{"llm.probe.chunk_gap": "", "llm.probe.max_gap": ""},
		},
		"a first token above an objective's limit is bad": {
			success(func(r *probe.Result) {
				r.Timeline.Frames[0].At, r.Timeline.Frames = 2*time.Second, r.Timeline.Frames[:1]
			}),
			map[string]string{"llm.probe.objective_events": "up good 1, fast bad 1"},
		},
		"a reused connection has no phases of its own": {
			success(func(r *probe.Result) { r.Timeline.Phases = timing.Phases{Reused: true, Wrote: ms(3), Header: ms(50)} }),
			map[string]string{"llm.probe.phase": "write 0.003, headers 0.047"},
		},
		"a prompt of another length than configured says nothing about phases": {
			success(func(r *probe.Result) { r.OtherLength = true }),
			map[string]string{"llm.probe.phase": "", "llm.probe.ttft": ""},
		},
		"a prompt that was meant to be cached has a TTFT": {
			success(func(r *probe.Result) { r.Cache = probe.CacheWarm }),
			map[string]string{
				"llm.probe.ttft":         "0.6*",
				"llm.probe.server_ttft":  "0.59",
				"llm.probe.ttfat":        "0.62",
				"llm.probe.prompt_cache": "warm 1",
			},
		},
		"a cached prompt that was meant to be cold has no TTFT": {
			success(func(r *probe.Result) { r.Cache = probe.CacheContaminated }),
			map[string]string{
				"llm.probe.ttft":             "",
				"llm.probe.server_ttft":      "",
				"llm.probe.ttfat":            "",
				"llm.probe.e2el":             "0.665*",
				"llm.probe.objective_events": "up good 1",
			},
		},
		"the first token after hidden reasoning is the first of the answer, but not of the tokens": {
			success(func(r *probe.Result) { r.ReasoningHidden = true }),
			map[string]string{
				"llm.probe.ttft":        "",
				"llm.probe.server_ttft": "",
				"llm.probe.ttfat":       "0.62",
				"llm.probe.e2el":        "0.665*",
			},
		},
		"late reads cost the gaps and nothing else": {
			success(func(r *probe.Result) { r.Timeline.Taint, r.RejectedTimestamps = timing.TaintLate, 2 }),
			map[string]string{
				"llm.probe.itl":                         "",
				"llm.probe.ttft":                        "0.6*",
				"llm.probe.tpot":                        "0.015*",
				"llm.probe.tainted":                     "late 1",
				"llm.prober.kernel_timestamps_rejected": "2",
			},
		},
		"frames that were read late together share the mean of their gaps": {
			success(func(r *probe.Result) { r.Timeline.Frames[2].Delay, r.Timeline.Frames[3].Delay = ms(15), ms(15) }),
			map[string]string{
				"llm.probe.itl":                                 "0.02*, 0.01333, 0.01333, 0.01333",
				"llm.probe.chunk_gap":                           "0.02*",
				"llm.probe.max_gap":                             "",
				"llm.probe.joined_tokens":                       "3",
				"gen_ai.client.operation.time_per_output_chunk": "0.02*",
			},
		},
		"a probe that was not scheduled has no schedule delay": {
			success(func(r *probe.Result) { r.Due = time.Time{} }),
			map[string]string{"llm.prober.schedule_delay": ""},
		},
		"reads without a kernel timestamp have no delay": {
			success(func(r *probe.Result) {
				for i := range r.Timeline.Frames {
					r.Timeline.Frames[i].Kernel, r.Timeline.Frames[i].Delay = false, 0
				}
			}),
			map[string]string{"llm.prober.read_delay": ""},
		},
		"a success that blocked slots is one good event": {
			success(func(r *probe.Result) { r.Blocked = map[string]int{"cold": 11} }),
			map[string]string{"llm.probe.objective_events": "up good 1, fast good 1"},
		},
		"a failure is bad for itself and for each slot that it blocked": {
			failure(func(r *probe.Result) { r.Blocked = map[string]int{"cold": 11} }),
			map[string]string{"llm.probe.objective_events": "up bad 12, fast bad 12"},
		},
		"a refused probe is no event of an objective": {
			failure(func(r *probe.Result) { r.Outcome = probe.Unauthorized }),
			map[string]string{"llm.probe.objective_events": ""},
		},
		"a failed probe is tainted, too, and has the gap in which it failed": {
			failure(func(r *probe.Result) { r.Timeline.Taint = timing.TaintCoalesced }),
			map[string]string{"llm.probe.tainted": "coalesced 1", "llm.probe.max_gap": "30*"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := map[string]string{}
			for instrument := range test.want {
				got[instrument] = samplesOf(t, instrument, test.result)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("samples (-want +got):\n%s", diff)
			}
		})
	}
}
