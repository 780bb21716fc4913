package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"golang.org/x/perf/benchmath"

	"github.com/llm-prober/prober/internal/format"
)

// A Comparison is what pairs of measurements say of two targets, two ranges of time, or two runs.
type Comparison struct {
	A    string `json:"a"`
	B    string `json:"b"`
	Load string `json:"load"` // as in [Summary]

	Pair       string  `json:"pair"`       // what one pair is: "round", "period of 1h0m0s"
	Confidence float64 `json:"confidence"` // 0.95: that nothing shown in any of the lines is chance
	Lines      []Line  `json:"lines"`      // TTFT, TPOT, ITL, E2EL, as far as there are pairs
	Warnings   Texts   `json:"warnings"`
}

// A Line compares one quantity. All values but ratios are in seconds.
type Line struct {
	Metric string `json:"metric"` // "TTFT"
	Pairs  int    `json:"pairs"`
	A      Number `json:"a_median_seconds"`
	B      Number `json:"b_median_seconds"`

	Difference Interval `json:"difference_seconds"` // of A − B in a pair
	Ratio      Interval `json:"ratio"`              // of A / B in a pair
	Shown      bool     `json:"shown"`              // the interval of the difference does not hold 0
	Verdict    string   `json:"verdict"`            // see [Verdict]
}

// An Interval is a median and between what it lies. Bounds that the pairs are too few for are infinite, or NaN.
type Interval struct {
	Center Number `json:"center"`
	Low    Number `json:"low"`
	High   Number `json:"high"`
}

// Pairs are the measurements of one quantity on A and B, in seconds, each two under the same circumstances.
type Pairs struct {
	Metric string
	Values [][2]float64
}

// confidence is that of a [Comparison]: that nothing shown in any of its lines is chance.
const confidence = 0.95

// Compare fills the lines of c from pairs and adds to its warnings. Pairs with a value
// that is no number, or not above zero, are left out, and so are quantities without any.
//
// The interval of a line is that of the median of its pairs' differences, from order statistics alone: it assumes
// nothing of how they are spread. Each of n lines has the confidence
//
//	1 − (1 − Confidence) / n
//
// so that what they show holds of all together (Bonferroni): where A and B are
// the same, at most 1 − Confidence of all runs show any difference.
func Compare(c Comparison, pairs []Pairs) Comparison {
	c.Confidence, c.Lines, c.Warnings = confidence, []Line{}, slices.Clip(c.Warnings)
	var usable []Pairs
	for _, p := range pairs {
		p.Values = slices.DeleteFunc(slices.Clone(p.Values), func(v [2]float64) bool { return !finite(v[0]-v[1]) || min(v[0], v[1]) <= 0 })
		if len(p.Values) > 0 {
			usable = append(usable, p)
		}
	}
	if len(usable) == 0 {
		c.Warnings = append(c.Warnings, "no "+c.Pair+" was answered by both: nothing to compare")
	}
	each, few := 1-(1-confidence)/float64(len(usable)), []int(nil)
	for _, p := range usable {
		l := lineOf(p, each)
		l.Verdict = Verdict(l, c.A, c.B)
		if c.Lines = append(c.Lines, l); !l.bounded() {
			few = append(few, l.Pairs)
		}
	}
	if few != nil { // all n on one side of the median are as likely as 2 / 2ⁿ
		need := math.Ceil(math.Log2(2 / (1 - each)))
		c.Warnings = append(c.Warnings, fmt.Sprintf("%.0f %s are needed to show any difference at this confidence (here: %s)",
			need, plural(2, c.Pair), join(format.Grouped(slices.Min(few)), format.Grouped(slices.Max(few)))))
	}
	return c
}

func lineOf(p Pairs, confidence float64) Line {
	var a, b, differences []float64
	for _, v := range p.Values {
		a, b, differences = append(a, v[0]), append(b, v[1]), append(differences, v[0]-v[1])
	}
	l := Line{
		Metric: p.Metric, Pairs: len(p.Values), A: Number(median(a)), B: Number(median(b)),
		Difference: interval(differences, confidence), Ratio: ratio(p.Values, confidence),
	}
	l.Shown = l.bounded() && (l.Difference.Low > 0 || l.Difference.High < 0)
	return l
}

func (l Line) bounded() bool { return finite(l.Difference.Low) && finite(l.Difference.High) }

// interval is the median of values and the interval of the median. A library's interval of order statistics leans to
// the left where it need not be symmetric. This one is the union of that and its mirror image, so that A and B may
// change places; it errs on the safe side. It sorts values.
func interval(values []float64, confidence float64) Interval {
	mirrored := make([]float64, len(values))
	for i, v := range values {
		mirrored[i] = -v
	}
	summary := func(values []float64) benchmath.Summary {
		return benchmath.AssumeNothing.Summary(benchmath.NewSample(values, &benchmath.DefaultThresholds), confidence)
	}
	there, back := summary(values), summary(mirrored)
	return Interval{
		Center: Number(there.Center-back.Center) / 2,
		Low:    Number(min(there.Lo, -back.Hi)),
		High:   Number(max(there.Hi, -back.Lo)),
	}
}

// ratio is the interval of A / B, from logarithms, so that B / A is its inverse; NaN where the pairs are too few.
func ratio(pairs [][2]float64, confidence float64) Interval {
	var logs []float64
	for _, v := range pairs {
		logs = append(logs, math.Log(v[0]/v[1]))
	}
	i := interval(logs, confidence)
	for _, v := range []*Number{&i.Center, &i.Low, &i.High} {
		if *v = Number(math.Exp(float64(*v))); *v == 0 || !finite(*v) {
			*v = none
		}
	}
	return i
}

// plural is of the first word of a noun: "periods of 1h0m0s".
func plural(n int, noun string) string {
	if n == 1 {
		return noun
	}
	return strings.TrimSpace(strings.Replace(noun+" ", " ", "s ", 1))
}
