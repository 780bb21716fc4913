package report

import (
	"fmt"
	"math"

	"github.com/llm-prober/prober/internal/format"
)

// Verdict says in words what l shows of b in relation to a: "b is 2.3 to 2.9 times slower than a". Percentages are of
// a. Of TPOT it also says how fast both decode. The names are those that the reader knows; it ends without a stop.
func Verdict(l Line, a, b string) string {
	change := func(v Number) float64 { return -math.Log(float64(v)) } // of B / A; below zero B is the faster one
	words, low, high := "", change(l.Ratio.High), change(l.Ratio.Low)
	switch {
	case !l.bounded():
		words = fmt.Sprintf("no difference shown at n=%d, which is too few to show any", l.Pairs)
	case l.Shown && low < 0: // the end that is closer to none is said first
		words = b + " is " + told(change(l.Ratio.Center), high, low) + " than " + a
	case l.Shown:
		words = b + " is " + told(change(l.Ratio.Center), low, high) + " than " + a
	default:
		words = fmt.Sprintf("no difference shown at n=%d (%s is between %s and %s than %s)", l.Pairs, b, told(low, low, low), told(high, high, high), a)
	}
	if l.Metric == "TPOT" && l.A > 0 && l.B > 0 {
		words += fmt.Sprintf("; %s decodes %s tokens/s, %s %s", a, format.Digits(1/float64(l.A)), b, format.Digits(1/float64(l.B)))
	}
	return words
}

// fold is from which ratio on a change is told in times, not in per cent.
const fold = 1.5

// told is a change between two ends, all logarithms of ratios, in the unit and direction of v: "3.1% to 3.5% slower".
func told(v, least, most float64) string {
	large, direction := math.Exp(math.Abs(v)) >= fold, " slower"
	amount := func(v float64) string {
		if large {
			return times(math.Exp(math.Abs(v)))
		}
		return percent(math.Abs(math.Exp(v) - 1))
	}
	if v < 0 {
		direction = " faster"
	}
	if large {
		direction = " times" + direction
	}
	return join(amount(least), amount(most)) + direction
}

// join is a range, or one text where both ends read alike.
func join(low, high string) string {
	if low == high {
		return low
	}
	return low + " to " + high
}

// times writes a factor: "1.04", "2.3", "12".
func times(v float64) string {
	switch {
	case v < 1.095:
		return fmt.Sprintf("%.2f", v)
	case v < 9.95:
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.0f", v)
}

// percent writes a share: "0.04%", "3.1%".
func percent(v float64) string {
	switch v *= 100; {
	case v > 0 && v < 0.005:
		return "under 0.01%"
	case v > 0 && v < 0.095:
		return fmt.Sprintf("%.2f%%", v)
	}
	return fmt.Sprintf("%.1f%%", v)
}
