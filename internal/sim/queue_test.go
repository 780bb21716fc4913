package sim

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// rung is one step of a recorded ladder: so many prompts at once.
type rung struct {
	requests   int
	ttft, tpot float64 // means, ms
	throughput float64 // requests/s
	gap, p99   float64 // median and P99 of the gaps between tokens, ms; 0: not compared
}

// factors are how far means may be off.
type factors struct{ ttft, tpot, throughput float64 }

// ladder is a server as it was measured.
type ladder struct {
	name, profile string
	prompt        int           // tokens
	answer        [2]int        // tokens, the shortest and the longest
	single        int           // tokens of the answer to one prompt alone
	lead          time.Duration // by which the first prompt came before the others
	all           factors
	but           map[int]factors // rungs at which the record leaves its own line, or the model has none
	rungs         []rung
}

// ladders are the recorded ones, about every second rung of them.
//
// vLLM with prompts of 80 tokens does not follow a straight line: between 32 and 64 its decode step more than doubled.
//
// With prompts of 10,000 tokens its decode step took 20 ms longer behind so long a prompt, which the engine does not
// know and which only shows while few are served. Throughput is from the duration, which was recorded with more
// digits.
//
// TGI sent 4,096 prompts at the last rung. At 32 it stood still for about 1.4 s before the first tokens and never
// again. Its first prompt was always served before the others: the median of TTFT is above the mean, and close to the
// P99.
var ladders = []ladder{
	{"vLLM, 80 tokens", "vllm-ladder", 80, [2]int{32, 85}, 85, 0,
		factors{1.25, 1.15, 1.25}, map[int]factors{64: {1.25, 1.7, 1.7}}, []rung{
			{1, 314.58, 50.19, 0.22, 0, 0},
			{8, 646.20, 55.48, 1.42, 0, 0},
			{32, 1546.00, 87.10, 3.77, 0, 0},
			{64, 2698.98, 230.16, 3.26, 0, 0},
			{256, 11787.27, 389.49, 5.76, 0, 0},
			{2048, 128150.28, 461.09, 7.50, 0, 0},
		}},
	{"vLLM, 10,000 tokens", "vllm-ladder", 10000, [2]int{103, 125}, 122, 0,
		factors{1.1, 1.1, 1.1}, map[int]factors{1: {1.1, 1.45, 1.25}}, []rung{
			{1, 12286.18, 70.72, 1 / 20.85, 0, 0},
			{8, 55713.23, 379.62, 8 / 108.42, 0, 0},
			{32, 202961.69, 563.16, 32 / 402.15, 0, 0},
			{64, 399467.18, 588.74, 64 / 792.10, 602.62, 835.49},
		}},
	{"TGI, 80 tokens", "tgi-ladder", 80, [2]int{32, 85}, 57, time.Millisecond,
		factors{1.25, 1.25, 1.25}, map[int]factors{32: {2.5, 1.25, 1.4}}, []rung{
			{1, 123.48, 43.48, 0.39, 0, 0},
			{8, 395.44, 54.17, 2.05, 0, 0},
			{32, 2325.73, 76.40, 3.95, 0, 0},
			{64, 2150.47, 101.40, 6.38, 0, 0},
			{256, 6981.56, 194.79, 11.60, 0, 0},
			{512, 14086.51, 322.78, 13.27, 336.09, 369.31},
			{1024, 25545.29, 625.33, 14.27, 521.93, 5750.15},
			{2048, 55778.92, 767.29, 14.77, 552.11, 7360.92},
			{2537, 72272.74, 786.32, 14.71, 584.80, 7385.78},
		}},
}

// climb sends n prompts at once to an idle engine in virtual time and returns what came of it.
func (l ladder) climb(t *testing.T, n int) rung {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var running, clients sync.WaitGroup
	e := newEngine(profile(t, l.profile))
	start := time.Now()
	random := rand.New(rand.NewPCG(1, 1))
	sent := make([]*sequence, n)
	for i := range n {
		want := l.answer[0] + random.IntN(l.answer[1]-l.answer[0]+1)
		if n == 1 {
			want = l.single
		}
		origin := start
		if i > 0 {
			origin = start.Add(l.lead)
		}
		sent[i] = e.submit(origin, l.prompt, 0, want)
		clients.Go(func() { _, _ = sent[i].due(ctx, want-1) })
	}
	running.Go(func() { e.run(ctx) }) // from now on, so that it finds them all
	clients.Wait()
	took := time.Since(start)
	cancel()
	running.Wait()
	got := rung{requests: n, throughput: float64(n) / took.Seconds()}
	var gaps []float64
	for _, q := range sent {
		first, last := q.times[0], q.times[len(q.times)-1]
		got.ttft += ms(first.Sub(start)) / float64(n)
		got.tpot += ms(last.Sub(first)) / float64(len(q.times)-1) / float64(n)
		for i := 1; i < len(q.times); i++ {
			gaps = append(gaps, ms(q.times[i].Sub(q.times[i-1])))
		}
	}
	slices.Sort(gaps)
	got.gap, got.p99 = gaps[len(gaps)/2], gaps[len(gaps)*99/100]
	return got
}

// TestTheLadderHasTheRecordedShape holds that both queues are as slow under load as the servers that were measured. The
// gaps between tokens distinguish them: vLLM mixes prompts into its steps, TGI stops the answers for them.
func TestTheLadderHasTheRecordedShape(t *testing.T) {
	if testing.Short() {
		t.Skip("make test takes the time")
	}
	for _, l := range ladders {
		for _, want := range l.rungs {
			most, odd := l.but[want.requests]
			if !odd {
				most = l.all
			}
			t.Run(fmt.Sprintf("%s, %d at once", l.name, want.requests), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					got := l.climb(t, want.requests)
					expectNear(t, "TTFT", got.ttft, want.ttft, most.ttft)
					expectNear(t, "TPOT", got.tpot, want.tpot, most.tpot)
					expectNear(t, "throughput", got.throughput, want.throughput, most.throughput)
					if want.gap > 0 {
						expectNear(t, "median gap", got.gap, want.gap, 1.25)
						expectNear(t, "P99 of the gaps", got.p99, want.p99, 1.25)
					}
				})
			})
		}
	}
}

// expectNear expects a value to be within a factor of what was recorded.
func expectNear(t *testing.T, what string, got, want, factor float64) {
	t.Helper()
	if math.Abs(math.Log(got/want)) > math.Log(factor) {
		t.Errorf("%s: %g, recorded %g, want it within a factor of %g", what, got, want, factor)
	}
}

// ms returns a duration in milliseconds.
func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
