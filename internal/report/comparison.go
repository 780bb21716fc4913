package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/llm-prober/prober/internal/format"
)

// Text is the final summary of c, in lines of at most width columns where words allow. Names that are too long for the
// table are letters in it.
func (c Comparison) Text(width int) string {
	p := &printer{width: width}
	a, b := format.Clean(c.A), format.Clean(c.B)
	table := comparisonTable(c, a, b).text()
	if a == b || a == "" || b == "" || length(table)/(len(c.Lines)+1) > p.width+1 { // lines are of equal length
		a, b = "A", "B"
		table = comparisonTable(c, a, b).text()
	}
	p.WriteString(strings.Join(known("Comparison of "+a+" with "+b, format.Clean(c.Load)), ", ") + "\n")
	if a == "A" && b == "B" {
		p.WriteString("  A  " + format.Clean(c.A) + "\n  B  " + format.Clean(c.B) + "\n")
	}
	if p.WriteString("\n"); len(c.Lines) > 0 {
		p.WriteString(table + "\n")
		for _, l := range c.Lines {
			p.wrap(fmt.Sprintf("%-6s", l.Metric), Verdict(l, a, b))
		}
		p.WriteString("\n")
		for _, sentence := range meaning(c, a, b) {
			p.wrap("", sentence)
		}
	}
	for _, text := range allWarnings(c) {
		p.wrap("", "warning: "+text)
	}
	return p.String()
}

// text is what d is of, its summaries, and what it compares, see [Block] and [Comparison.Text].
func (d Document) text(width int) string {
	p := &printer{width: width}
	for part := range strings.SplitSeq(d.Source, "; ") {
		p.wrap("", part)
	}
	for _, text := range d.Warnings {
		p.wrap("", "warning: "+text)
	}
	for _, s := range d.Summaries {
		p.WriteString("\n" + Block(s))
	}
	for _, c := range d.Comparisons {
		p.WriteString("\n" + c.Text(width))
	}
	return p.String()
}

func verdicts(c Comparison) (list []string) {
	for _, l := range c.Lines {
		list = append(list, l.Metric+": "+l.Verdict)
	}
	return list
}

// meaning says what the columns of differences show, and how certain the verdicts are.
func meaning(c Comparison, a, b string) []string {
	least, most := c.Lines[0].Pairs, c.Lines[0].Pairs
	for _, l := range c.Lines {
		least, most = min(least, l.Pairs), max(most, l.Pairs)
	}
	pairs := join(format.Grouped(least), format.Grouped(most)) + " " + plural(most, c.Pair)
	return []string{
		fmt.Sprintf("Differences are medians of the paired differences %s − %s; percentages are relative to %s.", a, b, a),
		fmt.Sprintf("%.0f%% confidence for all lines together, from %s.", 100*c.Confidence, pairs),
	}
}

// comparisonTable calls A and B by two names.
func comparisonTable(c Comparison, a, b string) table {
	t := table{words: 1, rows: [][]string{{"medians", a, b, "paired difference", "of " + a, "interval (ms)"}}}
	for _, l := range c.Lines {
		share, between := "", "unknown"
		if finite(l.Ratio.Center) { // the median of the pairs' differences relative to A, as verdicts tell it
			share = fmt.Sprintf("%+.2f%%", 100*(1-1/l.Ratio.Center))
		}
		if l.bounded() {
			between = fmt.Sprintf("%+.2f to %+.2f", l.Difference.Low*1e3, l.Difference.High*1e3)
		}
		t.rows = append(t.rows, []string{l.Metric, millis(l.A), millis(l.B), fmt.Sprintf("%+.2f ms", l.Difference.Center*1e3), share, between})
	}
	return t
}

// millis writes seconds as the recorded comparisons do: "796.10 ms".
func millis(seconds Number) string { return fmt.Sprintf("%.2f ms", seconds*1e3) }

// allWarnings are all warnings of a comparison and its lines, each once.
func allWarnings(c Comparison) (list []string) {
	for _, l := range append([]Line{{Warnings: c.Warnings}}, c.Lines...) {
		for _, text := range l.Warnings {
			if text = format.Clean(text); !slices.Contains(list, text) {
				list = append(list, text)
			}
		}
	}
	return list
}
