// Package stats holds the statistics of the prober: how values are spread ([Distribution]), and how much longer B takes
// than A ([Difference]). It is pure code, and knows neither probes nor how results are written; internal/report does.
package stats

import "math"

// How a comparison decides, by an example. ExampleCompare runs it.
//
// Two targets answered the same prompt in each of eight rounds. Their TTFT, in milliseconds:
//
//	round     1    2    3    4    5    6    7    8
//	A       800  950  700  820  790  900  760  810
//	B       850  990  745  880  835  945  815  850
//	B − A    50   40   45   60   45   45   55   40
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
// Eight rounds have 99.2%, which is enough; seven have 1 − 2/2⁷ = 98.4%, which is not. So eight is [PairsNeeded] of four
// intervals.
//
// A ladder of five steps makes five comparisons, 20 intervals, each of which needs 99.75%: ten pairs. Where a step has
// 16 requests under way together, 16 in a row are averaged to one pair, so that step needs 160 requests to each target.
//
// The same interval of the logarithms of B / A gives the ratio of the verdict: "B is 4.2% to 7.3% slower than A".

// Confidence is that of all intervals of a run together: in 95 of 100 runs, all of them hold what is true.
const Confidence = 0.95

// PairsNeeded returns how many pairs each of some intervals of a run needs to show any difference: the least number n
// for which an interval from the smallest to the largest difference has the confidence of each,
//
//	2 / 2ⁿ ≤ (1 − [Confidence]) / intervals
func PairsNeeded(intervals int) int {
	return int(math.Ceil(math.Log2(2 / errorOfEach(intervals))))
}

// errorOfEach returns how often each of some intervals may be wrong, for all of them together to have [Confidence].
func errorOfEach(intervals int) float64 { return (1 - Confidence) / float64(max(intervals, 1)) }

// A Difference is how much longer B takes than A, by pairs of measurements. All values but ratios are in seconds.
type Difference struct {
	Pairs  int    `json:"pairs"`
	Needed int    `json:"pairs_needed"` // with fewer, no difference can be shown: see [PairsNeeded]
	A      Number `json:"a_median_seconds"`
	B      Number `json:"b_median_seconds"`

	Seconds Interval `json:"b_minus_a_seconds"` // within a pair
	Ratio   Interval `json:"b_over_a"`          // within a pair
	Shown   bool     `json:"shown"`             // there is a difference: its interval does not contain 0
}

// An Interval is a median over pairs, and bounds of the true median. If the pairs are too few, the bounds are infinite
// or NaN.
type Interval struct {
	Center Number `json:"center"`
	Low    Number `json:"low"`
	High   Number `json:"high"`
}

// Compare compares the sides of pairs, which must be positive numbers: see [GroupMeans]. There must be at least one.
// The result is one of so many intervals of a run, which share its [Confidence].
func Compare(pairs []Pair, intervals int) Difference {
	var a, b, differences, logarithms []float64
	for _, p := range pairs {
		a = append(a, p.A)
		b = append(b, p.B)
		differences = append(differences, p.B-p.A)
		logarithms = append(logarithms, math.Log(p.B/p.A))
	}
	rank := lowRank(len(pairs), errorOfEach(intervals))
	d := Difference{
		Pairs:   len(pairs),
		Needed:  PairsNeeded(intervals),
		A:       Number(Median(a)),
		B:       Number(Median(b)),
		Seconds: medianInterval(differences, rank),
		Ratio:   medianInterval(logarithms, rank).ratio(),
	}
	d.Shown = d.Bounded() && (d.Seconds.Low > 0 || d.Seconds.High < 0)
	return d
}

// Bounded reports whether d has enough pairs for an interval.
func (d Difference) Bounded() bool { return Finite(d.Seconds.Low) && Finite(d.Seconds.High) }
