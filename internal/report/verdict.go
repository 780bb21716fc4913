package report

import (
	"fmt"
	"math"

	"github.com/llm-prober/prober/internal/format"
)

// Verdict says in words what l shows of b against a: "b is 2.3 to 2.9 times slower than a". Percentages are relative to
// a. Of TPOT it also says how fast both decode. The names are those that the reader knows; it ends without a stop.
func Verdict(l Line, a, b string) string {
	words := judgement(l, a, b)
	if l.Metric == "TPOT" && l.A > 0 && l.B > 0 {
		decodes := func(tpot Number) string { return format.Digits(1 / float64(tpot)) }
		words += fmt.Sprintf("; %s decodes %s tokens/s, %s %s", a, decodes(l.A), b, decodes(l.B))
	}
	return words
}

func judgement(l Line, a, b string) string {
	if !l.bounded() {
		return fmt.Sprintf("inconclusive: n=%d is too few, %d are needed", l.Pairs, l.Needed)
	}
	change := func(v Number) float64 { return math.Log(float64(v)) } // above 0, B is slower
	low, center, high := change(l.Ratio.Low), change(l.Ratio.Center), change(l.Ratio.High)
	switch {
	case l.Shown && high < 0: // the end that is closer to no change is said first
		return b + " is " + told(center, high, low) + " than " + a
	case l.Shown:
		return b + " is " + told(center, low, high) + " than " + a
	}
	return fmt.Sprintf("no difference shown at n=%d (%s is between %s and %s than %s)",
		l.Pairs, b, told(low, low, low), told(high, high, high), a)
}

// factorFrom is the ratio from which on a change is written as a factor, not in per cent.
const factorFrom = 1.5

// told is a change between two ends, all logarithms of ratios, in the unit and direction of v: "3.1% to 3.5% slower".
func told(v, least, most float64) string {
	large, direction := math.Exp(math.Abs(v)) >= factorFrom, " slower"
	amount := func(v float64) string {
		if large {
			return times(math.Exp(math.Abs(v)))
		}
		return format.Percent(math.Abs(math.Exp(v) - 1))
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
