package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"golang.org/x/perf/benchmath"

	"github.com/llm-prober/prober/internal/format"
)

// A Comparison is what pairs of measurements say of two targets, two ranges of time, or two runs: of B against A, so a
// positive difference means that B takes longer.
type Comparison struct {
	A    string `json:"a"`
	B    string `json:"b"`
	Load string `json:"load"` // as in [Summary]

	Pair       string  `json:"pair"`               // what one pair is: "round", "period of 1h0m0s"
	Confidence float64 `json:"confidence"`         // 0.95: that nothing shown in the run's comparisons is chance
	InRun      int     `json:"comparisons_in_run"` // that share Confidence, this one included; see [Compare]
	// of each side, which were under way together; 1: a pair is of single ones
	Together int `json:"requests_in_pair"`

	Columns  string      `json:"columns"`      // what A and B of the lines are: see [Medians]
	Lines    []Line      `json:"lines"`        // TTFT, TPOT, ITL, E2EL, as far as there are pairs
	Excluded []Exclusion `json:"not_compared"` // pairs that were left out of a quantity for a reason
	Warnings Texts       `json:"warnings"`
}

// What the columns A and B of a [Comparison] show.
const (
	Medians     = "medians" // of requests, or of the means of those that were under way together
	PeriodMeans = "means"   // means over the requests of a period, and of these the median of all periods
)

// An Exclusion says why values of a quantity are not compared.
type Exclusion struct {
	Metric string `json:"metric"` // "ITL"
	Reason string `json:"reason"`
}

// A Line compares one quantity. All values but ratios are in seconds.
type Line struct {
	Metric string `json:"metric"` // "TTFT"
	Pairs  int    `json:"pairs"`
	Needed int    `json:"pairs_needed"`     // fewer cannot show any difference; see [PairsNeeded]
	A      Number `json:"a_median_seconds"` // over the pairs; of periods, the median of their means
	B      Number `json:"b_median_seconds"`

	Difference Interval `json:"b_minus_a_seconds"` // in a pair
	Ratio      Interval `json:"b_over_a"`          // in a pair
	Shown      bool     `json:"shown"`             // the interval of the difference does not hold 0
	Verdict    string   `json:"verdict"`           // see [Verdict]
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

// confidence is that of all comparisons of a run together: that nothing shown in any of their lines is chance.
const confidence = 0.95

// confidenceOfEach is the confidence that each of some intervals needs for all to have [confidence] together
// (Bonferroni).
func confidenceOfEach(intervals int) float64 { return 1 - (1-confidence)/float64(max(intervals, 1)) }

// PairsNeeded is how many pairs are needed to show any difference in a run with so many comparisons of four quantities.
func PairsNeeded(comparisons int) int { return pairsNeeded(max(comparisons, 1) * len(quantities)) }

// pairsNeeded is the least n for which an interval of the median, of the n pairs' whole range, has the confidence that
// each of some intervals needs: where nothing differs, all n differences have the same sign in 2 of 2ⁿ cases.
func pairsNeeded(intervals int) int {
	return int(math.Ceil(math.Log2(2 / (1 - confidenceOfEach(intervals)))))
}

// Compare fills the lines of c from pairs and adds to its warnings. Pairs with a value that is no number, or not above
// zero, are left out, and so are quantities without any. Requests that were under way together share a queue, a batch
// and whatever disturbed the machine, and so are no independent evidence: of c.Together pairs in a row one is made.
//
// The interval of a line is that of the median of its pairs' differences, from order statistics alone: it assumes
// nothing of how they are spread. In a run of c.InRun comparisons (steps of a ladder, lengths of prompts, targets),
// each of this one's n lines has the confidence
//
//	1 − (1 − Confidence) / (InRun · n)
//
// so that what they show holds of all lines of the run together (Bonferroni): where A and B are the same, at most
// 1 − Confidence of all runs show any difference, however many comparisons a run has.
func Compare(c Comparison, pairs []Pairs) Comparison {
	usable := usablePairs(pairs, c.Together)
	if len(usable) == 0 {
		return Uncompared(c, "no "+c.Pair+" was answered by both: nothing to compare")
	}
	c = c.withoutLines()
	intervals := len(usable) * c.InRun
	for _, p := range usable {
		line := lineOf(p, confidenceOfEach(intervals))
		line.Needed = pairsNeeded(intervals)
		line.Verdict = Verdict(line, c.A, c.B)
		c.Lines = append(c.Lines, line)
	}
	if warning := c.tooFew(); warning != "" {
		c.Warnings = append(c.Warnings, warning)
	}
	return c
}

// Uncompared is c without lines, and why.
func Uncompared(c Comparison, why string) Comparison {
	c = c.withoutLines()
	c.Warnings = append(c.Warnings, why)
	return c
}

func (c Comparison) withoutLines() Comparison {
	c.Confidence = confidence
	c.InRun = max(c.InRun, 1)
	c.Together = max(c.Together, 1)
	c.Columns = cmp.Or(c.Columns, Medians)
	c.Lines = []Line{}
	c.Excluded = append([]Exclusion{}, c.Excluded...)
	c.Warnings = slices.Clip(c.Warnings)
	return c
}

// usablePairs makes one pair of each n in a row, and leaves out quantities without any.
func usablePairs(pairs []Pairs, n int) (usable []Pairs) {
	for _, p := range pairs {
		p.Values = together(p.Values, max(n, 1))
		if len(p.Values) > 0 {
			usable = append(usable, p)
		}
	}
	return usable
}

// together makes one pair of each n in a row, of the means of both sides over those that have two positive numbers, if
// there are any. The last group is of what is left as well.
func together(values [][2]float64, n int) (pairs [][2]float64) {
	for len(values) > 0 {
		size := n
		if len(values) < 2*n {
			size = len(values)
		}
		if mean, ok := meanPair(values[:size]); ok {
			pairs = append(pairs, mean)
		}
		values = values[size:]
	}
	return pairs
}

// meanPair is the means of both sides over the pairs that have two positive numbers. ok is false if there is none.
func meanPair(values [][2]float64) (mean [2]float64, ok bool) {
	n := 0.0
	for _, v := range values {
		if finite(v[0]-v[1]) && min(v[0], v[1]) > 0 {
			mean[0] += v[0]
			mean[1] += v[1]
			n++
		}
	}
	return [2]float64{mean[0] / n, mean[1] / n}, n > 0
}

// pairs names one pair or several, for people: "rounds", "groups of 16 prompts".
func (c Comparison) pairs(n int) string {
	if c.Together > 1 {
		return plural(n, "group") + fmt.Sprintf(" of %s %s", format.Grouped(c.Together), plural(2, c.Pair))
	}
	return plural(n, c.Pair)
}

// tooFew says how many pairs are needed, if any line of c has fewer; else it is empty.
func (c Comparison) tooFew() string {
	var few []int
	for _, l := range c.Lines {
		if !l.bounded() {
			few = append(few, l.Pairs)
		}
	}
	if few == nil {
		return ""
	}
	there := join(format.Grouped(slices.Min(few)), format.Grouped(slices.Max(few)))
	text := fmt.Sprintf("too few %s to show any difference: %s of %d needed", c.pairs(2), there, c.Lines[0].Needed)
	if c.InRun > 1 {
		text += fmt.Sprintf(" in a run of %d comparisons", c.InRun)
	}
	return text
}

func lineOf(p Pairs, confidence float64) Line {
	var a, b, differences []float64
	for _, v := range p.Values {
		a = append(a, v[0])
		b = append(b, v[1])
		differences = append(differences, v[1]-v[0])
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

// ratio is the interval of B / A, from logarithms, so that A / B is its inverse; NaN where the pairs are too few.
func ratio(pairs [][2]float64, confidence float64) Interval {
	var logs []float64
	for _, v := range pairs {
		logs = append(logs, math.Log(v[1]/v[0]))
	}
	i := interval(logs, confidence)
	for _, v := range []*Number{&i.Center, &i.Low, &i.High} {
		*v = Number(math.Exp(float64(*v)))
		if *v == 0 || !finite(*v) {
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
