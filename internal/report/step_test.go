package report

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/llm-prober/prober/internal/plot"
	"github.com/llm-prober/prober/internal/probe"
	"github.com/llm-prober/prober/internal/stats"
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
	s.TokenITLs = make([]float64, n)
	for i := range s.TokenITLs {
		s.TokenITLs[i] = 0.003 * math.Exp(r.NormFloat64()/2)
	}
	return s
}

// TestITLIsExactUpToAMillionTokens holds where histograms begin, that a block says so then, and that a step keeps no
// ITL of a single request: its memory does not grow with tokens.
func TestITLIsExactUpToAMillionTokens(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var step Step
	var all []float64
	for round := range maxExactITLs / 10_000 {
		s := long(round, 10_000, r)
		all = append(all, s.TokenITLs...)
		step.Add(s)
	}
	summary := step.Summary()
	if diff := cmp.Diff(stats.DistributionOf(all), summary.ITL); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if note := bucketNote(summary); note != "" {
		t.Errorf("of exact ITLs it is said: %s", note)
	}
	exact := step.itlDistributionPoints()
	step.Add(long(0, 1, r))
	summary = step.Summary()
	if step.itls != nil || summary.ITL.Count != maxExactITLs+1 {
		t.Errorf("%d exact ITLs of %d", len(step.itls), summary.ITL.Count)
	}
	if slices.ContainsFunc(step.Samples(), func(s Sample) bool { return s.TokenITLs != nil }) {
		t.Error("a sample keeps its ITLs")
	}
	if diff := cmp.Diff("Quantiles come from histogram buckets: ITL ±0.2%", bucketNote(summary)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
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
