package stats

import (
	"cmp"
	"math"
	"slices"
)

// Why a comparison looks at the order of the pairs, by the example of difference.go in another order. It is
// ExampleCompare_correlated.
//
//	round     1    2    3    4    5    6    7    8
//	B − A    45   45   40   40   50   45   60   55
//
// Small differences come first, large ones last. This looks like a disturbance that lasts for several
// rounds. A coin that has just shown heads is then likelier to show heads again, and eight rounds are worth fewer than
// eight independent ones. If they are taken for independent, equals seem to differ: with 20 pairs whose neighbours
// correlate by 0.7, in every second run.
//
// So the interval of the median becomes wider, in three steps:
//
//  1. How much does each pair resemble the one before? The correlation is estimated from the pairs. The estimate is
//     rough (± 0.22 out of 20 pairs), so [marginOfCorrelation] standard errors are added to it. What disturbs one
//     quantity disturbs the others, too. So if the mean of all quantities is larger than a quantity's own estimate, the
//     mean is taken. In the example the correlation may be 0.88.
//  2. How many pairs are worth one independent pair? That follows from the correlation, if a disturbance fades by the
//     same factor from pair to pair (AR(1)): see varianceInflation.
//  3. The interval reaches farther from the median by the square root of that number, even beyond all pairs: see
//     medianInterval. In the example it is from −20 to 120 ms. It contains 0, so no difference is shown.
//
// Three numbers in this are fitted, not derived: 0.7 ([marginOfCorrelation]), 4 ([rangesBeyond]) and the 3 of
// farthestReach. Larger ones mean fewer differences between equals, and fewer real differences that are found. After
// a change of one, measure again what all of them achieve, which takes minutes:
//
//	go test ./internal/stats -run TestTableOfFalseAlarms -long -update
//
// docs/bench.md has that table, and says where it does not hold: a disturbance that lasts longer than all pairs is not
// seen, and one on top of which each pair varies much by itself, or single pairs are far off, is underestimated.

// marginOfCorrelation is how many standard errors are added to an estimated correlation. It is the least with which at
// most 5% of the runs of each cell of TestTableOfFalseAlarms show a difference between equals.
const marginOfCorrelation = 0.7

// correlationOfNeighbours estimates how much each value resembles the one before: 0 if they are independent, 1 if they
// are equal. Values whose order says nothing, because all are equal, are independent. There must be at least 6.
//
// It is the correlation of neighbours' ranks, as normal scores: a single value that is far off would hide it otherwise.
// Of few values it comes out too small, by (1 + 4ρ) / n on average, which is put right (Kendall, Note on bias in the
// estimation of autocorrelation, Biometrika 41, 1954).
func correlationOfNeighbours(values []float64) float64 {
	scores := normalScores(values)
	products := 0.0 // of the scores of neighbours
	squares := 0.0
	for i, s := range scores {
		squares += s * s
		if i > 0 {
			products += s * scores[i-1]
		}
	}
	if squares == 0 {
		return 0
	}
	n := float64(len(values))
	unbiased := (n*products/squares + 1) / (n - 4)
	return max(-1, min(unbiased, 1))
}

// normalScores replaces each value by the one of its rank in a sample of a normal distribution (Blom's scores). Equal
// values have equal scores.
func normalScores(values []float64) []float64 {
	order := make([]int, len(values)) // the indexes of the values, from the smallest value to the largest
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(i, j int) int { return cmp.Compare(values[i], values[j]) })
	scores := make([]float64, len(values))
	for from := 0; from < len(order); {
		to := from + 1
		for to < len(order) && values[order[to]] == values[order[from]] {
			to++
		}
		rank := float64(from+1+to) / 2 // the mean of the ranks of equal values
		probability := (rank - 3.0/8) / (float64(len(values)) + 1.0/4)
		for _, i := range order[from:to] {
			scores[i] = math.Sqrt2 * math.Erfinv(2*probability-1)
		}
		from = to
	}
	return scores
}

// boundOfCorrelation returns a correlation that is hardly exceeded, between 0 and 1, for an estimate out of n values.
func boundOfCorrelation(estimate float64, n int) float64 {
	standardError := math.Sqrt((1 - estimate*estimate) / float64(n))
	return max(0, min(estimate+marginOfCorrelation*standardError, 1))
}

// varianceInflation returns how many of n pairs are worth one independent pair, if the correlation of neighbours is ρ.
// It is the variance of the number of values above their median, relative to that of independent values:
//
//	1 + 2 · Σ (1 − k / n) · r(k), for k from 1 to n − 1
//
// Values that are k pairs apart correlate by ρᵏ. The correlation r(k) of whether they are above the median is smaller,
// for normal values 2/π · arcsin ρᵏ (Sheppard 1899). Example: of 20 pairs with ρ = 0.5, 2.2 are worth one.
func varianceInflation(correlation float64, n int) float64 {
	inflation := 1.0
	power := 1.0
	for k := 1; k < n && power > 1e-9; k++ {
		power *= correlation
		inflation += 2 * (1 - float64(k)/float64(n)) * 2 / math.Pi * math.Asin(power)
	}
	return inflation
}
