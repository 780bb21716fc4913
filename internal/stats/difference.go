// Package stats holds the statistics of the prober: how values are spread ([Distribution]), and how much longer B takes
// than A ([Difference]). It is pure code, and knows neither probes nor how results are written; internal/report does.
//
// difference.go explains a comparison by an example: read it first. interval.go has the interval of a median,
// correlation.go how much wider it becomes if pairs resemble their neighbours. usual.go holds what is usual for one
// target ([Usual]).
package stats

import "math"

// How a comparison decides, by an example. ExampleCompare runs it.
//
// Two targets answered the same prompt in each of eight rounds. Their TTFT, in milliseconds:
//
//	round     1    2    3    4    5    6    7    8
//	A       800  950  820  900  760  810  700  790
//	B       850  990  880  945  815  850  745  835
//	B − A    50   40   60   45   55   40   45   45
//
// Prompts are hard or easy: A alone takes from 700 to 950 ms, much more than the targets differ by. In a round both got
// the same prompt, so the differences within rounds vary little. A paired comparison looks only at these differences,
// not at the two columns. Their median is 45 ms.
//
// Is that chance? If A and B were equal, each difference would be above or below 0 like heads or tails, and all eight
// would be on one side in 2 of 2⁸ cases, which is 0.8%. In the same way, the true median lies between the smallest and
// the largest of eight differences (40 and 60 ms) with 99.2% confidence, whatever their distribution is. With more
// rounds, the interval reaches from, say, the fifth smallest to the fifth largest: more pairs make it narrower.
// 0 is not in it, so the difference is shown: B is slower.
//
// Why so sure? A run looks at four quantities (TTFT, TPOT, ITL, E2EL). If each had 95% confidence, up to one in five
// runs of equal targets would show a difference somewhere. So the 5% are divided among all intervals of the run
// (Bonferroni): each of four needs
//
//	1 − (1 − 0.95) / 4 = 98.75%
//
// Eight rounds have 99.2%, which is enough; seven have 1 − 2/2⁷ = 98.4%, which is not. So eight is [PairsNeeded] of
// four intervals.
//
// A ladder of five steps makes five comparisons, 20 intervals, each of which needs 99.75%: ten pairs. Where a step has
// 16 requests under way together, 16 in a row are averaged to one pair, so that step needs 160 requests to each target.
//
// The same interval of the logarithms of B / A gives the ratio of the verdict: "B is 4.2% to 7.3% slower than A".
//
// All this is so if the eight differences are independent. Here they may be: a large one is followed by a small one.
// If large ones followed each other, the interval would reach farther: correlation.go says how far.

// Confidence is that of all intervals of a run together: in 95 of 100 runs, all of them hold what is true.
const Confidence = 0.95

// A Difference is how much longer B takes than A, by pairs of measurements. All values but ratios are in seconds.
type Difference struct {
	Pairs  int    `json:"pairs"`
	Needed int    `json:"pairs_needed"` // with fewer, no difference can be shown: see [PairsNeeded]
	A      Number `json:"a_median_seconds"`
	B      Number `json:"b_median_seconds"`

	// Seconds is the median of B − A within a pair. It is not the difference of the medians A and B: even their signs may
	// disagree.
	Seconds Interval `json:"paired_difference_seconds"`

	// Ratio is the median of B / A within a pair.
	Ratio Interval `json:"paired_ratio"`

	// Correlation is how much each pair may resemble the one before, for which the intervals are wider: from 0, not at
	// all, to 1. It is NaN if the pairs are too few.
	Correlation Number `json:"correlation"`

	// HiddenByCorrelation says that no difference is shown, but would be if the pairs were independent.
	HiddenByCorrelation bool `json:"hidden_by_correlation"`

	Shown bool `json:"shown"` // there is a difference: the interval of the ratio does not contain 1
}

// Bounded reports whether d has enough pairs for an interval.
func (d Difference) Bounded() bool { return d.Pairs >= d.Needed }

// SlowerBy reports whether B takes longer than A for certain, and by at least this share of A.
func (d Difference) SlowerBy(share float64) bool {
	return d.Ratio.Low > 1 && float64(d.Ratio.Low)-1 >= share
}

// PairsNeeded returns how many pairs each of some intervals of a run needs to show any difference: the least number n
// for which an interval from the smallest to the largest difference has the confidence of each,
//
//	2 / 2ⁿ ≤ (1 − [Confidence]) / intervals
func PairsNeeded(intervals int) int {
	return int(math.Ceil(math.Log2(2 / errorOfEach(intervals))))
}

// errorOfEach returns how often each of some intervals may be wrong, for all of them together to have [Confidence].
func errorOfEach(intervals int) float64 { return (1 - Confidence) / float64(max(intervals, 1)) }

// Compare compares several quantities that were measured in the same pairs, in the order of time. Each quantity has at
// least one pair, and only pairs of positive numbers: see [GroupMeans]. The last argument is how many comparisons the
// run makes, this one included. They share its [Confidence].
func Compare(quantities [][]Pair, comparisons int) []Difference {
	intervals := len(quantities) * max(comparisons, 1)
	needed := PairsNeeded(intervals)
	correlations := make([]float64, len(quantities)) // 0 of those with too few pairs for an estimate
	sum := 0.0
	estimated := 0
	for i, pairs := range quantities {
		if len(pairs) >= needed {
			correlations[i] = correlationOfNeighbours(logRatios(pairs))
			sum += correlations[i]
			estimated++
		}
	}
	var list []Difference
	for i, pairs := range quantities {
		d := Difference{Pairs: len(pairs), Needed: needed, Correlation: Number(math.NaN())}
		if d.Bounded() {
			mean := sum / float64(estimated)
			d.Correlation = Number(boundOfCorrelation(max(correlations[i], mean), len(pairs)))
		}
		d.compare(pairs, errorOfEach(intervals))
		list = append(list, d)
	}
	return list
}

// compare sets the medians of d and its intervals, each of which may be wrong with this probability.
func (d *Difference) compare(pairs []Pair, probability float64) {
	var a, b, differences []float64
	for _, p := range pairs {
		a = append(a, p.A)
		b = append(b, p.B)
		differences = append(differences, p.B-p.A)
	}
	d.A = Number(Median(a))
	d.B = Number(Median(b))
	logarithms := logRatios(pairs)
	reach := math.Inf(1)
	shownIfIndependent := false
	if d.Bounded() {
		independent := reachOfIndependent(len(pairs), probability)
		narrow := medianInterval(logarithms, independent)
		shownIfIndependent = narrow.Low > 0 || narrow.High < 0
		widened := independent * math.Sqrt(varianceInflation(float64(d.Correlation), len(pairs)))
		reach = min(widened, farthestReach(len(pairs), probability))
	}
	d.Seconds = medianInterval(differences, reach)
	d.Ratio = medianInterval(logarithms, reach).ratio()
	d.Shown = d.Ratio.Low > 1 || d.Ratio.High < 1
	d.HiddenByCorrelation = shownIfIndependent && !d.Shown
	// The two intervals must agree about the sign. The ratio decides, because it does not depend on how long a prompt is.
	switch {
	case d.Ratio.Low > 1:
		d.Seconds.Low = max(d.Seconds.Low, 0)
	case d.Ratio.High < 1:
		d.Seconds.High = min(d.Seconds.High, 0)
	default:
		d.Seconds.Low = min(d.Seconds.Low, 0)
		d.Seconds.High = max(d.Seconds.High, 0)
	}
}

// logRatios returns the logarithm of B / A of each pair.
func logRatios(pairs []Pair) (logarithms []float64) {
	for _, p := range pairs {
		logarithms = append(logarithms, math.Log(p.B/p.A))
	}
	return logarithms
}
