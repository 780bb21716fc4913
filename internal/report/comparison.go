package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/llm-prober/prober/internal/format"
)

// A Comparison compares two targets, two ranges of time, or two runs, by pairs of measurements. It is of B against A: a
// positive difference means that B takes longer.
type Comparison struct {
	A    string `json:"a"`
	B    string `json:"b"`
	Load string `json:"load"` // as in [Summary]

	Pair string `json:"pair"` // what one pair is: "round", "period of 1h0m0s"

	// Confidence is 0.95: in 95 of 100 runs, everything that is shown in any of the run's comparisons is true.
	Confidence float64 `json:"confidence"`

	// ComparisonsInRun is how many comparisons share Confidence, this one included.
	ComparisonsInRun int `json:"comparisons_in_run"`

	// RequestsInPair is how many requests to each side, under way together, are averaged for one pair. If it is 1, each
	// pair is of single requests.
	RequestsInPair int `json:"requests_in_pair"`

	Columns  string      `json:"columns"`      // what the columns A and B show: Medians or PeriodMeans
	Lines    []Line      `json:"lines"`        // one for each of TTFT, TPOT, ITL and E2EL that has pairs
	Excluded []Exclusion `json:"not_compared"` // values that were left out on purpose
	Warnings Texts       `json:"warnings"`
}

// What the columns A and B of a [Comparison] show.
const (
	Medians     = "medians" // of requests, or of the means of requests that were under way together
	PeriodMeans = "means"   // the mean over the requests of each period, and of these the median of all periods
)

// An Exclusion says why values of a quantity are not compared.
type Exclusion struct {
	Metric string `json:"metric"` // "ITL"
	Reason string `json:"reason"`
}

// A Line compares one quantity. All values except ratios are in seconds.
type Line struct {
	Metric string `json:"metric"` // "TTFT"
	Pairs  int    `json:"pairs"`
	Needed int    `json:"pairs_needed"`     // with fewer, no difference can be shown: see [PairsNeeded]
	A      Number `json:"a_median_seconds"` // over the pairs; if these are periods, the median of their means
	B      Number `json:"b_median_seconds"`

	Difference Interval `json:"b_minus_a_seconds"` // within a pair
	Ratio      Interval `json:"b_over_a"`          // within a pair
	Shown      bool     `json:"shown"`             // there is a difference: its interval does not contain 0
	Verdict    string   `json:"verdict"`           // see [Verdict]
}

// bounded reports whether l has enough pairs for an interval.
func (l Line) bounded() bool { return finite(l.Difference.Low) && finite(l.Difference.High) }

// Compare fills the lines of c from pairs, and adds to its warnings. Pairs without a positive number on both sides are
// left out, and so are quantities without any pair.
//
// Each c.RequestsInPair pairs in a row become one, their mean. Requests that were under way together share a queue, a
// batch and whatever disturbed the machine: they are one piece of evidence, not many.
//
// The statistics, and how they hold for all comparisons of a run together, are explained in interval.go.
func Compare(c Comparison, pairs []Pairs) Comparison {
	usable := usablePairs(pairs, c.RequestsInPair)
	if len(usable) == 0 {
		return Uncompared(c, "no "+c.Pair+" was answered by both: nothing to compare")
	}
	c = c.withoutLines()
	intervals := len(usable) * c.ComparisonsInRun
	for _, p := range usable {
		line := compareQuantity(p, confidenceOfEach(intervals))
		line.Needed = pairsForIntervals(intervals)
		line.Verdict = Verdict(line, c.A, c.B)
		c.Lines = append(c.Lines, line)
	}
	warning := c.tooFewPairs()
	if warning != "" {
		c.Warnings = append(c.Warnings, warning)
	}
	return c
}

// Uncompared returns c without lines, and with a warning that says why.
func Uncompared(c Comparison, why string) Comparison {
	c = c.withoutLines()
	c.Warnings = append(c.Warnings, why)
	return c
}

// withoutLines returns a copy of c without lines, in which what was not set has its default.
func (c Comparison) withoutLines() Comparison {
	c.Confidence = confidenceOfRun
	c.ComparisonsInRun = max(c.ComparisonsInRun, 1)
	c.RequestsInPair = max(c.RequestsInPair, 1)
	c.Columns = cmp.Or(c.Columns, Medians)
	c.Lines = []Line{}
	c.Excluded = append([]Exclusion{}, c.Excluded...)
	c.Warnings = slices.Clip(c.Warnings)
	return c
}

// compareQuantity compares the two sides of pairs, of which there is at least one.
func compareQuantity(p Pairs, confidence float64) Line {
	var a, b, differences []float64
	for _, v := range p.Values {
		a = append(a, v[0])
		b = append(b, v[1])
		differences = append(differences, v[1]-v[0])
	}
	l := Line{
		Metric:     p.Metric,
		Pairs:      len(p.Values),
		A:          Number(median(a)),
		B:          Number(median(b)),
		Difference: medianInterval(differences, confidence),
		Ratio:      ratioInterval(p.Values, confidence),
	}
	l.Shown = l.bounded() && (l.Difference.Low > 0 || l.Difference.High < 0)
	return l
}

// tooFewPairs says how many pairs are needed if any line of c has fewer. Otherwise it is empty.
func (c Comparison) tooFewPairs() string {
	var few []int
	for _, l := range c.Lines {
		if !l.bounded() {
			few = append(few, l.Pairs)
		}
	}
	if few == nil {
		return ""
	}
	count := rangeText(format.Grouped(slices.Min(few)), format.Grouped(slices.Max(few)))
	text := fmt.Sprintf("too few %s to show any difference: %s of %d needed", c.pairNoun(2), count, c.Lines[0].Needed)
	if c.ComparisonsInRun > 1 {
		text += fmt.Sprintf(" in a run of %d comparisons", c.ComparisonsInRun)
	}
	return text
}

// pairNoun names one pair, or several: "rounds", "groups of 16 prompts".
func (c Comparison) pairNoun(n int) string {
	if c.RequestsInPair > 1 {
		requests := format.Grouped(c.RequestsInPair) + " " + pluralize(2, c.Pair)
		return pluralize(n, "group") + " of " + requests
	}
	return pluralize(n, c.Pair)
}

// pluralize adds an s to the first word of a noun, unless n is 1: "periods of 1h0m0s".
func pluralize(n int, noun string) string {
	if n == 1 {
		return noun
	}
	return strings.TrimSpace(strings.Replace(noun+" ", " ", "s ", 1))
}

// line returns the line of a quantity. ok is false if c has none.
func (c Comparison) line(metric string) (l Line, ok bool) {
	i := slices.IndexFunc(c.Lines, func(l Line) bool { return l.Metric == metric })
	if i < 0 {
		return l, false
	}
	return c.Lines[i], true
}
