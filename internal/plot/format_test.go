package plot

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestLabels(t *testing.T) {
	for _, c := range []struct {
		unit   Unit
		values []float64
		step   float64
		want   []string
	}{
		{Second, []float64{0, 0.1, 0.2}, 0.1, []string{"0", "100 ms", "200 ms"}},
		{Second, []float64{0, 0.5, 1}, 0.5, []string{"0", "0.5 s", "1.0 s"}},
		{Second, []float64{130, 131, 132}, 1, []string{"130 s", "131 s", "132 s"}},
		{Second, []float64{0, 90, 180}, 90, []string{"0", "1.5 min", "3.0 min"}},
		{Second, []float64{1e-4, 2e-4}, 1e-4, []string{"100 µs", "200 µs"}},
		{Second, []float64{1e-3, 1, 100, 1e4}, 0, []string{"1 ms", "1 s", "100 s", "10,000 s"}},
		{Second, []float64{1e-20, 1e-10}, 0, []string{"1e-20 s", "1e-10 s"}},
		{Percent, []float64{0, 0.125, 0.25}, 0.125, []string{"0%", "12.5%", "25.0%"}},
		{Percent, []float64{0.001, 0.01, 1}, 0, []string{"0.1%", "1%", "100%"}},
		{Number, []float64{9998, 10000, 10002}, 2, []string{"9,998", "10,000", "10,002"}},
		{Number, []float64{0, 2500, 5000}, 2500, []string{"0", "2.5k", "5.0k"}},
		{Number, []float64{1, 1000, 1024, 1e6, 5e9}, 0, []string{"1", "1k", "1,024", "1M", "5G"}},
		{Number, []float64{1e20, 2e20}, 1e20, []string{"1e+20", "2e+20"}},
		{Number, []float64{-0.5, 0, 0.5}, 0.5, []string{"−0.5", "0", "0.5"}},
	} {
		if diff := cmp.Diff(c.want, labels(c.unit, c.values, c.step)); diff != "" {
			t.Errorf("%v of %q, %v apart (-want +got):\n%s", c.values, c.unit, c.step, diff)
		}
	}
}

func TestValue(t *testing.T) {
	for _, c := range []struct {
		unit Unit
		v    float64
		want string
	}{
		{Second, 0.79634, "796.3 ms"},
		{Second, 0, "0 µs"},
		{Second, 0.00030004, "300 µs"},
		{Second, 1.5, "1.5 s"},
		{Second, 119.96, "120 s"},
		{Second, 1234, "20.57 min"},
		{Second, -0.5, "−500 ms"},
		{Percent, 0.995, "99.5%"},
		{Percent, 0, "0%"},
		{Number, 3895.6, "3,896"},
		{Number, 2048, "2,048"},
		{Number, 1234567, "1,234,567"},
		{Number, 1.5, "1.5"},
		{Number, 1e20, "1e+20"},
		{"", 1e-20, "1e-20"},
	} {
		if got := value(c.unit, c.v); got != c.want {
			t.Errorf("%v of %q is written %q, want %q", c.v, c.unit, got, c.want)
		}
	}
}
