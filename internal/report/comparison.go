package report

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/llm-prober/prober/internal/format"
)

// WriteComparison writes the final summary of c: medians, differences with their
// intervals, a verdict a line, and warnings, in lines of at most width columns
// (0: 80; 40 at least) where words allow. Names that are too long for the table
// are letters in it. The error is that of w.
func WriteComparison(w io.Writer, c Comparison, width int) error {
	return write(w, comparisonText(c, width))
}

func comparisonText(c Comparison, width int) string {
	p := newPrinter(width)
	a, b := format.Clean(c.A), format.Clean(c.B)
	if a == b || a == "" || b == "" || widest(comparisonTable(c, a, b).text()) > p.width {
		a, b = "A", "B"
	}
	p.put(strings.Join(known("Comparison of "+a+" with "+b, format.Clean(c.Load)), ", ") + "\n")
	if a == "A" && b == "B" {
		p.put("  A  " + format.Clean(c.A) + "\n  B  " + format.Clean(c.B) + "\n")
	}
	if p.gap(); len(c.Lines) > 0 {
		p.put(comparisonTable(c, a, b).text())
		p.gap()
		for _, l := range c.Lines {
			p.wrap(pad(l.Metric, 6), Verdict(l, a, b))
		}
		p.gap()
		for _, sentence := range meaning(c, a, b) {
			p.wrap("", sentence)
		}
	}
	for _, text := range allWarnings(c) {
		p.hang("warning: " + text)
	}
	return p.text.String()
}

// WriteComparisons writes what d compares, see [WriteComparison], and what it is of.
func WriteComparisons(w io.Writer, d Document, width int) error {
	p := newPrinter(width)
	for part := range strings.SplitSeq(d.Source, "; ") {
		p.hang(part)
	}
	for _, text := range d.Warnings {
		p.hang("warning: " + text)
	}
	for _, c := range d.Comparisons {
		p.gap()
		p.put(comparisonText(c, width))
	}
	return write(w, p.text.String())
}

// widest is the columns that the lines of a text take.
func widest(text string) int {
	most := 0
	for line := range strings.Lines(text) {
		most = max(most, length(strings.TrimSuffix(line, "\n")))
	}
	return most
}

// meaning says what the columns of differences show, which is not what the medians beside
// them differ by, and how certain the verdicts are.
func meaning(c Comparison, a, b string) []string {
	if c.Lines[0].Pairs == 0 {
		return []string{"Differences are those of the medians; percentages are relative to " + a + "."}
	}
	return []string{
		fmt.Sprintf("Differences are medians of the paired differences %s − %s; percentages are relative to %s.", a, b, a),
		confidence(c) + ".",
	}
}

// comparisonTable calls A and B by two names.
func comparisonTable(c Comparison, a, b string) table {
	t := table{words: 1, rows: [][]string{{"medians", a, b, "difference", "of " + a, "interval (ms)"}}}
	for _, l := range c.Lines {
		t.rows = append(t.rows, []string{l.Metric, millis(l.A), millis(l.B), signed(l.Difference.Center), ofA(l), between(l.Difference)})
	}
	return t
}

// millis writes seconds as the recorded comparisons do: "796.10 ms".
func millis(seconds Number) string { return fmt.Sprintf("%.2f ms", seconds*1e3) }

func signed(seconds Number) string { return fmt.Sprintf("%+.2f ms", seconds*1e3) }

// ofA is the median of the pairs' differences relative to A, as verdicts tell it:
// empty where there is no ratio.
func ofA(l Line) string {
	if !finite(l.Ratio.Center) {
		return ""
	}
	return fmt.Sprintf("%+.2f%%", 100*(1-1/l.Ratio.Center))
}

func between(i Interval) string {
	if !finite(i.Low) || !finite(i.High) {
		return "unknown"
	}
	return fmt.Sprintf("%+.2f to %+.2f", i.Low*1e3, i.High*1e3)
}

// confidence is "95% confidence for all lines together, from 10 rounds".
func confidence(c Comparison) string {
	least, most := c.Lines[0].Pairs, c.Lines[0].Pairs
	for _, l := range c.Lines {
		least, most = min(least, l.Pairs), max(most, l.Pairs)
	}
	together, pairs := " for all lines together", format.Count(most, c.Pair)
	if len(c.Lines) == 1 {
		together = ""
	}
	if most != 1 {
		pairs = join(format.Grouped(least), format.Grouped(most)) + " " + plural(c.Pair)
	}
	return fmt.Sprintf("%s%% confidence%s, from %s", strconv.FormatFloat(100*c.Confidence, 'g', 6, 64), together, pairs)
}

// allWarnings are all warnings of a comparison, those of lines with their metrics, each
// once.
func allWarnings(c Comparison) []string {
	var list, texts []string
	metrics := map[string][]string{}
	for _, text := range c.Warnings {
		list = append(list, format.Clean(text))
	}
	for _, l := range c.Lines {
		for _, text := range l.Warnings {
			if metrics[text] == nil {
				texts = append(texts, text)
			}
			metrics[text] = append(metrics[text], l.Metric)
		}
	}
	for _, text := range texts {
		prefix := strings.Join(metrics[text], ", ") + ": "
		if len(metrics[text]) == len(c.Lines) {
			prefix = ""
		}
		list = append(list, prefix+format.Clean(text))
	}
	return list
}
