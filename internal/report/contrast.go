package report

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/llm-prober/prober/internal/format"
)

// WriteComparison writes the final summary of c: medians, differences with their
// intervals, a verdict a line, and warnings, in lines of at most width columns
// (0: 80; 40 at least) where words allow. Names that are too long for the table
// are letters in it. Colours are as in [Waterfall]. The error is that of w.
func WriteComparison(w io.Writer, c Comparison, width int, color bool) error {
	if width <= 0 {
		width = defaultWidth
	}
	p := &contrast{c: c, width: max(width, leastWidth), brush: brush(color)}
	p.nameColumns()
	p.heading()
	p.table()
	p.verdicts()
	p.confidence()
	p.warnings()
	if _, err := io.WriteString(w, p.text.String()); err != nil {
		return fmt.Errorf("write comparison: %w", err)
	}
	return nil
}

// A contrast gathers the text of one comparison.
type contrast struct {
	c     Comparison
	a, b  string // as the table calls them
	width int
	brush brush
	text  strings.Builder
}

// gutter is between the columns of a table.
const gutter = "  "

// nameColumns calls A and B by their names if the table is not too wide then,
// and they cannot be confused.
func (p *contrast) nameColumns() {
	p.a, p.b = format.Clean(p.c.A), format.Clean(p.c.B)
	if p.a == p.b || p.a == "" || p.b == "" || rowLength(p.columns()) > p.width {
		p.a, p.b = "A", "B"
	}
}

func (p *contrast) heading() {
	load := ""
	if p.c.Load != "" {
		load = ", " + format.Clean(p.c.Load)
	}
	p.text.WriteString(p.brush.paint(bold, "Comparison of "+p.a+" with "+p.b) + load + "\n")
	if p.a == "A" && p.b == "B" {
		p.text.WriteString("  A  " + format.Clean(p.c.A) + "\n  B  " + format.Clean(p.c.B) + "\n")
	}
	p.text.WriteString("\n")
}

// rows are the table: its head, and a row a line.
func (p *contrast) rows() [][]string {
	rows := [][]string{{"medians", p.a, p.b, "difference", "of " + p.a, "interval (ms)"}}
	for _, l := range p.c.Lines {
		rows = append(rows, []string{
			l.Metric, millis(l.A), millis(l.B), signed(l.Difference.Center), ofA(l), between(l.Difference),
		})
	}
	return rows
}

// columns are the widths of the table's columns.
func (p *contrast) columns() []int {
	var widths []int
	for _, row := range p.rows() {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], length(cell))
		}
	}
	return widths
}

func rowLength(widths []int) int {
	sum := len(gutter) * (len(widths) - 1)
	for _, w := range widths {
		sum += w
	}
	return sum
}

// paired is what the columns of differences show: not what the medians beside them
// differ by.
const paired = "median of paired differences"

// overDifferences writes that above those columns, from the first to the last.
func overDifferences(widths []int) string {
	free := rowLength(widths[3:]) - length(paired) - 2
	line := strings.Repeat("-", max(0, free/2)) + " " + paired + " " + strings.Repeat("-", max(0, free-free/2))
	return padLeft(line, rowLength(widths))
}

func (p *contrast) table() {
	if len(p.c.Lines) == 0 {
		return
	}
	widths := p.columns()
	p.text.WriteString(p.brush.paint(dim, overDifferences(widths)) + "\n")
	for i, row := range p.rows() {
		cells := slices.Clone(row)
		for j := range cells {
			if j == 0 {
				cells[j] = pad(cells[j], widths[j])
			} else {
				cells[j] = padLeft(cells[j], widths[j])
			}
		}
		line := strings.Join(cells, gutter)
		if i == 0 {
			line = p.brush.paint(dim, line)
		}
		p.text.WriteString(line + "\n")
	}
	p.text.WriteString("\n")
}

// millis writes seconds as the recorded comparisons do: "796.10 ms".
func millis(seconds float64) string { return fmt.Sprintf("%.2f ms", seconds*1e3) }

func signed(seconds float64) string { return fmt.Sprintf("%+.2f ms", seconds*1e3) }

// ofA is the median of the pairs' differences relative to A, as verdicts tell it:
// empty where there is no ratio.
func ofA(l Line) string {
	if math.IsNaN(l.Ratio.Center) {
		return ""
	}
	return fmt.Sprintf("%+.2f%%", 100*(1-1/l.Ratio.Center))
}

func between(i Interval) string {
	if math.IsInf(i.Low, 0) || math.IsInf(i.High, 0) {
		return "unknown"
	}
	return fmt.Sprintf("%+.2f to %+.2f", i.Low*1e3, i.High*1e3)
}

func (p *contrast) verdicts() {
	for _, l := range p.c.Lines {
		words := Verdict(l, p.a, p.b)
		lines := wrap(words, p.width-6)
		for i, text := range lines {
			label := ""
			if i == 0 {
				label = l.Metric
			}
			if l.Shown {
				text = p.brush.paint(bold, text)
			}
			p.text.WriteString(strings.TrimRight(pad(label, 6)+text, " ") + "\n")
		}
	}
}

// confidence says how the differences are meant and how certain the verdicts are.
func (p *contrast) confidence() {
	if text := confidence(p.c); text != "" {
		base := fmt.Sprintf("Differences are %s − %s within a pair; percentages are relative to %s.", p.a, p.b, p.a)
		lines := slices.Concat(wrap(base, p.width), wrap(text+".", p.width))
		p.text.WriteString("\n" + strings.Join(lines, "\n") + "\n")
	}
}

// confidence is "95% confidence for all lines together, from 10 rounds".
func confidence(c Comparison) string {
	if len(c.Lines) == 0 {
		return ""
	}
	least, most := c.Lines[0].Pairs, c.Lines[0].Pairs
	for _, l := range c.Lines {
		least, most = min(least, l.Pairs), max(most, l.Pairs)
	}
	what := " for all lines together"
	if len(c.Lines) == 1 {
		what = ""
	}
	level := strconv.FormatFloat(100*c.Confidence, 'g', 6, 64)
	return fmt.Sprintf("%s%% confidence%s, from %s", level, what, pairsOf(least, most, c.Pair))
}

func pairsOf(least, most int, pair string) string {
	switch {
	case most == 1:
		return "1 " + pair
	case least == most:
		return format.Grouped(most) + " " + plural(pair)
	}
	return format.Grouped(least) + " to " + format.Grouped(most) + " " + plural(pair)
}

func (p *contrast) warnings() {
	for _, text := range allWarnings(p.c) {
		for i, line := range wrap("warning: "+text, p.width-2) {
			switch {
			case i > 0:
				line = "  " + line
			default:
				line = p.brush.paint(yellow, "warning:") + strings.TrimPrefix(line, "warning:")
			}
			p.text.WriteString(line + "\n")
		}
	}
}

// allWarnings are all warnings of a comparison, those of lines with their metrics, each
// once.
func allWarnings(c Comparison) []string {
	var texts []string
	metrics := map[string][]string{}
	for _, l := range c.Lines {
		for _, text := range l.Warnings {
			if metrics[text] == nil {
				texts = append(texts, text)
			}
			metrics[text] = append(metrics[text], l.Metric)
		}
	}
	list := []string{}
	for _, text := range c.Warnings {
		list = append(list, format.Clean(text))
	}
	for _, text := range texts {
		if len(metrics[text]) == len(c.Lines) {
			list = append(list, format.Clean(text))
			continue
		}
		list = append(list, strings.Join(metrics[text], ", ")+": "+format.Clean(text))
	}
	return list
}
