package report

import (
	"fmt"
	"math"

	"github.com/llm-prober/prober/internal/format"
)

// Verdict says in words what l shows of b in relation to a: "b is 2.3 to 2.9
// times slower than a". Percentages are of a. Of TPOT it also says how fast both
// decode. The names are those that the reader knows; it ends without a stop.
func Verdict(l Line, a, b string) string {
	words, c := "", changeOf(l)
	least, most := c.low, c.high
	if math.Abs(least) > math.Abs(most) {
		least, most = most, least
	}
	switch {
	case !l.bounded():
		words = fmt.Sprintf("no difference shown at n=%d, which is too few to show any", l.Pairs)
	case l.Shown:
		words = b + " is " + c.told(c.center, least, most) + " than " + a
	default:
		words = fmt.Sprintf("no difference shown at n=%d (%s is between %s and %s than %s)", l.Pairs, b, c.told(c.low, c.low, c.low), c.told(c.high, c.high, c.high), a)
	}
	if l.Metric == "TPOT" && l.A > 0 && l.B > 0 {
		words += fmt.Sprintf("; %s decodes %s tokens/s, %s %s", a, format.Digits(1/float64(l.A)), b, format.Digits(1/float64(l.B)))
	}
	return words
}

// A change is how B relates to A: in terms of A's time where ratios are known,
// else in seconds. Below zero B is the faster one.
type change struct {
	low, high float64 // logarithms of B / A, or seconds of B − A
	center    float64
	relative  bool
}

func changeOf(l Line) change {
	if r := l.Ratio; finite(r.Low) && finite(r.High) {
		log := func(v Number) float64 { return -math.Log(float64(v)) }
		return change{low: log(r.High), high: log(r.Low), center: log(r.Center), relative: true}
	}
	d := l.Difference
	return change{low: -float64(d.High), high: -float64(d.Low), center: -float64(d.Center)}
}

// fold is from which ratio on a change is told in times, not in per cent.
const fold = 1.5

// told is a change between two ends, the smaller first, in the unit and the direction of v: "3.1% to 3.5% slower".
func (c change) told(v, least, most float64) string {
	large, direction := c.relative && math.Exp(math.Abs(v)) >= fold, " slower"
	amount := func(v float64) string {
		switch {
		case !c.relative:
			return millis(Number(math.Abs(v)))
		case large:
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
