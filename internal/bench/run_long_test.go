//go:build !race

package bench

import (
	"fmt"
	"math"
	"testing"
	"testing/synctest"

	"github.com/llm-prober/prober/internal/report"
	"github.com/llm-prober/prober/internal/sim"
)

// The race detector makes these tests take minutes; what they run is raced by the
// others.

// A rung is what a recorded ladder said: means in milliseconds, requests that
// succeeded per second.
type rung struct {
	requests, ok     int
	ttft, tpot, rate float64
}

// ladders are those that the profiles were made of. The records are not smooth at
// every rung: far is how far from them a rung may be, as a factor.
var ladders = []struct {
	profile, tokens, answer string
	far                     map[int]float64
	rungs                   []rung
}{
	{"vllm-ladder", "80", "58", map[int]float64{1: 1.5, 2: 1.5, 4: 1.6, 8: 1.45, 16: 1.35, 64: 1.8, 128: 1.5}, []rung{
		{1, 1, 314.58, 50.19, 0.22},
		{2, 2, 372.80, 51.59, 0.43},
		{4, 4, 397.54, 54.18, 0.74},
		{8, 8, 646.20, 55.48, 1.42},
		{16, 16, 1034.69, 63.38, 2.44},
		{32, 32, 1546.00, 87.10, 3.77},
		{64, 64, 2698.98, 230.16, 3.26},
		{128, 128, 5161.26, 298.29, 4.62},
		{256, 256, 11787.27, 389.49, 5.76},
		{512, 512, 27060.36, 419.23, 6.77},
		{1024, 1024, 58452.87, 435.60, 7.41},
		{2048, 2048, 128150.28, 461.09, 7.50},
	}},
	{"vllm-ladder", "10000", "117", map[int]float64{1: 1.45, 2: 1.3}, []rung{
		{1, 1, 12286.18, 70.72, 0.0480},
		{2, 2, 18380.39, 115.44, 0.0611},
		{4, 4, 30569.56, 211.95, 0.0701},
		{8, 8, 55713.23, 379.62, 0.0738},
		{16, 16, 105158.97, 512.55, 0.0773},
		{32, 32, 202961.69, 563.16, 0.0796},
		{64, 64, 399467.18, 588.74, 0.0808},
	}},
	{"tgi-ladder", "80", "58", map[int]float64{2: 6, 4: 1.35, 8: 1.3, 16: 1.4, 32: 2.5, 64: 1.5, 128: 1.3, 512: 1.3, 2048: 1.4, 4096: 1.3}, []rung{
		{1, 1, 123.48, 43.48, 0.39},
		{2, 2, 864.65, 59.22, 0.43},
		{4, 4, 244.90, 53.01, 1.08},
		{8, 8, 395.44, 54.17, 2.05},
		{16, 16, 581.37, 60.53, 3.22},
		{32, 32, 2325.73, 76.40, 3.96},
		{64, 64, 2150.47, 101.40, 6.38},
		{128, 128, 3753.25, 133.02, 8.86},
		{256, 256, 6981.56, 194.79, 11.60},
		{512, 512, 14086.51, 322.78, 13.26},
		{1024, 1024, 25545.29, 625.33, 14.27},
		{2048, 2048, 55778.92, 767.29, 14.77},
		{4096, 2537, 72272.74, 786.32, 14.71},
	}},
}

// usualFactor is how far from the record a rung may be, where it is smooth.
const usualFactor = 1.25

// TestLadders holds that the blocks of a ladder have the shape of the recorded
// ones, through the whole of bench and the whole of a simulated server, and that
// more load never means less throughput.
func TestLadders(t *testing.T) {
	t.Parallel()
	for _, l := range ladders {
		t.Run(l.profile+" "+l.tokens, func(t *testing.T) {
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
					far, named := l.far[want.requests]
					if !named {
						far = usualFactor
					}
					checkRung(t, d.Summaries[i], want, far)
					if i > 0 && rate(d.Summaries[i]) < 0.98*rate(d.Summaries[i-1]) {
						t.Errorf("%d at once: %.3f requests/s, fewer than the step before", want.requests, rate(d.Summaries[i]))
					}
				}
			})
		})
	}
}

// TestLongPromptsQueue compares a ladder that was not recorded with the queue it is
// of. TGI's prompts fill a prefill together, up to 131,072 tokens, so that each of
// eight waits for all eight; and throughput ends where prefill takes all of the
// time.
func TestLongPromptsQueue(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, map[string]sim.Config{"it": simConfig(t, "tgi-ladder", 1)})
		d := r.bench(t, []string{"it"}, Options{Ladder: []int{1, 2, 4, 8, 16, 32, 64}}, map[string]string{
			"PROMPT_TOKENS": "10000", "MAX_TOKENS": "58", "TIMEOUT": "30m", "STALL_TIMEOUT": "30m",
		})
		alone := float64(d.Summaries[0].TTFT.Mean)
		for i, s := range d.Summaries {
			n := float64(s.AtOnce)
			t.Logf("%3.0f at once: TTFT %8.1f s, %.3f requests/s", n, s.TTFT.Mean, rate(s))
			if queued := alone * n; n <= 8 && math.Abs(float64(s.TTFT.Mean)/queued-1) > 0.15 {
				t.Errorf("%.0f at once: TTFT %.1f s, so many prefills take %.1f", n, s.TTFT.Mean, queued)
			}
			if i > 0 && (rate(s) < rate(d.Summaries[i-1]) || rate(s) > 1/alone) {
				t.Errorf("%.0f at once: %.3f requests/s, %.3f before, %.3f is all that prefill allows", n, rate(s), rate(d.Summaries[i-1]), 1/alone)
			}
		}
		if last := d.Summaries[6]; rate(last) < 0.9/alone {
			t.Errorf("saturates at %.3f requests/s, prefill allows %.3f", rate(last), 1/alone)
		}
	})
}

func rate(s report.Summary) float64 { return float64(s.Succeeded()) / s.Duration.Seconds() }

func checkRung(t *testing.T, s report.Summary, want rung, far float64) {
	t.Helper()
	near := func(got report.Number, want float64) bool {
		return math.Abs(math.Log(float64(got)/want)) <= math.Log(far)
	}
	text := fmt.Sprintf("%4d at once: TTFT %9.1f (%9.1f) ms, TPOT %6.1f (%6.1f) ms, %.3f (%.3f) requests/s, %d (%d) ok, %d failed",
		want.requests, 1000*s.TTFT.Mean, want.ttft, 1000*s.TPOT.Mean, want.tpot, rate(s), want.rate, s.Succeeded(), want.ok, s.Failed())
	if !near(1000*s.TTFT.Mean, want.ttft) || !near(1000*s.TPOT.Mean, want.tpot) || !near(report.Number(rate(s)), want.rate) {
		t.Error("further than", far, "from the record:", text)
	}
	if s.Succeeded() != want.ok || s.Succeeded()+s.Failed() != want.requests {
		t.Error("not as many:", text)
	}
	t.Log(text)
}

// twin compares a profile with itself, or with one that is slower, in so many
// rounds, and reports whether any difference was claimed, and whether that of
// TTFT and TPOT were.
func twin(t *testing.T, seed uint64, rounds int, tokens string, fault sim.Fault) (anything, both bool) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, map[string]sim.Config{"a": simConfig(t, "production-stack", 2*seed), "b": simConfig(t, "production-stack", 2*seed+1)})
		if err := r.servers["b"].SetFault(fault); err != nil {
			t.Fatal(err)
		}
		c := r.bench(t, []string{"a", "b"}, Options{Requests: rounds}, map[string]string{"PROMPT_TOKENS": tokens}).Comparisons[0]
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
		if anything, _ := twin(t, seed, 10, "2000", sim.Fault{}); anything {
			claims++
		}
	}
	t.Logf("%d of 100 claim a difference", claims)
	if claims > 5 {
		t.Errorf("%d of 100 comparisons of equals claim a difference", claims)
	}
}

// TestFivePerCent holds that a difference of 5%, in TTFT and in TPOT, is found in
// ten rounds at 21,000 tokens, where a stack varies by half a per cent.
func TestFivePerCent(t *testing.T) {
	t.Parallel()
	found := 0
	for seed := range uint64(20) {
		if _, both := twin(t, seed, 10, "21000", sim.Fault{TTFT: 1.05, ITL: 1.05}); both {
			found++
		}
	}
	t.Logf("%d of 20 find it", found)
	if found != 20 {
		t.Errorf("%d of 20 find a difference of 5%%", found)
	}
}

// TestTheSameRunTwice holds that it has the same verdicts.
func TestTheSameRunTwice(t *testing.T) {
	t.Parallel()
	var verdicts [2]string
	for i := range verdicts {
		synctest.Test(t, func(t *testing.T) {
			d, _ := stacks(t)
			for _, l := range d.Comparisons[0].Lines {
				verdicts[i] += fmt.Sprintln(l.Metric, report.Verdict(l, "A", "B"))
			}
		})
	}
	if verdicts[0] != verdicts[1] || verdicts[0] == "" {
		t.Errorf("first\n%ssecond\n%s", verdicts[0], verdicts[1])
	}
}
