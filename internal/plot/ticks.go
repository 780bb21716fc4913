package plot

import (
	"math"
	"slices"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/go-analyze/charts/chartdraw"
)

// GetTicks returns the values that have a label on the axis.
func (s *scale) GetTicks(chartdraw.ValueFormatter) []chartdraw.Tick {
	if s.Values {
		return s.ticksApart(s.values)
	}
	if s.Log {
		ticks := s.ticksApart(s.roundNumbers())
		if len(ticks) > 2 {
			return ticks
		}
	}
	return s.evenTicks()
}

// ticksApart returns ticks at values, which ascend, without those that are too near to the previous tick.
func (s *scale) ticksApart(values []float64) (ticks []chartdraw.Tick) {
	const minDistance = 0.1 // of the axis
	for _, v := range values {
		if len(ticks) > 0 && s.position(v)-s.position(ticks[len(ticks)-1].Value) <= minDistance {
			continue
		}
		ticks = append(ticks, chartdraw.Tick{Value: v, Label: tickNumber(v / s.tickUnit)})
	}
	return ticks
}

// roundNumbers returns the values on the axis that are 1, 2 or 5 times a power of ten. If it spans several powers,
// these alone are enough.
func (s *scale) roundNumbers() (values []float64) {
	digits := []float64{1, 2, 5}
	if s.Max > 300*s.Min {
		digits = []float64{1}
	}
	exponent := int(math.Floor(math.Log10(s.Min / s.tickUnit)))
	for math.Pow10(exponent)*s.tickUnit <= s.Max {
		for _, digit := range digits {
			v := digit * math.Pow10(exponent) * s.tickUnit
			if v >= s.Min && v <= s.Max {
				values = append(values, v)
			}
		}
		exponent++
	}
	return values
}

// evenTicks returns up to seven multiples of a round step.
func (s *scale) evenTicks() (ticks []chartdraw.Tick) {
	const rounding = 1e-9 // so that a tick at an end of the axis is on it
	low, high := s.Min/s.tickUnit, s.Max/s.tickUnit
	step := s.roundStep(high - low)
	for n := math.Ceil(low/step - rounding); n*step <= high+step*rounding; n++ {
		ticks = append(ticks, chartdraw.Tick{Value: n * step * s.tickUnit, Label: s.tickText(n*step, step)})
	}
	return ticks
}

// roundStep returns the least round step that fits at most 6.5 times in a length. A round step is 1, 2 or 5 times a
// power of ten, or a round time.
func (s *scale) roundStep(length float64) float64 {
	const maxSteps = 6.5
	power := math.Pow10(int(math.Floor(math.Log10(length / 6))))
	steps := []float64{power, 2 * power, 5 * power, 10 * power}
	if s.Unit == Time {
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

// tickText writes a tick as a number, or as a time in the precision of a step.
func (s *scale) tickText(v, step float64) string {
	const minute, day = 60, 86400
	layout := "15:04"
	switch {
	case s.Unit != Time:
		return tickNumber(v)
	case step < minute:
		layout = "15:04:05"
	case step >= day:
		layout = "Jan 2"
	}
	return time.Unix(int64(v), 0).UTC().Format(layout)
}

// tickNumber writes a number with up to nine decimals.
func tickNumber(v float64) string {
	rounded := math.Round(v*1e9) / 1e9
	return humanize.Commaf(rounded + 0) // 0 instead of -0
}
