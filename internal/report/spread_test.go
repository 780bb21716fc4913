package report

import (
	"math"
	"testing"
)

// What numpy.percentile says of the same values.
func TestSpreadIsThatOfTheRecordedTools(t *testing.T) {
	for _, test := range []struct {
		values []float64
		mean   float64
		want   []float64 // P50, P75, P90, P95, P99
	}{
		{[]float64{7}, 7, []float64{7, 7, 7, 7, 7}},
		{[]float64{2, 1}, 1.5, []float64{1.5, 1.75, 1.9, 1.95, 1.99}},
		{[]float64{4, 1, 3, 2}, 2.5, []float64{2.5, 3.25, 3.7, 3.85, 3.97}},
		{[]float64{10, 20, 30, 40, 50, 60, 70, 80, 90, 1000}, 145, []float64{55, 77.5, 181, 590.5, 918.1}},
		{[]float64{0.7948, 0.7986, 0.8052}, 0.799533333, []float64{0.7986, 0.8019, 0.80388, 0.80454, 0.805068}},
	} {
		d := Spread(test.values)
		if d.Count != len(test.values) || math.Abs(float64(d.Mean)-test.mean) > 1e-9 {
			t.Errorf("%v: count %d, mean %g, want %g", test.values, d.Count, d.Mean, test.mean)
		}
		for i, q := range d.Quantiles {
			if math.Abs(float64(q.Value)-test.want[i]) > 1e-9 || q.Low != q.Value || q.High != q.Value || q.Share != Shares()[i] {
				t.Errorf("%v: quantile %+v, want %g exactly", test.values, q, test.want[i])
			}
		}
	}
}
