package stats

import (
	"math"
	"slices"
)

// lowRank returns the largest rank r, counted from 1, for which the interval from the r-th smallest of n values to the
// r-th largest misses their true median with at most this probability. It is 0 if n is too small for any.
//
// The interval misses the median if fewer than r of n values are on one side of it, which is like fewer than r heads in
// n tosses of a coin.
func lowRank(n int, probability float64) (rank int) {
	missed := 2 * probabilityOfHeads(0, n)
	for missed <= probability && rank < n {
		rank++
		missed += 2 * probabilityOfHeads(rank, n)
	}
	return rank
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

// medianInterval returns the interval of the median of values from the value of a rank to that of the same rank from
// above. It is unbounded if the rank is 0.
func medianInterval(values []float64, rank int) Interval {
	sorted := slices.Sorted(slices.Values(values))
	i := Interval{
		Center: Number(QuantileOf(sorted, P50)),
		Low:    Number(math.Inf(-1)),
		High:   Number(math.Inf(1)),
	}
	if rank > 0 {
		i.Low = Number(sorted[rank-1])
		i.High = Number(sorted[len(sorted)-rank])
	}
	return i
}

// ratio returns the interval of ratios whose logarithms have interval i. Bounds are NaN if they are infinite, or too
// large or small for a float64.
func (i Interval) ratio() Interval {
	exp := func(logarithm Number) Number {
		ratio := Number(math.Exp(float64(logarithm)))
		if ratio == 0 || !Finite(ratio) {
			return Number(math.NaN())
		}
		return ratio
	}
	return Interval{Center: exp(i.Center), Low: exp(i.Low), High: exp(i.High)}
}
