package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/llm-prober/prober/internal/format"
	"github.com/llm-prober/prober/internal/stats"
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

// A Line compares one quantity.
type Line struct {
	Metric string `json:"metric"` // "TTFT"
	stats.Difference
	Verdict string `json:"verdict"` // see [Verdict]
}

// Compare fills the lines of c from pairs, and adds to its warnings. Pairs without a positive number on both sides are
// left out, and so are quantities without any pair.
//
// Each c.RequestsInPair pairs in a row become one, their mean. Requests that were under way together share a queue, a
// batch and whatever disturbed the machine: they are one piece of evidence, not many.
//
// [stats.Compare] explains the statistics, and how they hold for all comparisons of a run together.
func Compare(c Comparison, pairs []Pairs) Comparison {
	var usable []Pairs
	for _, p := range pairs {
		p.Values = stats.GroupMeans(p.Values, c.RequestsInPair)
		if len(p.Values) > 0 {
			usable = append(usable, p)
		}
	}
	if len(usable) == 0 {
		return Uncompared(c, "no "+c.Pair+" was answered by both: nothing to compare")
	}
	c = c.withoutLines()
	intervals := len(usable) * c.ComparisonsInRun
	for _, p := range usable {
		line := Line{Metric: p.Metric, Difference: stats.Compare(p.Values, intervals)}
		line.Verdict = Verdict(line, c.A, c.B)
		c.Lines = append(c.Lines, line)
	}
	warning := c.tooFewPairs()
	if warning != "" {
		c.Warnings = append(c.Warnings, warning)
	}
	return c
}

// PairsNeeded returns how many pairs a run of some comparisons needs to show any difference.
func PairsNeeded(comparisons int) int {
	return stats.PairsNeeded(max(comparisons, 1) * len(quantities))
}

// Uncompared returns c without lines, and with a warning that says why.
func Uncompared(c Comparison, why string) Comparison {
	c = c.withoutLines()
	c.Warnings = append(c.Warnings, why)
	return c
}

// withoutLines returns a copy of c without lines, in which what was not set has its default.
func (c Comparison) withoutLines() Comparison {
	c.Confidence = stats.Confidence
	c.ComparisonsInRun = max(c.ComparisonsInRun, 1)
	c.RequestsInPair = max(c.RequestsInPair, 1)
	c.Columns = cmp.Or(c.Columns, Medians)
	c.Lines = []Line{}
	c.Excluded = append([]Exclusion{}, c.Excluded...)
	c.Warnings = slices.Clip(c.Warnings)
	return c
}

// tooFewPairs says how many pairs are needed if any line of c has fewer. Otherwise it is empty.
func (c Comparison) tooFewPairs() string {
	var few []int
	for _, l := range c.Lines {
		if !l.Bounded() {
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
