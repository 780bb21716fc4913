package plot

import "math"

// The number of ticks on an axis: at least three of them make its scale plain, and
// more than six crowd it. On a logarithmic axis, where they stand for decades,
// there may be nine.
const (
	leastTicks   = 3
	mostTicks    = 6
	mostLogTicks = 9
)

// A tick is a value of an axis and how it is written.
type tick struct {
	value float64
	text  string
}

// ticks are what an axis of that scale shows: three to nine, in increasing order,
// within the scale, and no two written the same. Where binary, a logarithmic axis shows
// powers of two.
func (a Axis) ticks(s scale, binary bool) []tick {
	if s.log {
		if values := logTicks(s, binary); values != nil {
			return a.written(values, 0)
		}
	}
	step := stepOf(s, a.Unit)
	return a.written(multiples(s, step), step)
}

// written joins values with their texts. Of ticks that are not a step apart, step is 0.
func (a Axis) written(values []float64, step float64) []tick {
	texts := labels(a.Unit, values, step)
	list := make([]tick, len(values))
	for i, v := range values {
		list[i] = tick{v, texts[i]}
	}
	return list
}

// stepOf is the least step that a person would count by with at most mostTicks of them
// on the scale. As no step is more than twice the one before, there are at least
// leastTicks.
func stepOf(s scale, u Unit) float64 {
	step := math.Pow10(int(math.Floor(math.Log10((s.high-s.low)/mostTicks))) - 1)
	for count(s, step) > mostTicks {
		step = nextStep(step, u)
	}
	return step
}

// nextStep is what comes after a step: 1, 2, 2.5, 5 and 10 of each power of ten, but
// of seconds above ten what a clock shows.
func nextStep(step float64, u Unit) float64 {
	if u == Second && step > 9.9 {
		for _, next := range []float64{15, 30, 60, 120, 150, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400} {
			if next > step*1.01 {
				return next
			}
		}
		return step * 2
	}
	power := math.Pow10(int(math.Floor(math.Log10(step * 1.01))))
	for _, digit := range []float64{2, 2.5, 5} {
		if digit*power > step*1.01 {
			return digit * power
		}
	}
	return math.Pow10(int(math.Floor(math.Log10(step*1.01))) + 1)
}

// ends are the first and the last multiple of step on the scale, as numbers of
// steps. What is beside an end by rounding alone is at the end.
func ends(s scale, step float64) (first, last float64) {
	const rounding = 1e-6
	return math.Ceil(s.low/step - rounding), math.Floor(s.high/step + rounding)
}

func count(s scale, step float64) int {
	first, last := ends(s, step)
	return int(min(last-first, 1e6)) + 1
}

// multiples are those of step on the scale.
func multiples(s scale, step float64) []float64 {
	first, last := ends(s, step)
	var values []float64
	for n := first; n <= last; n++ {
		values = append(values, min(max(n*step, s.low), s.high))
	}
	return values
}

// logTicks are the densest row of round values that does not crowd a logarithmic
// scale. There are none where it spans less than such values do.
func logTicks(s scale, binary bool) []float64 {
	if !binary {
		for _, digits := range [][]float64{{1, 2, 3, 4, 5, 6, 7, 8, 9}, {1, 1.5, 2, 3, 5, 7}, {1, 2, 5}, {1, 3}} {
			if values := powers(s, 10, 1, digits...); s.fit(values) {
				return values
			}
		}
	}
	base := 10.0
	if binary {
		base = 2
	}
	for each := 1; ; each++ {
		values := powers(s, base, each, 1)
		if len(values) < leastTicks {
			return nil
		}
		if s.fit(values) {
			return values
		}
	}
}

// fit reports whether ascending values are neither too few nor too many for ticks, and
// far enough from each other to be written.
func (s scale) fit(values []float64) bool {
	const apart = 0.07
	for i := range len(values) - 1 {
		if s.at(values[i+1])-s.at(values[i]) < apart {
			return false
		}
	}
	return len(values) >= leastTicks && len(values) <= mostLogTicks
}

// powers are digits times every so many powers of a base, on the scale.
func powers(s scale, base float64, each int, digits ...float64) []float64 {
	var values []float64
	first := int(math.Floor(math.Log(s.low)/math.Log(base)/float64(each))) - 1
	for n := first * each; math.Pow(base, float64(n)) <= s.high; n += each {
		for _, digit := range digits {
			if v := digit * power(base, n); v >= s.low && v <= s.high {
				values = append(values, v)
			}
		}
	}
	return values
}

// power is base to the n, without the rounding of math.Pow at tens.
func power(base float64, n int) float64 {
	if base == 10 {
		return math.Pow10(n)
	}
	return math.Pow(base, float64(n))
}
