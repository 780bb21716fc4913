package plot

import "testing"

func TestStretched(t *testing.T) {
	for name, test := range map[string]struct {
		xs   []float64
		want bool
	}{
		"none":     {nil, false},
		"near":     {[]float64{0.001, 0.002, 0.019}, false},
		"far":      {[]float64{0.001, 0.002, 0.1}, true},
		"zeros":    {[]float64{0, 0, 0, 0.002, 0.003, 0.004}, false},
		"far up":   {[]float64{0.1, 0.1, 0.00001}, false},
		"a single": {[]float64{3}, false},
	} {
		var s Series
		for _, x := range test.xs {
			s.Points = append(s.Points, Point{X: x, Y: 1})
		}
		if got := (Chart{Series: []Series{s}}).Stretched().X.Log; got != test.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
