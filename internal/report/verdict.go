package report

import (
	"fmt"
	"math"

	"github.com/llm-prober/prober/internal/format"
	"github.com/llm-prober/prober/internal/stats"
)

// Verdict says in words what l shows of b against a: "b is 2.3 to 2.9 times slower than a". Percentages are relative to
// a. For TPOT it adds how fast both decode. The names are those that the reader knows. It has no full stop.
func Verdict(l Line, a, b string) string {
	words := differenceVerdict(l, a, b)
	if l.Metric == "TPOT" && l.A > 0 && l.B > 0 {
		words += fmt.Sprintf("; %s decodes %s tokens/s, %s %s", a, tokensPerSecond(l.A), b, tokensPerSecond(l.B))
	}
	return words
}

// tokensPerSecond returns how many tokens a second of decoding brings.
func tokensPerSecond(tpot stats.Number) string { return format.Digits(1 / float64(tpot)) }

// differenceVerdict says which of a and b is slower and by how much, or that it is not known.
func differenceVerdict(l Line, a, b string) string {
	if !l.Bounded() {
		return fmt.Sprintf("inconclusive: n=%d is too few, %d are needed", l.Pairs, l.Needed)
	}
	low, center, high := logOf(l.Ratio.Low), logOf(l.Ratio.Center), logOf(l.Ratio.High)
	switch {
	case l.Shown && high < 0: // b is faster; the smaller change is said first
		return b + " is " + changeText(center, high, low) + " than " + a
	case l.Shown:
		return b + " is " + changeText(center, low, high) + " than " + a
	}
	return fmt.Sprintf("no difference shown at n=%d (%s is between %s and %s than %s)",
		l.Pairs, b, changeText(low, low, low), changeText(high, high, high), a)
}

// logOf returns the logarithm of a ratio of B to A. Above 0, B is slower.
func logOf(ratio stats.Number) float64 { return math.Log(float64(ratio)) }

// factorFrom is the ratio from which on a change is written as a factor instead of a percentage.
const factorFrom = 1.5

// changeText writes a change between two bounds: "3.1% to 3.5% slower", "2.3 to 2.9 times faster". All three are
// logarithms of ratios. The center decides on the unit and the direction.
func changeText(center, least, most float64) string {
	direction := " slower"
	if center < 0 {
		direction = " faster"
	}
	if math.Exp(math.Abs(center)) >= factorFrom {
		return rangeText(factorOfLog(least), factorOfLog(most)) + " times" + direction
	}
	return rangeText(percentOfLog(least), percentOfLog(most)) + direction
}

// percentOfLog writes a change as a percentage without a sign.
func percentOfLog(logarithm float64) string { return format.Percent(math.Abs(math.Exp(logarithm) - 1)) }

// factorOfLog writes a change as a factor above 1: "1.04", "2.3", "12".
func factorOfLog(logarithm float64) string {
	factor := math.Exp(math.Abs(logarithm))
	switch {
	case factor < 1.095:
		return fmt.Sprintf("%.2f", factor)
	case factor < 9.95:
		return fmt.Sprintf("%.1f", factor)
	}
	return fmt.Sprintf("%.0f", factor)
}

// rangeText joins two bounds, or returns one of them if both read alike.
func rangeText(low, high string) string {
	if low == high {
		return low
	}
	return low + " to " + high
}
