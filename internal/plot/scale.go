package plot

import (
	"math"
	"slices"
	"time"

	"github.com/dustin/go-humanize"

	"github.com/llm-prober/prober/internal/format"
)

// maxMagnitude is the largest magnitude that is drawn. Its inverse is the least value on a logarithmic axis.
const maxMagnitude = 1e12

// hasPlace reports whether v can be drawn on the axis.
func (a Axis) hasPlace(v float64) bool {
	return math.Abs(v) <= maxMagnitude && (!a.Log || v >= 1/maxMagnitude)
}

// A scale is an axis for certain values: its ends, its ticks and the place of each value.
type scale struct {
	axis      Axis
	isLog     bool
	low, high float64   // its ends
	tickUnit  float64   // the unit of the ticks, in that of the values: 0.001 if values are in s and ticks in ms
	unitName  string    // of the ticks, for the title
	values    []float64 // of the points, ascending
}

// A tick is a value that has a label on an axis.
type tick struct {
	value float64
	label string
}

// newScale returns the scale for at least one value, each of which has a place on the axis.
func newScale(a Axis, values []float64) scale {
	s := scale{axis: a, values: slices.Sorted(slices.Values(values))}
	least, median, most := s.values[0], s.values[len(values)/2], s.values[len(values)-1]
	// A linear axis would squeeze most durations together if the largest is far away from them.
	hasLongTail := a.Unit == Second && least > 1/maxMagnitude && most > 10*median
	s.isLog = a.Log || hasLongTail
	if s.isLog {
		s.low, s.high = logarithmicEnds(least, most)
	} else {
		s.low, s.high = linearEnds(a.Unit, least, most)
	}
	s.setTickUnit()
	return s
}

// setTickUnit sets the unit of the ticks: that of the values, or a smaller one for small values.
func (s *scale) setTickUnit() {
	unit := s.axis.Unit
	s.tickUnit = 1
	s.unitName = string(unit)
	largest := max(math.Abs(s.low), math.Abs(s.high))
	switch {
	case unit == Share:
		s.tickUnit = 0.01
		s.unitName = "%"
	case unit == Second && largest < 0.001:
		s.tickUnit = 1e-6
		s.unitName = "µs"
	case unit == Second && largest < 1:
		s.tickUnit = 1e-3
		s.unitName = "ms"
	}
}

// linearEnds returns the ends of an axis for values from least to most: a little further apart than these.
func linearEnds(unit Unit, least, most float64) (low, high float64) {
	switch {
	case unit == Share:
		return 0, 1
	case unit != Time && least >= 0 && least < most*0.4: // to begin at 0 leaves less than 40% empty
		return 0, most * 1.04
	}
	minLength := max(math.Abs(least), math.Abs(most)) / 5 // of a shorter axis, noise would fill the chart
	if unit == Time || minLength < 1/maxMagnitude {
		minLength = 1
	}
	missing := max(0, minLength-(most-least)) / 2 // on each side
	margin := max(minLength, most-least) * 0.04
	return least - missing - margin, most + missing + margin
}

// logarithmicEnds returns the ends of a logarithmic axis for values from least to most. It spans at least a factor of
// two.
func logarithmicEnds(least, most float64) (low, high float64) {
	middle := math.Sqrt(least) * math.Sqrt(most)
	low = min(least, middle/math.Sqrt2)
	high = max(most, middle*math.Sqrt2)
	margin := math.Pow(high/low, 0.03)
	return low / margin, high * margin
}

// position returns the place of v on the axis: 0 at its low end, 1 at its high end.
func (s scale) position(v float64) float64 {
	if s.isLog {
		return math.Log(v/s.low) / math.Log(s.high/s.low)
	}
	return (v - s.low) / (s.high - s.low)
}

// title returns the label of the axis with its unit, and for an axis of time with its first day.
func (s scale) title() string {
	title := format.Clean(s.axis.Label)
	if s.unitName != "" {
		title += " (" + s.unitName + ")"
	}
	if s.isLog {
		title += " (log)"
	}
	if s.axis.Unit == Time {
		title += " from " + time.Unix(int64(s.values[0]), 0).UTC().Format(time.DateOnly)
	}
	return title
}

// ticks returns the ticks of the axis, ascending.
func (s scale) ticks() []tick {
	if s.axis.Values {
		return s.ticksApart(s.values)
	}
	if s.isLog {
		ticks := s.ticksApart(s.roundNumbers())
		if len(ticks) > 2 {
			return ticks
		}
	}
	return s.evenTicks()
}

// ticksApart returns ticks at values, which ascend. It leaves out values that are too near to the previous tick.
func (s scale) ticksApart(values []float64) (ticks []tick) {
	const minDistance = 0.1 // of the axis
	for _, v := range values {
		if len(ticks) > 0 && s.position(v)-s.position(ticks[len(ticks)-1].value) <= minDistance {
			continue
		}
		ticks = append(ticks, tick{value: v, label: tickNumber(v / s.tickUnit)})
	}
	return ticks
}

// roundNumbers returns the values on a logarithmic axis that are 1, 2 or 5 times a power of ten. If the axis spans
// several powers, these alone are enough.
func (s scale) roundNumbers() (values []float64) {
	digits := []float64{1, 2, 5}
	if s.high > 300*s.low {
		digits = []float64{1}
	}
	exponent := int(math.Floor(math.Log10(s.low / s.tickUnit)))
	for math.Pow10(exponent)*s.tickUnit <= s.high {
		for _, digit := range digits {
			v := digit * math.Pow10(exponent) * s.tickUnit
			if v >= s.low && v <= s.high {
				values = append(values, v)
			}
		}
		exponent++
	}
	return values
}

// evenTicks returns up to seven multiples of a round step.
func (s scale) evenTicks() (ticks []tick) {
	const rounding = 1e-9 // so that a tick at an end of the axis is on it
	low := s.low / s.tickUnit
	high := s.high / s.tickUnit
	step := roundStep(s.axis.Unit, high-low)
	for n := math.Ceil(low/step - rounding); n*step <= high+step*rounding; n++ {
		label := tickNumber(n * step)
		if s.axis.Unit == Time {
			label = tickTime(n*step, step)
		}
		ticks = append(ticks, tick{value: n * step * s.tickUnit, label: label})
	}
	return ticks
}

// roundStep returns the least round step that fits at most 6.5 times in a length. A round step is 1, 2 or 5 times a
// power of ten, or a round time.
func roundStep(unit Unit, length float64) float64 {
	const maxSteps = 6.5
	power := math.Pow10(int(math.Floor(math.Log10(length / 6))))
	steps := []float64{power, 2 * power, 5 * power, 10 * power}
	if unit == Time {
		const minute, hour, day = 60, 3600, 86400
		days := day * math.Ceil(length/day/6)
		steps = []float64{
			1, 2, 5, 10, 30, minute, 2 * minute, 5 * minute, 15 * minute, 30 * minute,
			hour, 3 * hour, 6 * hour, 12 * hour, days,
		}
	}
	isLongEnough := func(step float64) bool { return length/step <= maxSteps }
	return steps[slices.IndexFunc(steps, isLongEnough)]
}

// tickNumber writes a number with up to nine decimals.
func tickNumber(v float64) string {
	rounded := math.Round(v*1e9) / 1e9
	return humanize.Commaf(rounded + 0) // 0 instead of -0
}

// tickTime writes a time, in seconds since 1970, in the precision of a step.
func tickTime(v, step float64) string {
	const minute, day = 60, 86400
	layout := "15:04"
	switch {
	case step < minute:
		layout = "15:04:05"
	case step >= day:
		layout = "Jan 2"
	}
	return time.Unix(int64(v), 0).UTC().Format(layout)
}
