package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/llm-prober/prober/internal/format"
	"github.com/llm-prober/prober/internal/stats"
)

// Text returns c as a table with a verdict for each quantity, what they mean, and warnings. Its lines have at most
// width columns, unless a single word is longer. If the names of the targets are too long for the table, or do not tell
// them apart, it calls them A and B.
func (c Comparison) Text(width int) string {
	p := &printer{width: width}
	a, b := format.Clean(c.A), format.Clean(c.B)
	table := c.textTable(a, b)
	firstLine, _, _ := strings.Cut(table, "\n") // as long as all others
	areNames := a != b && a != "" && b != ""
	useLetters := !areNames || columnsOf(firstLine) > p.width
	if useLetters {
		a, b = "A", "B"
		table = c.textTable(a, b)
	}
	heading := nonEmpty("Comparison of "+b+" against "+a, format.Clean(c.Load))
	p.WriteString(strings.Join(heading, ", ") + "\n")
	if useLetters {
		p.WriteString("  A  " + format.Clean(c.A) + "\n  B  " + format.Clean(c.B) + "\n")
	}
	p.WriteString("\n")
	if len(c.Lines) > 0 {
		p.WriteString(table + "\n")
		for _, l := range c.Lines {
			p.wrap(fmt.Sprintf("%-6s", l.Metric), c.verdict(l, a, b))
		}
		p.WriteString("\n")
		for _, sentence := range c.explanation(a, b) {
			p.wrap("", sentence)
		}
	}
	for _, text := range c.Warnings {
		p.wrap("", "warning: "+format.Clean(text))
	}
	return p.String()
}

// textTable returns a line for each quantity, with these names of the targets. Its head has two lines.
func (c Comparison) textTable(a, b string) string {
	return c.table(
		[]string{"", "median", "median", "median of the", "", "interval"},
		[]string{"", a, b, "paired differences", "relative", "(ms)"},
	).text()
}

// markdown returns the parts of c in Markdown: a heading, the table, verdicts, what they mean, and warnings.
func (c Comparison) markdown() []string {
	heading := nonEmpty(inline(c.B)+" against "+inline(c.A), inline(c.Load))
	parts := []string{"## " + strings.Join(heading, ", ") + "\n"}
	if len(c.Lines) > 0 {
		head := []string{
			"", "median of " + c.A, "median of " + c.B, "median of the paired differences", "relative", "interval (ms)",
		}
		explanation := inline(strings.Join(c.explanation(c.A, c.B), " ")) + "\n"
		parts = append(parts, c.table(head).markdown(), bullets(verdictLines(c)), explanation)
	}
	return append(parts, bullets(c.Warnings))
}

// table returns a line for each quantity, below the lines of a head.
func (c Comparison) table(head ...[]string) table {
	t := table{wordColumns: 1, rows: head}
	for _, l := range c.Lines {
		difference := fmt.Sprintf("%+.2f ms", l.Seconds.Median*1e3)
		relative := "" // unknown
		if stats.Finite(l.Ratio.Median) {
			relative = format.Change(float64(l.Ratio.Median) - 1)
		}
		interval := "unknown"
		if l.Bounded() {
			interval = fmt.Sprintf("%+.2f to %+.2f", l.Seconds.Low*1e3, l.Seconds.High*1e3)
		}
		t.rows = append(t.rows, []string{l.Metric, milliseconds(l.A), milliseconds(l.B), difference, relative, interval})
	}
	return t
}

// milliseconds writes seconds as vLLM's tables do: "796.10 ms".
func milliseconds(seconds stats.Number) string { return fmt.Sprintf("%.2f ms", seconds*1e3) }

// verdictLines returns the verdict of each quantity, with its name.
func verdictLines(c Comparison) (list []string) {
	for _, l := range c.Lines {
		list = append(list, l.Metric+": "+l.Verdict)
	}
	return list
}

// explanation returns sentences that say what the columns show, and how certain the verdicts are.
func (c Comparison) explanation(a, b string) (sentences []string) {
	difference := fmt.Sprintf("A paired difference is %s − %s within a pair: above 0, %s is slower. Their median is not "+
		"the difference of the two medians. Percentages are relative to %s.", b, a, b, a)
	if c.RequestsInPair > 1 {
		difference = "A pair is the means of requests that were under way together. " + difference
	}
	if c.Columns == PeriodMeans {
		difference = "A value is the mean of a period. " + difference
	}
	least := c.Lines[0].Pairs
	most := least
	var correlations []float64
	for _, l := range c.Lines {
		least = min(least, l.Pairs)
		most = max(most, l.Pairs)
		if l.Bounded() {
			correlations = append(correlations, float64(l.Correlation))
		}
	}
	lines := "all lines together, from"
	if c.ComparisonsInRun > 1 {
		lines = fmt.Sprintf("all lines of the run's %d comparisons together; this one is from", c.ComparisonsInRun)
	}
	confidence := fmt.Sprintf("%.0f%% confidence for %s %s %s", 100*c.Confidence, lines,
		rangeText(format.Grouped(least), format.Grouped(most)), c.pairNoun(most))
	if correlations != nil {
		confidence += fmt.Sprintf(", each of which may resemble the one before (correlation up to %.2f)",
			slices.Max(correlations))
	}
	return []string{difference, confidence + "."}
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

// verdict says in words what l shows of b against a: "b is 2.3 to 2.9 times slower than a". Percentages are relative to
// a. For TPOT it adds how fast both decode. The text calls the sides a and b. It has no full stop.
func (c Comparison) verdict(l Line, a, b string) string {
	words := c.differenceVerdict(l, a, b)
	if l.Metric == "TPOT" && l.A > 0 && l.B > 0 {
		words += fmt.Sprintf("; %s decodes %s tokens/s, %s %s", a, tokensPerSecond(l.A), b, tokensPerSecond(l.B))
	}
	return words
}

// tokensPerSecond returns how many tokens a second of decoding brings.
func tokensPerSecond(tpot stats.Number) string { return format.Digits(1 / float64(tpot)) }

// differenceVerdict says which of a and b is slower and by how much, or why that is not known.
//
// Of two ranges of time, or two runs, it only says that they differ. The interval knows how much a latency varies
// within each of them, but not how much it varies from day to day. So the next two may differ the other way.
func (c Comparison) differenceVerdict(l Line, a, b string) string {
	if !l.Bounded() {
		return fmt.Sprintf("inconclusive: n=%d is too few, %d are needed", l.Pairs, l.Needed)
	}
	low, middle, high := logOf(l.Ratio.Low), logOf(l.Ratio.Median), logOf(l.Ratio.High)
	if !l.Shown {
		words := fmt.Sprintf("no difference shown at n=%d", l.Pairs)
		if max(-low, high) < logOf(widestFactor) {
			words += fmt.Sprintf(" (%s is between %s and %s than %s)",
				b, changeText(low, low, low), changeText(high, high, high), a)
		}
		if l.HiddenByCorrelation {
			words += fmt.Sprintf("; neighbouring %s may be too alike to tell, measure longer", c.pairNoun(2))
		}
		return words
	}
	change := changeText(middle, low, high)
	if high < 0 { // b is faster; the smaller change is said first
		change = changeText(middle, high, low)
	}
	if c.Apart != "" {
		return fmt.Sprintf("these two %s differ: %s was %s than %s", c.Apart, b, change, a)
	}
	return fmt.Sprintf("%s is %s than %s", b, change, a)
}

// logOf returns the logarithm of a ratio of B to A. Above 0, B is slower.
func logOf(ratio stats.Number) float64 { return math.Log(float64(ratio)) }

// widestFactor is the factor from which on the bounds of a difference that is not shown say nothing.
const widestFactor = 10

// factorFrom is the ratio from which on a change is written as a factor instead of a percentage.
const factorFrom = 1.5

// changeText writes a change between two bounds: "3.1% to 3.5% slower", "2.3 to 2.9 times faster". All three are
// logarithms of ratios. That in the middle decides on the unit and the direction.
func changeText(middle, least, most float64) string {
	direction := " slower"
	if middle < 0 {
		direction = " faster"
	}
	if math.Exp(math.Abs(middle)) >= factorFrom {
		return rangeText(factorOfLog(least), factorOfLog(most)) + " times" + direction
	}
	return rangeText(percentOfLog(least), percentOfLog(most)) + direction
}

// percentOfLog writes a change as a percentage without a sign.
func percentOfLog(logarithm float64) string { return format.Percent(math.Abs(math.Exp(logarithm) - 1)) }

// factorOfLog writes a change as a factor above 1: "1.04", "2.3", "12".
func factorOfLog(logarithm float64) string {
	factor := math.Exp(math.Abs(logarithm))
	switch {
	case factor < 1.095:
		return fmt.Sprintf("%.2f", factor)
	case factor < 9.95:
		return fmt.Sprintf("%.1f", factor)
	}
	return fmt.Sprintf("%.0f", factor)
}

// rangeText joins two bounds, or returns one of them if both read alike.
func rangeText(low, high string) string {
	if low == high {
		return low
	}
	return low + " to " + high
}
