package report

import (
	"fmt"
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
	p.WriteString(strings.Join(known("Comparison of "+b+" against "+a, format.Clean(c.Load)), ", ") + "\n")
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
	for _, text := range c.Warnings {
		p.wrap("", "warning: "+format.Clean(text))
	}
	return p.String()
}

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

// meaning says what the columns show, and how certain the verdicts are.
func meaning(c Comparison, a, b string) []string {
	least, most := c.Lines[0].Pairs, c.Lines[0].Pairs
	for _, l := range c.Lines {
		least, most = min(least, l.Pairs), max(most, l.Pairs)
	}
	pairs := join(format.Grouped(least), format.Grouped(most)) + " " + c.pairs(most)
	share := fmt.Sprintf("%.0f%% confidence", 100*c.Confidence)
	sentences := []string{
		fmt.Sprintf("A difference is %s − %s within a pair, the median of all pairs: above 0, %s is slower. "+
			"Percentages are relative to %s.", b, a, b, a),
		share + " for all lines together, from " + pairs + ".",
	}
	if c.Together > 1 {
		sentences[0] = "A pair is the means of requests that were under way together. " + sentences[0]
	}
	if c.Columns == PeriodMeans {
		sentences[0] = "A value is the mean of a period, the median of all periods. " + sentences[0]
	}
	if c.InRun > 1 {
		sentences[1] = fmt.Sprintf("%s for all lines of the run's %d comparisons together; this one is from %s.",
			share, c.InRun, pairs)
	}
	return sentences
}

func comparisonTable(c Comparison, a, b string) table {
	t := table{words: 1, rows: [][]string{{c.Columns, a, b, "paired difference", "relative", "interval (ms)"}}}
	for _, l := range c.Lines {
		between := "unknown"
		if l.bounded() {
			between = fmt.Sprintf("%+.2f to %+.2f", l.Difference.Low*1e3, l.Difference.High*1e3)
		}
		difference := fmt.Sprintf("%+.2f ms", l.Difference.Center*1e3)
		t.rows = append(t.rows, []string{l.Metric, millis(l.A), millis(l.B), difference, l.relative(), between})
	}
	return t
}

// relative returns the median of the pairs' differences relative to A, as verdicts tell it: "+163%".
func (l Line) relative() string {
	if !finite(l.Ratio.Center) {
		return ""
	}
	return format.Change(float64(l.Ratio.Center) - 1)
}

// millis writes seconds as the recorded comparisons do: "796.10 ms".
func millis(seconds Number) string { return fmt.Sprintf("%.2f ms", seconds*1e3) }
