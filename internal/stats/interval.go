package stats

import (
	"math"
	"slices"
)

// An Interval is a median over pairs, and bounds of the true median. If the pairs are too few, the bounds are infinite
// or NaN.
type Interval struct {
	Median Number `json:"median"`
	Low    Number `json:"low"`
	High   Number `json:"high"`
}

// The reach of an interval is how far it goes from the median, to both sides:
//
//	0      it is the median alone
//	0.5    half of the way, in ranks: of nine sorted values, from the third to the seventh
//	1      from the smallest value to the largest
//	1.25   beyond all values, on each side by as much as the largest is above the smallest
//	+Inf   it has no bounds
//
// Example: values from 40 to 60 have an interval from 40 to 60 at reach 1, and from 20 to 80 at 1.25.

// reachOfIndependent returns how far an interval of the median of n values must reach, for it to miss their true median
// with at most this probability. It is at most 1. The values must be independent, and at least [PairsNeeded].
//
// An interval from the r-th smallest value to the r-th largest misses the median if fewer than r values are on one side
// of it, which is like fewer than r heads in n tosses of a coin.
func reachOfIndependent(n int, probability float64) float64 {
	rank := 0
	missed := 2 * probabilityOfHeads(0, n)
	for missed <= probability && rank < n/2 {
		rank++
		missed += 2 * probabilityOfHeads(rank, n)
	}
	middle := float64(n+1) / 2
	return (middle - float64(rank)) / (middle - 1)
}

// probabilityOfHeads returns how likely n tosses of a coin show heads exactly this often. It takes logarithms,
// because 2ⁿ is too large for a float64 from n = 1,024 on.
func probabilityOfHeads(heads, n int) float64 {
	logFactorial := func(n int) float64 {
		logarithm, _ := math.Lgamma(float64(n) + 1)
		return logarithm
	}
	logWays := logFactorial(n) - logFactorial(heads) - logFactorial(n-heads)
	return math.Exp(logWays - float64(n)*math.Ln2)
}

// rangesBeyond is how many times the range of the values, from the smallest to the largest, an interval goes beyond
// them for each 1 that its reach is above 1. It was fitted together with [marginOfCorrelation]: no theory gives it,
// because values that are all on one side of the truth do not tell how far away it is.
const rangesBeyond = 4

// farthestReach returns the reach beyond which no interval of n values must go, as long as a disturbance fades by a
// tenth or more from pair to pair (ρ ≤ 0.9). Without this limit, intervals of few pairs that resemble each other would
// be several times as wide.
//
// In simulations with ρ = 0.9, it had a probability below p that all n values were on one side of the truth, and
// farther from it than this many times their range:
//
//	(1 / 2p)^(3 / n) − 1
//
// The 3 was fitted, for the formula to be above all that was simulated. Example: 2 times the range for p = 1.25% and 10
// values, 0.7 times for 20.
func farthestReach(n int, probability float64) float64 {
	ranges := math.Pow(1/(2*probability), 3/float64(n)) - 1
	return 1 + ranges/rangesBeyond
}

// medianInterval returns the interval of the median of values with this reach. Between two values it interpolates.
//
// It may go beyond all values, because all values of one long disturbance may lie on one side of the truth.
func medianInterval(values []float64, reach float64) Interval {
	sorted := slices.Sorted(slices.Values(values))
	last := len(sorted) - 1
	median := Number(QuantileOf(sorted, P50))
	if math.IsInf(reach, 1) {
		return Interval{Median: median, Low: Number(math.Inf(-1)), High: Number(math.Inf(1))}
	}
	if reach > 1 {
		beyond := rangesBeyond * (reach - 1) * (sorted[last] - sorted[0])
		return Interval{Median: median, Low: Number(sorted[0] - beyond), High: Number(sorted[last] + beyond)}
	}
	fromEnd := math.Round(float64(last)/2*(1-reach)*1e9) / 1e9 // in ranks; a whole one stays whole
	outer := int(fromEnd)
	inner := min(outer+1, last)
	weight := fromEnd - float64(outer) // of the inner of two values, between which a bound is
	return Interval{
		Median: median,
		Low:    Number(sorted[outer] + weight*(sorted[inner]-sorted[outer])),
		High:   Number(sorted[last-outer] + weight*(sorted[last-inner]-sorted[last-outer])),
	}
}

// ratio returns the interval of ratios whose logarithms have interval i. A bound that is too large or small for a
// float64 is NaN.
func (i Interval) ratio() Interval {
	exp := func(logarithm Number) Number {
		ratio := Number(math.Exp(float64(logarithm)))
		if ratio == 0 || !Finite(ratio) {
			return Number(math.NaN())
		}
		return ratio
	}
	return Interval{Median: exp(i.Median), Low: exp(i.Low), High: exp(i.High)}
}
