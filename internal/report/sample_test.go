package report

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/llm-prober/prober/internal/probe"
	"github.com/llm-prober/prober/internal/stats"
	"github.com/llm-prober/prober/internal/testing/golden"
	"github.com/llm-prober/prober/internal/timing"
	"github.com/llm-prober/prober/internal/wire"
)

func TestSampleOf(t *testing.T) {
	r := answered(3, 2)
	r.Round, r.Start, r.Due = 7, noon(), noon().Add(-3*time.Second)
	r.Timeline.Frames[2].Read, r.Timeline.Frames[2].At = r.Timeline.Frames[1].Read, r.Timeline.Frames[1].At
	r.Warnings = []probe.Warning{{Kind: probe.WarnLeftOpen}, {Kind: probe.WarnBatched, N: 2, Of: 3}}
	gap := r.Timeline.Frames[1].At - r.Timeline.Frames[0].At
	r.Timeline.FinishedAt = 0
	want := Sample{
		Latencies: Latencies{
			Round: 7, TTFT: 0.9, TPOT: stats.Number(gap.Seconds() / 4), ITL: stats.Number(gap.Seconds() / 4),
			E2EL: stats.Number((900*ms + gap).Seconds()),
		},
		Target: "vllm-a", Start: noon(), Elapsed: r.Elapsed, Late: 3 * time.Second, Outcome: probe.OK,
		Prompt: wire.Tokens(21000), Output: wire.Tokens(6), Frames: 3, Bursts: 1,
		TokenITLs: slices.Repeat([]float64{gap.Seconds() / 4}, 4),
		Warnings:  []probe.Warning{{Kind: probe.WarnLeftOpen}},
	}
	if diff := cmp.Diff(want, SampleOf(r, nil), near()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestSamplesLackWhatResultsLack holds which latencies a sample has, and what says why others are missing.
func TestSamplesLackWhatResultsLack(t *testing.T) {
	cached, hidden, late := answered(3, 1), answered(3, 1), answered(3, 1)
	cached.Cache, hidden.ReasoningHidden = probe.CacheContaminated, true
	late.Timeline.Taint = timing.TaintLate
	for name, test := range map[string]struct {
		result *probe.Result
		want   string
	}{
		"complete":       {answered(3, 1), "TTFT, TPOT, ITL, E2EL"},
		"in a cache":     {cached, "TPOT, ITL, E2EL, contaminated"},
		"with reasoning": {hidden, "TPOT, ITL, E2EL, hidden"},
		"read late":      {late, "TTFT, TPOT, E2EL, tainted"},
		"stalled":        {stalled(), "stall limit reached after 37 token frames"},
	} {
		s := SampleOf(test.result, nil)
		got := nonEmpty(
			wordIf(stats.Finite(s.Latencies.TTFT), "TTFT"),
			wordIf(stats.Finite(s.Latencies.TPOT), "TPOT"), wordIf(s.TokenITLs != nil, "ITL"),
			wordIf(stats.Finite(s.Latencies.E2EL), "E2EL"), wordIf(s.Contaminated, "contaminated"), wordIf(s.Hidden, "hidden"),
			wordIf(s.Tainted, "tainted"), s.Error,
		)
		if diff := cmp.Diff(test.want, strings.Join(got, ", ")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if s.Hint != Hint(test.result, nil) {
			t.Errorf("%s: hint %q, want %q", name, s.Hint, Hint(test.result, nil))
		}
	}
}

// wordIf returns a word if it applies, or nothing.
func wordIf(applies bool, word string) string {
	if !applies {
		return ""
	}
	return word
}

// noon returns when the first request of tests starts.
func noon() time.Time { return time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC) }

// answer returns a good answer of 100 tokens, ten seconds after that of the round before.
func answer(target string, round int, ttft, tpot float64) Sample {
	s := Sample{
		Latencies: Latencies{
			Round: uint64(round),
			TTFT:  stats.Number(ttft), TPOT: stats.Number(tpot), E2EL: stats.Number(ttft + 99*tpot),
		},
		Target: target, Start: noon().Add(time.Duration(round) * 10 * time.Second),
		Outcome: probe.OK, Prompt: wire.Tokens(21073), Output: wire.Tokens(100), Frames: 100,
	}
	s.Elapsed = time.Duration(float64(s.Latencies.E2EL) * float64(time.Second))
	for i := range 99 {
		s.TokenITLs = append(s.TokenITLs, tpot*(1+0.01*float64(i%3-1)))
	}
	s.Latencies.ITL = stats.Number(stats.Median(s.TokenITLs))
	return s
}

// failure returns a request that failed after a second.
func failure(target string, round int, o probe.Outcome) Sample {
	return Sample{
		Latencies: Latencies{Round: uint64(round)}, Target: target, Start: noon().Add(time.Duration(round) * 10 * time.Second),
		Outcome: o, Elapsed: time.Second,
	}
}

// answers returns n rounds of one target with seeded noise, a share of the value.
func answers(target string, n int, ttft, tpot, noise float64, seed uint64) []Sample {
	r := rand.New(rand.NewPCG(seed, uint64(len(target))))
	var list []Sample
	for i := range n {
		list = append(list, answer(target, i, ttft*math.Exp(noise*r.NormFloat64()), tpot*math.Exp(noise*r.NormFloat64())))
	}
	return list
}

// with returns a copy of samples, in which some of them, or all, are changed.
func with(samples []Sample, change func(s *Sample), which ...int) []Sample {
	list := append([]Sample{}, samples...)
	for i := range list {
		if which == nil || slices.Contains(which, i) {
			change(&list[i])
		}
	}
	return list
}

func TestPairsOfSamples(t *testing.T) {
	noTTFT := answer("b", 2, 0.9, 0.004)
	noTTFT.Latencies.TTFT = noValue
	later := answer("a", 1, 0.7, 0.001) // in the round of another: only one has a pair
	later.Start = later.Start.Add(1)
	early := answer("a", 2, 0.2, 0.001)
	early.Start = noon().Add(-time.Hour)
	a := []Sample{
		later, answer("a", 5, 0.5, 0.001), early, answer("a", 1, 0.1, 0.001), failure("a", 4, probe.Timeout),
		answer("a", 3, 0.3, 0.001),
	}
	b := []Sample{
		answer("b", 4, 0.4, 0.002), failure("b", 3, probe.Timeout), answer("b", 1, 0.6, 0.002), noTTFT,
		answer("b", 7, 0.7, 0.002),
	}

	pair := func() []Pairs { return pairsOf(pairByRound(comparableRequests(a), comparableRequests(b))) }
	got := pair()

	want := []Pairs{
		{Metric: "TTFT", Values: []stats.Pair{{A: 0.1, B: 0.6}, {A: 0.2, B: float64(noValue)}}},
		{Metric: "TPOT", Values: []stats.Pair{{A: 0.001, B: 0.002}, {A: 0.001, B: 0.004}}},
		{Metric: "ITL", Values: []stats.Pair{{A: 0.001, B: 0.002}, {A: 0.001, B: 0.004}}},
		{Metric: "E2EL", Values: []stats.Pair{{A: 0.1 + 99*0.001, B: 0.6 + 99*0.002}, {A: 0.2 + 99*0.001, B: 0.9 + 99*0.004}}},
	}
	if diff := cmp.Diff(want, got, near()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	slices.Reverse(a)
	if diff := cmp.Diff(want, pair(), near()); diff != "" {
		t.Errorf("the order of samples matters:\n%s", diff)
	}
}

func TestRequestLines(t *testing.T) {
	unknown := answer("vllm-a", 12, 0.5, 0.01)
	unknown.Output, unknown.Prompt, unknown.Latencies.TPOT, unknown.Latencies.ITL = wire.Count{}, wire.Count{}, noValue, noValue
	slow := answer("hostile\x1b[2J\nname", 12345, 112.3, 0.85)
	slow.Prompt, slow.Output = wire.Tokens(128000), wire.Tokens(4096)
	limited := failure("vllm-a", 3, probe.RateLimited)
	limited.Error = "HTTP 429: \x1b[2J" + strings.Repeat("slow down ", 20)
	var lines []string
	for _, s := range []Sample{
		answer("vllm-a", 1, 0.79481, 0.00284), answer("production-stack", 123, 0.82422, 0.00789), unknown, slow,
		limited, failure("vllm-a", 4, probe.Canceled),
	} {
		line := RequestLine(s)
		if s.Outcome == probe.OK && columnsOf(line) > 80 || columnsOf(line) > 140 || strings.ContainsAny(line, "\n\x1b") {
			t.Errorf("%d columns in %q", columnsOf(line), line)
		}
		lines = append(lines, line)
	}
	golden.Equal(t, "testdata/requests.txt", strings.Join(lines, "\n")+"\n")
}
