package plot

import (
	"math"
	"slices"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/go-analyze/charts/chartdraw"

	"github.com/llm-prober/prober/internal/format"
)

// farthest is the largest magnitude that is drawn, and its inverse the least above zero on a logarithmic axis.
const farthest = 1e12

func (a Axis) placed(v float64) bool {
	return math.Abs(v) <= farthest && (!a.Log || v >= 1/farthest)
}

// A scale is the range of an axis, as the library asks for it, whose own logarithmic range draws nothing below 1.
type scale struct {
	chartdraw.ContinuousRange
	Axis
	size   float64   // of the unit of the ticks, in that of the values
	unit   string    // of the ticks, for the title
	values []float64 // of the points, in increasing order
}

// scaleOf is the scale for one value at least. One of durations is logarithmic where the largest is ten times the median.
func scaleOf(a Axis, values []float64) *scale {
	s := &scale{Axis: a, values: slices.Sorted(slices.Values(values))}
	low, high := s.values[0], s.values[len(values)-1]
	s.Log = a.Log || a.Unit == Second && low > 1/farthest && high > 10*s.values[len(values)/2]
	s.Min, s.Max = s.span(low, high)
	s.size, s.unit = a.measure(max(math.Abs(s.Min), math.Abs(s.Max)))
	return s
}

// span is from where to where the axis goes for values from low to high: a little further. A linear axis begins at zero if less
// than 40% of it would be empty then; else it spans a fifth of its largest value at least, and a logarithmic one a factor of two.
func (a Axis) span(low, high float64) (from, to float64) {
	switch {
	case a.Log:
		middle := math.Sqrt(low) * math.Sqrt(high)
		low, high = min(low, middle/math.Sqrt2), max(high, middle*math.Sqrt2)
		more := math.Pow(high/low, 0.03)
		return low / more, high * more
	case a.Unit == Share:
		return 0, 1
	case a.Unit != Time && low >= 0 && low < high*0.4:
		return 0, high * 1.04
	}
	least := max(math.Abs(low), math.Abs(high)) / 5
	if a.Unit == Time || least < 1/farthest {
		least = 1
	}
	lacking := max(0, least-(high-low)) / 2
	more := max(least, high-low) * 0.04
	return low - lacking - more, high + lacking + more
}

func (a Axis) measure(most float64) (size float64, name string) {
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

// title is what the axis means, with its unit; of times with the first day.
func (s *scale) title() string {
	title := format.Clean(s.Label)
	if s.unit != "" {
		title += " (" + s.unit + ")"
	}
	if s.Log {
		title += " (log)"
	}
	if s.Unit == Time {
		title += " from " + time.Unix(int64(s.values[0]), 0).UTC().Format(time.DateOnly)
	}
	return title
}

// at is the place of v: 0 at the low end, 1 at the high one.
func (s *scale) at(v float64) float64 {
	if s.Log {
		return math.Log(v/s.Min) / math.Log(s.Max/s.Min)
	}
	return (v - s.Min) / (s.Max - s.Min)
}

// Translate is the place of v in units of the drawing.
func (s *scale) Translate(v float64) int { return int(math.Round(s.at(v) * float64(s.Domain))) }

// GetTicks are what the axis shows.
func (s *scale) GetTicks(chartdraw.ValueFormatter) []chartdraw.Tick {
	if s.Values {
		return s.apart(s.values)
	}
	if s.Log {
		if ticks := s.apart(s.powers()); len(ticks) > 2 {
			return ticks
		}
	}
	return s.even()
}

// apart are ticks at the values that are far enough from the one before.
func (s *scale) apart(values []float64) (ticks []chartdraw.Tick) {
	for _, v := range values {
		if len(ticks) == 0 || s.at(v)-s.at(ticks[len(ticks)-1].Value) > 0.1 {
			ticks = append(ticks, chartdraw.Tick{Value: v, Label: number(v / s.size)})
		}
	}
	return ticks
}

func (s *scale) powers() (values []float64) {
	digits := []float64{1, 2, 5}
	if s.Max > 300*s.Min {
		digits = []float64{1}
	}
	for n := math.Floor(math.Log10(s.Min / s.size)); math.Pow10(int(n))*s.size <= s.Max; n++ {
		for _, digit := range digits {
			if v := digit * math.Pow10(int(n)) * s.size; v >= s.Min && v <= s.Max {
				values = append(values, v)
			}
		}
	}
	return values
}

// even are the multiples of a round step, which is 1, 2 or 5 times a power of ten, or a round time: up to seven.
func (s *scale) even() (ticks []chartdraw.Tick) {
	low, high := s.Min/s.size, s.Max/s.size
	ten := math.Pow10(int(math.Floor(math.Log10((high - low) / 6))))
	steps := []float64{ten, 2 * ten, 5 * ten, 10 * ten}
	if s.Unit == Time {
		days := 86400 * math.Ceil((high-low)/86400/6)
		steps = []float64{1, 2, 5, 10, 30, 60, 120, 300, 900, 1800, 3600, 10800, 21600, 43200, days}
	}
	step := steps[slices.IndexFunc(steps, func(step float64) bool { return (high-low)/step <= 6.5 })]
	for n := math.Ceil(low/step - 1e-9); n*step <= high+step*1e-9; n++ {
		ticks = append(ticks, chartdraw.Tick{Value: n * step * s.size, Label: s.label(n*step, step)})
	}
	return ticks
}

func (s *scale) label(v, step float64) string {
	layout := "15:04"
	switch {
	case s.Unit != Time:
		return number(v)
	case step < 60:
		layout = "15:04:05"
	case step >= 86400:
		layout = "Jan 2"
	}
	return time.Unix(int64(v), 0).UTC().Format(layout)
}

// number writes a tick, to nine decimals; adding 0 makes 0 of -0.
func number(v float64) string { return humanize.Commaf(math.Round(v*1e9)/1e9 + 0) }
