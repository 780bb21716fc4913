package report

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/llm-prober/prober/internal/stats"
)

// TestHistogramsAreNearlyExact holds the stated error of quantiles and their bounds, against exact ones.
func TestHistogramsAreNearlyExact(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for name, value := range map[string]func() float64{
		"alike":       func() float64 { return 0.02 },
		"skewed":      func() float64 { return 0.02 * math.Exp(r.NormFloat64()) },
		"two modes":   func() float64 { return 0.002 + 0.5*math.Floor(2*r.Float64()) },
		"any size":    func() float64 { return math.Exp2(40*r.Float64() - 29) },
		"some are 0":  func() float64 { return max(0, r.NormFloat64()) },
		"beyond both": func() float64 { return math.Exp2(100*r.Float64() - 50) },
	} {
		for _, n := range []int{1, 2, 3, 100, 10_007} {
			var h histogram
			var values []float64
			for range n {
				v := value()
				h.add(v)
				values = append(values, v)
			}
			got, want := h.distribution(), stats.DistributionOf(values)
			if got.Count != n || math.Abs(float64(got.Mean-want.Mean)) > 1e-9*float64(want.Mean) {
				t.Errorf("%s: %d values with mean %g, want %d with %g", name, got.Count, got.Mean, n, want.Mean)
			}
			for i, q := range got.Quantiles {
				exact := want.Quantiles[i]
				if q.Low > exact.Value*(1+1e-12) || q.High < exact.Value*(1-1e-12) {
					t.Errorf("%s: %+v of %d values, exactly %g", name, q, n, exact.Value)
				}
				wrong := math.Abs(float64(q.Value - exact.Value))
				inRange := slices.Max(values) < highestBound
				if inRange && wrong > maxQuantileError*float64(exact.Value)+lowestBound {
					t.Errorf("%s: %+v of %d values is wrong by %g of %g", name, q, n, wrong, exact.Value)
				}
			}
		}
	}
}
