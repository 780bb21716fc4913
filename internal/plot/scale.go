package plot

import "math"

// farthest is the largest magnitude that is drawn, and its inverse the least above
// zero on a logarithmic axis: far beyond all quantities, and within what a float64
// can still divide.
const farthest = 1e30

// A scale maps values to their place on an axis.
type scale struct {
	low, high float64 // low < high, both with a place on the axis
	log       bool
}

// at is the place of v: 0 at the low end, 1 at the high one.
func (s scale) at(v float64) float64 {
	if s.log {
		return math.Log(v/s.low) / math.Log(s.high/s.low)
	}
	return (v - s.low) / (s.high - s.low)
}

// placed reports whether v has a place on the axis.
func (a Axis) placed(v float64) bool {
	if a.Log {
		return v >= 1/farthest && v <= farthest
	}
	return math.Abs(v) <= farthest
}

// scale is one on which all values from low to high have room, and a little more.
// Both have a place on the axis, and low is not above high.
func (a Axis) scale(low, high float64) scale {
	switch {
	case a.Log:
		return logarithmic(low, high)
	case a.Unit == Percent && low >= 0 && high <= 1:
		return scale{low: 0, high: 1}
	}
	return linear(low, high)
}

// logarithmic has 3% more at both ends, and at least a factor of two in all. Values that
// are equal have a factor of three on both sides.
func logarithmic(low, high float64) scale {
	if high <= low*(1+1e-9) {
		return scale{low: low / 3, high: high * 3, log: true}
	}
	if high < low*2 {
		middle := math.Sqrt(low) * math.Sqrt(high)
		low, high = middle/math.Sqrt2, middle*math.Sqrt2
	}
	more := math.Pow(high/low, 0.03)
	return scale{low: low / more, high: high * more, log: true}
}

// linear has 4% more at both ends. It begins, or ends, at zero where less than 40% of
// it would be empty, and passes zero only where values do.
func linear(low, high float64) scale {
	if high-low <= 1e-9*max(math.Abs(low), math.Abs(high), 1/farthest) {
		return around(low)
	}
	s := scale{low: low - (high-low)*0.04, high: high + (high-low)*0.04}
	if low >= 0 && (low < high*0.4 || s.low < 0) {
		s.low = 0
	}
	if high <= 0 && (high > low*0.4 || s.high > 0) {
		s.high = 0
	}
	return s
}

// around is a scale for values that are all v: a tenth of it on both sides, or from 0
// to 1.
func around(v float64) scale {
	if math.Abs(v) <= 1/farthest {
		return scale{low: 0, high: 1}
	}
	return scale{low: v - math.Abs(v)/10, high: v + math.Abs(v)/10}
}
