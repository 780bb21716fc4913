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

// reachOfIndependent returns how far an interval of the median of n values must reach, for it to miss their true median
// with at most this probability: from 0, the median itself, to 1, from the smallest to the largest. The values must be
// independent, and at least [PairsNeeded].
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

// probabilityOfHeads returns how likely n tosses of a coin show heads exactly so many times. It takes logarithms,
// because 2ⁿ is too large for a float64 from n = 1,024 on.
func probabilityOfHeads(heads, n int) float64 {
	logFactorial := func(n int) float64 {
		l, _ := math.Lgamma(float64(n) + 1)
		return l
	}
	logWays := logFactorial(n) - logFactorial(heads) - logFactorial(n-heads)
	return math.Exp(logWays - float64(n)*math.Ln2)
}

// rangesBeyond is how far an interval goes beyond its values for each 1 that its reach is above 1. It was found
// together with [marginOfCorrelation].
const rangesBeyond = 4

// farthestReach returns a reach that is far enough for n values, even if neighbours resemble each other very much, as
// long as a disturbance fades by a tenth or more from pair to pair. In that case, the probability is below p that all
// values are on one side of the truth, and farther from it than so many times their range:
//
//	(1 / 2p)^(3 / n) − 1
//
// Example: 2 times for p = 1.25% and 10 values, 0.7 times for 20. The formula is above what was simulated for ρ = 0.9.
func farthestReach(n int, probability float64) float64 {
	ranges := math.Pow(1/(2*probability), 3/float64(n)) - 1
	return 1 + ranges/rangesBeyond
}

// medianInterval returns the interval of the median of values that reaches so far: see reachOfIndependent. Between two
// values it interpolates.
//
// A reach above 1 goes beyond all values, because all values of one long disturbance may lie on one side of the truth.
// For each 1 above 1 the interval extends on both sides by rangesBeyond times the range of the values. Example: values
// from 40 to 60 with a reach of 1.25 have the interval from 20 to 80. An infinite reach has no bounds.
func medianInterval(values []float64, reach float64) Interval {
	sorted := slices.Sorted(slices.Values(values))
	last := len(sorted) - 1
	i := Interval{Median: Number(QuantileOf(sorted, P50))}
	switch {
	case math.IsInf(reach, 1):
		i.Low = Number(math.Inf(-1))
		i.High = Number(math.Inf(1))
		return i
	case reach > 1:
		beyond := rangesBeyond * (reach - 1) * (sorted[last] - sorted[0])
		i.Low = Number(sorted[0] - beyond)
		i.High = Number(sorted[last] + beyond)
		return i
	}
	fromEnd := math.Round(float64(last)/2*(1-reach)*1e9) / 1e9 // in ranks; a whole one stays whole
	below := int(fromEnd)
	weight := fromEnd - float64(below)
	between := func(outer, inner float64) Number { return Number(outer + weight*(inner-outer)) }
	inner := min(below+1, last)
	i.Low = between(sorted[below], sorted[inner])
	i.High = between(sorted[last-below], sorted[last-inner])
	return i
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
