package plot

import (
	"math"
	"testing"
)

func TestScale(t *testing.T) {
	for _, c := range []struct {
		about     string
		axis      Axis
		low, high float64 // of the values
		want      scale
	}{
		{"values far from zero do not begin there", Axis{Unit: Second}, 100, 200, scale{96, 204, false}},
		{"values near zero do", Axis{Unit: Second}, 10, 100, scale{0, 103.6, false}},
		{"so do those below zero end there", Axis{}, -100, -10, scale{-103.6, 0, false}},
		{"on both sides of zero there is room at both ends", Axis{}, -100, 100, scale{-108, 108, false}},
		{"shares are between none and all", Axis{Unit: Percent}, 0.3, 0.4, scale{0, 1, false}},
		{"but for what is no share", Axis{Unit: Percent}, 1, 2, scale{0.96, 2.04, false}},
		{"equal values have a tenth around them", Axis{}, 50, 50, scale{45, 55, false}},
		{"zeros alone reach to one", Axis{}, 0, 0, scale{0, 1, false}},
		{"equal values on a logarithmic axis have a factor of three", Axis{Log: true}, 9, 9, scale{3, 27, true}},
		{"near ones a factor of two", Axis{Log: true}, 8, 8 * 1.21, scale{8 * 1.1 / math.Sqrt2 / math.Pow(2, 0.03), 8 * 1.1 * math.Sqrt2 * math.Pow(2, 0.03), true}},
		{"a logarithmic axis has three per cent more", Axis{Log: true}, 1, 100, scale{math.Pow(100, -0.03), math.Pow(100, 1.03), true}},
	} {
		got := c.axis.scale(c.low, c.high)
		if !near(got.low, c.want.low) || !near(got.high, c.want.high) || got.log != c.want.log {
			t.Errorf("%s: %v, want %v", c.about, got, c.want)
		}
	}
}

// near allows for the rounding of float64.
func near(a, b float64) bool { return math.Abs(a-b) <= 1e-12*max(math.Abs(a), math.Abs(b)) }

func TestPlaceOnAScale(t *testing.T) {
	for _, c := range []struct {
		scale scale
		v     float64
		want  float64
	}{
		{scale{10, 20, false}, 10, 0},
		{scale{10, 20, false}, 12.5, 0.25},
		{scale{10, 20, false}, 20, 1},
		{scale{-10, 10, false}, 0, 0.5},
		{scale{1, 10000, true}, 1, 0},
		{scale{1, 10000, true}, 10, 0.25},
		{scale{1, 10000, true}, 10000, 1},
	} {
		if got := c.scale.at(c.v); !near(got, c.want) {
			t.Errorf("%v on %v is at %v, want %v", c.v, c.scale, got, c.want)
		}
	}
}

func TestPlaced(t *testing.T) {
	for _, c := range []struct {
		v           float64
		linear, log bool
	}{
		{1, true, true},
		{1e-30, true, true},
		{1e30, true, true},
		{1e-31, true, false},
		{0, true, false},
		{-1, true, false},
		{1e31, false, false},
		{-1e31, false, false},
		{math.Inf(1), false, false},
		{math.Inf(-1), false, false},
		{math.NaN(), false, false},
	} {
		if linear, log := (Axis{}).placed(c.v), (Axis{Log: true}).placed(c.v); linear != c.linear || log != c.log {
			t.Errorf("%v has a place on a linear axis %v, on a logarithmic one %v; want %v, %v", c.v, linear, log, c.linear, c.log)
		}
	}
}
