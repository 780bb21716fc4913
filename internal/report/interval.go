package report

import (
	"math"

	"golang.org/x/perf/benchmath"
)

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
// Eight rounds have 99.2%, which is enough; seven have 1 − 2/2⁷ = 98.4%, which is not. So eight is [PairsNeeded].
//
// A ladder of five steps makes five comparisons, 20 intervals, each of which needs 99.75%: ten pairs. Where a step has
// 16 requests under way together, 16 in a row are averaged to one pair, so that step needs 160 requests to each target.
//
// The same interval of the logarithms of B / A gives the ratio of the verdict: "B is 4.2% to 7.3% slower than A".

// confidenceOfRun is the confidence of all comparisons of a run together.
const confidenceOfRun = 0.95

// confidenceOfEach returns the confidence that each of some intervals needs, for all of them together to have
// [confidenceOfRun].
func confidenceOfEach(intervals int) float64 {
	return 1 - (1-confidenceOfRun)/float64(max(intervals, 1))
}

// PairsNeeded returns how many pairs a run of some comparisons needs to show any difference.
func PairsNeeded(comparisons int) int {
	return pairsForIntervals(max(comparisons, 1) * len(quantities))
}

// pairsForIntervals returns the least number n of pairs for which an interval from the smallest to the largest
// difference has the confidence that each of some intervals needs: 2 / 2ⁿ ≤ 1 − confidence.
func pairsForIntervals(intervals int) int {
	return int(math.Ceil(math.Log2(2 / (1 - confidenceOfEach(intervals)))))
}

// An Interval is a median of pairs, and bounds of the true median. If the pairs are too few, the bounds are infinite or
// NaN.
type Interval struct {
	Center Number `json:"center"`
	Low    Number `json:"low"`
	High   Number `json:"high"`
}

// medianInterval returns the interval of the median of values, which it sorts.
//
// If an interval of order statistics cannot be symmetric, that of benchmath leans to the left. This one is the union of
// it and of its mirror image, so that exchanging A and B only changes its sign. It is never narrower than it has to be.
func medianInterval(values []float64, confidence float64) Interval {
	mirrored := make([]float64, len(values))
	for i, v := range values {
		mirrored[i] = -v
	}
	original := summaryOfMedian(values, confidence)
	mirror := summaryOfMedian(mirrored, confidence)
	return Interval{
		Center: Number(original.Center-mirror.Center) / 2,
		Low:    Number(min(original.Lo, -mirror.Hi)),
		High:   Number(max(original.Hi, -mirror.Lo)),
	}
}

// summaryOfMedian returns the median and its interval by order statistics. It sorts values.
func summaryOfMedian(values []float64, confidence float64) benchmath.Summary {
	sample := benchmath.NewSample(values, &benchmath.DefaultThresholds)
	return benchmath.AssumeNothing.Summary(sample, confidence)
}

// ratioInterval returns the interval of the median of B / A. It is that of the logarithms, so that the interval of A /
// B is its inverse. Bounds are NaN if the pairs are too few.
func ratioInterval(pairs [][2]float64, confidence float64) Interval {
	var logs []float64
	for _, v := range pairs {
		logs = append(logs, math.Log(v[1]/v[0]))
	}
	i := medianInterval(logs, confidence)
	return Interval{Center: ratioOfLog(i.Center), Low: ratioOfLog(i.Low), High: ratioOfLog(i.High)}
}

// ratioOfLog returns the ratio of a logarithm, or NaN if that is infinite or unknown.
func ratioOfLog(logarithm Number) Number {
	ratio := Number(math.Exp(float64(logarithm)))
	if ratio == 0 || !finite(ratio) {
		return noValue
	}
	return ratio
}
