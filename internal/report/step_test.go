package report

import (
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

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

// TestMillionsOfTokens holds up to how many tokens ITL is exact, and that a summary says so above that. Then the ITLs
// that are kept are drawn from all tokens alike: a third of them from the first third. A step keeps no ITL of a single
// request.
func TestMillionsOfTokens(t *testing.T) {
	if testing.Short() {
		t.Skip("make test takes the time")
	}
	var step Step
	add := func(itl float64) {
		s := answer("a", step.Len(), 0.8, 0.003)
		s.TokenITLs = slices.Repeat([]float64{itl}, maxKeptITLs)
		step.Add(s)
	}
	add(0.001)
	if step.itls.note() != "" {
		t.Errorf("of exact ITLs it is said: %s", step.itls.note())
	}
	add(0.002)
	add(0.003)
	summary := step.Summary()
	if summary.ITL.Count != 3*maxKeptITLs || math.Abs(float64(summary.ITL.Mean)-0.002) > 1e-12 {
		t.Errorf("%d ITLs with mean %g", summary.ITL.Count, summary.ITL.Mean)
	}
	if summary.ITL.At(stats.P50) != 0.002 || summary.ITL.At(stats.P75) != 0.003 {
		t.Errorf("quantiles %+v, want those of three equal thirds", summary.ITL.Quantiles)
	}
	const note = "quantiles of ITL are those of 1,000,000 tokens, drawn at random from 3,000,000"
	if !slices.Contains(summary.Warnings, note) {
		t.Errorf("warnings %q without %q", summary.Warnings, note)
	}
	kept := map[float64]int{}
	for _, itl := range step.itls.kept {
		kept[itl]++
	}
	for itl, n := range kept {
		const third, sixDeviations = maxKeptITLs / 3, 2300 // of a draw without replacement: √(10⁶ · ⅓ · ⅔ · ⅔) = 385
		if n < third-sixDeviations || n > third+sixDeviations {
			t.Errorf("%d of the ITLs that are kept are %g, want a third", n, itl)
		}
	}
	if slices.ContainsFunc(step.Samples(), func(s Sample) bool { return s.TokenITLs != nil }) {
		t.Error("a sample keeps its ITLs")
	}
}

// TestInterim holds that what is shown of a step under way is what its summary says, but for ITL.
func TestInterim(t *testing.T) {
	samples := answers("a", 100, 0.8, 0.003, 0.1, 1)
	samples[3] = failure("a", 3, probe.Stalled)
	samples[99].Outcome = probe.Canceled
	step := stepsOf([]string{"a"}, samples)[0]
	got, want := step.Interim(), step.Summary()
	want.ITL, want.Failures, want.Warnings, want.Excluded, want.Requests = stats.Distribution{}, nil, nil, nil, nil
	want.Met, want.Target = 0, ""
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if got.TTFT.Count != 98 || got.Outcomes[probe.Stalled] != 1 || got.Duration <= 0 {
		t.Errorf("%+v", got)
	}
}
