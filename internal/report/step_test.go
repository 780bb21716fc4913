package report

import (
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/llm-prober/prober/internal/plot"
	"github.com/llm-prober/prober/internal/probe"
)

// stepsOf returns a step of each target.
func stepsOf(targets []string, samples []Sample) (steps []*Step) {
	for _, target := range targets {
		step := &Step{}
		for _, s := range samples {
			if s.Target == target {
				step.Add(s)
			}
		}
		steps = append(steps, step)
	}
	return steps
}

// long returns a request of n tokens, whose ITLs are skewed.
func long(round, n int, r *rand.Rand) Sample {
	s := answer("a", round, 0.8, 0.003)
	s.ITLs = make([]float64, n)
	for i := range s.ITLs {
		s.ITLs[i] = 0.003 * math.Exp(r.NormFloat64()/2)
	}
	return s
}

// heap returns how many bytes are in use.
func heap() int {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc) //nolint:gosec // not that many
}

// TestMemoryOfAStep holds that it grows with requests and not with tokens, of which these are nine million (72 MB of
// ITLs), and that the quantiles of all of them are as exact as is said.
func TestMemoryOfAStep(t *testing.T) {
	const requests, tokens, repeated = 90, 4000, 25
	const most = 16 << 20 // bytes: the exact ITLs with room to grow, as long as they are kept, and the buckets
	r := rand.New(rand.NewPCG(1, 2))
	var all []float64
	var distinct []Sample
	for round := range requests {
		distinct = append(distinct, long(round, tokens, r))
		all = append(all, distinct[round].ITLs...)
	}
	want := DistributionOf(all)
	var step Step
	before := heap()
	for range repeated {
		for _, s := range distinct {
			step.Add(s)
		}
		if grown := heap() - before; grown > most {
			t.Fatalf("%d bytes for %d tokens", grown, step.histograms[indexITL].count)
		}
	}
	got := step.Summary()
	if got.ITL.Count != requests*tokens*repeated {
		t.Errorf("%d tokens", got.ITL.Count)
	}
	for i, q := range got.ITL.Quantiles {
		exact := float64(want.Quantiles[i].Value)
		// of repeated values the ranks differ a little
		if wrong := math.Abs(float64(q.Value)-exact) / exact; wrong > 2*maxQuantileError {
			t.Errorf("%+v is wrong by %g of %g", q, wrong, exact)
		}
	}
	if points := step.itlDistributionPoints(); len(points) < 100 || points[len(points)-1].Y != 1 {
		t.Errorf("%d points of the distribution, up to %+v", len(points), points[len(points)-1])
	}
}

// TestITLIsExactUpToAMillionTokens holds where histograms begin, and that a block says so then.
func TestITLIsExactUpToAMillionTokens(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var step Step
	var all []float64
	for round := range maxExactITLs / 10_000 {
		s := long(round, 10_000, r)
		all = append(all, s.ITLs...)
		step.Add(s)
	}
	if diff := cmp.Diff(DistributionOf(all), step.Summary().ITL); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if notes := bucketNotes(step.Summary()); notes != nil {
		t.Error(notes)
	}
	exact := step.itlDistributionPoints()
	step.Add(long(0, 1, r))
	got := step.Summary()
	if want := []string{"Quantiles come from histogram buckets: ITL ±0.2%"}; step.itls != nil ||
		!slices.Equal(bucketNotes(got), want) {
		t.Error(bucketNotes(got))
	}
	ends := func(points []plot.Point) [2]plot.Point { return [2]plot.Point{points[0], points[len(points)-1]} }
	for i, want := range ends(exact) {
		near := ends(step.itlDistributionPoints())[i]
		if math.Abs(near.X-want.X) > maxQuantileError*want.X || math.Abs(near.Y-want.Y) > 0.01 {
			t.Errorf("the distribution has %+v, by buckets %+v", want, near)
		}
	}
}

// TestInterim holds that what is shown of a step under way is what its summary says, as exactly as histograms are.
func TestInterim(t *testing.T) {
	samples := answers("a", 100, 0.8, 0.003, 0.1, 1)
	samples[3] = failure("a", 3, probe.Stalled)
	samples[99].Outcome = probe.Canceled
	step := stepsOf([]string{"a"}, samples)[0]
	got, want := step.Interim(), step.Summary()
	for _, q := range quantities {
		for i, exact := range q.InSummary(&want).Quantiles {
			value := float64(q.InSummary(&got).Quantiles[i].Value)
			if wrong := math.Abs(value - float64(exact.Value)); wrong > maxQuantileError*float64(exact.Value) {
				t.Errorf("%s: %g, want %+v", q.Name, value, exact)
			}
		}
	}
	if diff := cmp.Diff(want.Outcomes, got.Outcomes); diff != "" {
		t.Error(diff)
	}
	if rate := want.Throughput(); got.Throughput().Total != rate.Total || got.Throughput().Requests != rate.Requests ||
		got.Start != want.Start {
		t.Errorf("%+v, want %+v", got.Throughput(), rate)
	}
}

func BenchmarkStepAdd(b *testing.B) {
	s := long(0, 100, rand.New(rand.NewPCG(1, 2)))
	var step Step
	b.ReportAllocs()
	for b.Loop() {
		step.Add(s)
	}
}
