package report

import (
	"fmt"
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
	table := comparisonTable(c, a, b).text()
	lineWidth := columnsOf(table) / (len(c.Lines) + 1) // lines are of equal length, with their end
	areNames := a != b && a != "" && b != ""
	useLetters := !areNames || lineWidth > p.width+1
	if useLetters {
		a, b = "A", "B"
		table = comparisonTable(c, a, b).text()
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
			p.wrap(fmt.Sprintf("%-6s", l.Metric), Verdict(l, a, b))
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

// comparisonTable returns a line for each quantity of c, with these names of the targets.
func comparisonTable(c Comparison, a, b string) table {
	t := table{wordColumns: 1}
	t.rows = append(t.rows, []string{c.Columns, a, b, "paired difference", "relative", "interval (ms)"})
	for _, l := range c.Lines {
		interval := "unknown"
		if l.Bounded() {
			interval = fmt.Sprintf("%+.2f to %+.2f", l.Seconds.Low*1e3, l.Seconds.High*1e3)
		}
		difference := fmt.Sprintf("%+.2f ms", l.Seconds.Center*1e3)
		t.rows = append(t.rows, []string{
			l.Metric, milliseconds(l.A), milliseconds(l.B), difference, l.relativeDifference(), interval,
		})
	}
	return t
}

// milliseconds writes seconds as vLLM's tables do: "796.10 ms".
func milliseconds(seconds stats.Number) string { return fmt.Sprintf("%.2f ms", seconds*1e3) }

// relativeDifference returns the median of the pairs' differences relative to A: "+163%". It is empty if unknown.
func (l Line) relativeDifference() string {
	if !stats.Finite(l.Ratio.Center) {
		return ""
	}
	return format.Change(float64(l.Ratio.Center) - 1)
}

// verdictLines returns the verdict of each quantity, with its name.
func verdictLines(c Comparison) (list []string) {
	for _, l := range c.Lines {
		list = append(list, l.Metric+": "+l.Verdict)
	}
	return list
}

// explanation returns sentences that say what the columns show, and how certain the verdicts are.
func (c Comparison) explanation(a, b string) (sentences []string) {
	difference := fmt.Sprintf("A difference is %s − %s within a pair, the median of all pairs: above 0, %s is slower. "+
		"Percentages are relative to %s.", b, a, b, a)
	if c.RequestsInPair > 1 {
		difference = "A pair is the means of requests that were under way together. " + difference
	}
	if c.Columns == PeriodMeans {
		difference = "A value is the mean of a period, the median of all periods. " + difference
	}
	least, most := c.Lines[0].Pairs, c.Lines[0].Pairs
	for _, l := range c.Lines {
		least = min(least, l.Pairs)
		most = max(most, l.Pairs)
	}
	pairs := rangeText(format.Grouped(least), format.Grouped(most)) + " " + c.pairNoun(most)
	confidence := fmt.Sprintf("%.0f%% confidence for all lines together, from %s.", 100*c.Confidence, pairs)
	if c.ComparisonsInRun > 1 {
		confidence = fmt.Sprintf("%.0f%% confidence for all lines of the run's %d comparisons together; "+
			"this one is from %s.", 100*c.Confidence, c.ComparisonsInRun, pairs)
	}
	return []string{difference, confidence}
}
