package plot

import (
	"math"
	"slices"
	"time"

	"github.com/go-analyze/charts/chartdraw"

	"github.com/llm-prober/prober/internal/format"
)

// maxMagnitude is the largest magnitude that is drawn. Its inverse is the least value on a logarithmic axis.
const maxMagnitude = 1e12

// hasPlace reports whether v can be drawn on the axis.
func (a Axis) hasPlace(v float64) bool {
	return math.Abs(v) <= maxMagnitude && (!a.Log || v >= 1/maxMagnitude)
}

// A scale is an axis with its ends. It implements the library's Range, whose own logarithmic one draws nothing below 1.
type scale struct {
	chartdraw.ContinuousRange
	Axis
	tickUnit float64   // the unit of the ticks, in that of the values: 0.001 if values are in s and ticks in ms
	unitName string    // of the ticks, for the title
	values   []float64 // of the points, ascending
}

// scaleOf returns the scale for at least one value. An axis of durations becomes logarithmic if the largest is more
// than ten times the median: otherwise most values would be squeezed together.
func scaleOf(a Axis, values []float64) *scale {
	s := &scale{Axis: a, values: slices.Sorted(slices.Values(values))}
	low, median, high := s.values[0], s.values[len(values)/2], s.values[len(values)-1]
	hasLongTail := a.Unit == Second && low > 1/maxMagnitude && high > 10*median
	s.Log = a.Log || hasLongTail
	s.Min, s.Max = s.ends(low, high)
	s.tickUnit, s.unitName = a.unitOfTicks(max(math.Abs(s.Min), math.Abs(s.Max)))
	return s
}

// ends returns the ends of the axis for values from low to high: a little further apart than these.
func (a Axis) ends(low, high float64) (from, to float64) {
	switch {
	case a.Log:
		return logarithmicEnds(low, high)
	case a.Unit == Share:
		return 0, 1
	case a.Unit != Time && low >= 0 && low < high*0.4: // to begin at 0 leaves less than 40% empty
		return 0, high * 1.04
	}
	minLength := max(math.Abs(low), math.Abs(high)) / 5 // of a shorter axis, noise would fill the chart
	if a.Unit == Time || minLength < 1/maxMagnitude {
		minLength = 1
	}
	missing := max(0, minLength-(high-low)) / 2 // on each side
	margin := max(minLength, high-low) * 0.04
	return low - missing - margin, high + missing + margin
}

// logarithmicEnds returns the ends of a logarithmic axis, which spans at least a factor of two.
func logarithmicEnds(low, high float64) (from, to float64) {
	middle := math.Sqrt(low) * math.Sqrt(high)
	low = min(low, middle/math.Sqrt2)
	high = max(high, middle*math.Sqrt2)
	margin := math.Pow(high/low, 0.03)
	return low / margin, high * margin
}

// unitOfTicks returns the unit of the ticks of an axis with values up to most, and its name.
func (a Axis) unitOfTicks(most float64) (unit float64, name string) {
	switch {
	case a.Unit == Share:
		return 0.01, "%"
	case a.Unit == Second && most < 0.001:
		return 1e-6, "µs"
	case a.Unit == Second && most < 1:
		return 1e-3, "ms"
	}
	return 1, string(a.Unit)
}

// title returns the label of the axis with its unit, and for an axis of time with its first day.
func (s *scale) title() string {
	title := format.Clean(s.Label)
	if s.unitName != "" {
		title += " (" + s.unitName + ")"
	}
	if s.Log {
		title += " (log)"
	}
	if s.Unit == Time {
		title += " from " + time.Unix(int64(s.values[0]), 0).UTC().Format(time.DateOnly)
	}
	return title
}

// position returns the place of v on the axis: 0 at its low end, 1 at its high end.
func (s *scale) position(v float64) float64 {
	if s.Log {
		return math.Log(v/s.Min) / math.Log(s.Max/s.Min)
	}
	return (v - s.Min) / (s.Max - s.Min)
}

// Translate returns the place of v in units of the drawing.
func (s *scale) Translate(v float64) int { return int(math.Round(s.position(v) * float64(s.Domain))) }
