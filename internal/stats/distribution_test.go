package stats

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestDistributionsAgreeWithNumpy compares with what numpy.percentile returns for the same values.
func TestDistributionsAgreeWithNumpy(t *testing.T) {
	for _, test := range []struct {
		values []float64
		mean   float64
		want   [5]float64 // P50, P75, P90, P95, P99
	}{
		{[]float64{7}, 7, [5]float64{7, 7, 7, 7, 7}},
		{[]float64{4, 1, 3, 2}, 2.5, [5]float64{2.5, 3.25, 3.7, 3.85, 3.97}},
		{[]float64{10, 20, 30, 40, 50, 60, 70, 80, 90, 1000}, 145, [5]float64{55, 77.5, 181, 590.5, 918.1}},
	} {
		want := Distribution{Count: len(test.values), Mean: Number(test.mean)}
		for i, value := range test.want {
			v := Number(value)
			want.Quantiles[i] = Quantile{Value: v, Low: v, High: v}
		}
		if diff := cmp.Diff(want, DistributionOf(test.values), near()); diff != "" {
			t.Errorf("%v (-want +got):\n%s", test.values, diff)
		}
	}
}

// TestNothingHasNoQuantile holds that nothing has no median, and that it is not 0.
func TestNothingHasNoQuantile(t *testing.T) {
	median := Median(nil)
	quantile := DistributionOf(nil).At(P50)
	if !math.IsNaN(median) || Finite(quantile) {
		t.Errorf("the median of nothing is %g, its quantile %g", median, quantile)
	}
}

// TestDistributionInJSON holds that a quantile has its share beside it, and that what is unknown or infinite is null.
func TestDistributionInJSON(t *testing.T) {
	d := DistributionOf([]float64{0.25})
	d.Quantiles[P99].High = Number(math.Inf(1))
	text, err := json.Marshal(d)
	const want = `{"count":1,"mean":0.25,"quantiles":[` +
		`{"share":0.5,"value":0.25,"low":0.25,"high":0.25},{"share":0.75,"value":0.25,"low":0.25,"high":0.25},` +
		`{"share":0.9,"value":0.25,"low":0.25,"high":0.25},{"share":0.95,"value":0.25,"low":0.25,"high":0.25},` +
		`{"share":0.99,"value":0.25,"low":0.25,"high":null}]}`
	if diff := cmp.Diff(want, string(text)); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	var read Distribution
	err = json.Unmarshal(text, &read)
	d.Quantiles[P99].High = Number(math.NaN())
	if diff := cmp.Diff(d, read, near()); diff != "" || err != nil {
		t.Errorf("read again: %v (-want +got):\n%s", err, diff)
	}
}
