//go:build !race

package bench

import (
	"math"
	"testing"
	"testing/synctest"

	"github.com/llm-prober/prober/internal/sim"
)

// The race detector makes these tests take minutes; what they run is raced by the
// others.

// TestLadders holds that the blocks of a ladder are the recorded ones (means in milliseconds, requests per second), through the
// whole of bench and the whole of a simulated server, where the record is smooth. That the simulator has the shape of the
// whole record is a test of its own.
func TestLadders(t *testing.T) {
	t.Parallel()
	type rung struct {
		requests         int
		ttft, tpot, rate float64
	}
	for _, l := range []struct {
		profile, tokens, answer string
		rungs                   []rung
	}{
		{"vllm-ladder", "80", "58", []rung{{32, 1546.00, 87.10, 3.77}, {512, 27060.36, 419.23, 6.77}, {2048, 128150.28, 461.09, 7.50}}},
		{"vllm-ladder", "10000", "117", []rung{{4, 30569.56, 211.95, 0.0701}, {64, 399467.18, 588.74, 0.0808}}},
		{"tgi-ladder", "80", "58", []rung{{1, 123.48, 43.48, 0.39}, {1024, 25545.29, 625.33, 14.27}}},
	} {
		synctest.Test(t, func(t *testing.T) {
			var steps []int
			for _, want := range l.rungs {
				steps = append(steps, want.requests)
			}
			r := newRig(t, map[string]sim.Config{"it": simConfig(t, l.profile, 1)})
			d := r.bench(t, []string{"it"}, Options{Ladder: steps}, map[string]string{
				"PROMPT_TOKENS": l.tokens, "MAX_TOKENS": l.answer, "TIMEOUT": "30m", "STALL_TIMEOUT": "30m",
			})
			for i, want := range l.rungs {
				s := d.Summaries[i]
				rate := float64(s.Succeeded()) / s.Duration.Seconds()
				got := rung{s.Succeeded(), 1000 * float64(s.TTFT.Mean), 1000 * float64(s.TPOT.Mean), rate}
				near := func(got, want float64) bool { return math.Abs(math.Log(got/want)) <= math.Log(1.25) }
				if got.requests != want.requests || !near(got.ttft, want.ttft) || !near(got.tpot, want.tpot) || !near(got.rate, want.rate) {
					t.Errorf("%s, %s tokens: %v, the record has %v", l.profile, l.tokens, got, want)
				}
			}
		})
	}
}

// twin compares a profile with itself, or with one that is slower, in ten
// rounds, and reports whether any difference was claimed, and whether that of
// TTFT and TPOT were.
func twin(t *testing.T, seed uint64, tokens string, fault sim.Fault) (anything, both bool) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, map[string]sim.Config{"a": simConfig(t, "production-stack", 2*seed), "b": simConfig(t, "production-stack", 2*seed+1)})
		if err := r.servers["b"].SetFault(fault); err != nil {
			t.Fatal(err)
		}
		c := r.bench(t, []string{"a", "b"}, Options{Requests: 10}, map[string]string{"PROMPT_TOKENS": tokens}).Comparisons[0]
		for _, l := range c.Lines {
			anything = anything || l.Shown
		}
		both = line(t, c, "TTFT").Shown && line(t, c, "TPOT").Shown
	})
	return anything, both
}

// TestEqualStacks holds the promise of the confidence: of 100 comparisons of a
// stack with itself no more than five claim any difference.
func TestEqualStacks(t *testing.T) {
	t.Parallel()
	claims := 0
	for seed := range uint64(100) {
		if anything, _ := twin(t, seed, "2000", sim.Fault{}); anything {
			claims++
		}
	}
	if claims > 5 {
		t.Errorf("%d of 100 comparisons of equals claim a difference", claims)
	}
}

// TestFivePerCent holds that a difference of 5%, in TTFT and in TPOT, is found in
// ten rounds at 21,000 tokens, where a stack varies by half a per cent.
func TestFivePerCent(t *testing.T) {
	t.Parallel()
	for seed := range uint64(20) {
		if _, both := twin(t, seed, "21000", sim.Fault{TTFT: 1.05, ITL: 1.05}); !both {
			t.Errorf("seed %d: a difference of 5%% is not found", seed)
		}
	}
}
