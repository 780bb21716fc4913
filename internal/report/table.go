package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/llm-prober/prober/internal/format"
	"github.com/llm-prober/prober/internal/stats"
)

// A table is rows of cells, as text or Markdown.
type table struct {
	wordColumns int        // from the left: columns of words, aligned on the left; the others hold numbers
	rows        [][]string // the first is the head
}

func (t table) text() string {
	var text strings.Builder
	for _, cells := range t.padded(format.Clean) {
		text.WriteString(strings.Join(cells, "  ") + "\n")
	}
	return text.String()
}

func (t table) markdown() string {
	rule := slices.Repeat([]string{"---:"}, len(t.rows[0]))
	for i := range t.wordColumns {
		rule[i] = "---"
	}
	t.rows = slices.Insert(slices.Clone(t.rows), 1, rule)
	var text strings.Builder
	for _, cells := range t.padded(inline) {
		text.WriteString("| " + strings.Join(cells, " | ") + " |\n")
	}
	return text.String()
}

// padded returns the rows of t with cells of equal width in each column. Words are aligned on their left, numbers on
// their right.
func (t table) padded(escape func(string) string) [][]string {
	rows := make([][]string, 0, len(t.rows))
	for _, row := range t.rows {
		var escaped []string
		for _, cell := range row {
			escaped = append(escaped, escape(cell))
		}
		rows = append(rows, escaped)
	}
	isRight := slices.Repeat([]bool{true}, len(t.rows[0]))
	clear(isRight[:t.wordColumns])
	return format.PadColumns(rows, isRight)
}

// A column is a column of a table with a line for each summary.
type column struct {
	head string
	cell func(Summary) string
}

// tableOf returns a table with a line for each summary.
func tableOf(summaries []Summary, wordColumns int, columns []column) table {
	t := table{wordColumns: wordColumns, rows: make([][]string, len(summaries)+1)}
	for _, c := range columns {
		t.rows[0] = append(t.rows[0], c.head)
		for i, s := range summaries {
			t.rows[i+1] = append(t.rows[i+1], c.cell(s))
		}
	}
	return t
}

// Overview returns a table with a line for each summary: the steps of a bench, or the targets of which data is stored.
func Overview(summaries []Summary) string {
	if isStored(summaries) {
		return targetsText(summaries)
	}
	return stepsTable(summaries).text()
}

// isStored reports whether no summary has a load, because all are of stored data.
func isStored(summaries []Summary) bool {
	return !slices.ContainsFunc(summaries, func(s Summary) bool { return s.Load != "" })
}

// stepsTable returns a table with a line for each step of a bench. It leaves out columns that would be alike or empty
// in all lines.
func stepsTable(summaries []Summary) table {
	wordColumns := 1
	columns := []column{{"load", func(s Summary) string { return s.Load }}}
	if !ofOneTarget(summaries) {
		wordColumns = 2
		columns = slices.Insert(columns, 0, column{"target", func(s Summary) string { return s.Target }})
	}
	length := "prompt"
	if slices.ContainsFunc(summaries, func(s Summary) bool { return s.Prompt != "" }) {
		length = "prompt tokens"
		columns = slices.Insert(columns, wordColumns, column{"prompt", func(s Summary) string { return s.Prompt }})
		wordColumns++
	}
	isOtherLength := func(s Summary) bool { return s.PromptTokens != summaries[0].PromptTokens }
	if slices.ContainsFunc(summaries, isOtherLength) {
		columns = append(columns, column{length, func(s Summary) string { return format.Grouped(s.PromptTokens) }})
	}
	columns = append(columns,
		column{"ok", func(s Summary) string { return format.Grouped(s.Succeeded()) + "/" + format.Grouped(s.Sent()) }},
		column{"req/s", func(s Summary) string { return decimals(2, s.Throughput().RequestRate) }},
	)
	if slices.ContainsFunc(summaries, func(s Summary) bool { return s.Objectives != nil }) {
		columns = append(columns, column{"good/s", func(s Summary) string { return decimals(2, s.Throughput().Goodput) }})
	}
	columns = append(columns,
		column{"tok/s", func(s Summary) string { return decimals(2, s.Throughput().OutputRate) }},
		column{"TTFT P50", func(s Summary) string { return secondsOrNone(s.TTFT.At(stats.P50)) }},
		column{"TPOT P50", func(s Summary) string { return secondsOrNone(s.TPOT.At(stats.P50)) }},
		column{"E2EL P50", func(s Summary) string { return secondsOrNone(s.E2EL.At(stats.P50)) }},
	)
	return tableOf(summaries, wordColumns, columns)
}

// targetsText returns the table of [targetsTable] for a terminal, in at most 120 columns: longer names are shortened.
func targetsText(summaries []Summary) string {
	const width = 120
	const leastName = 12
	t := targetsTable(summaries)
	longest := 0
	for _, row := range t.rows {
		longest = max(longest, columnsOf(format.Clean(row[0])))
	}
	firstLine, _, _ := strings.Cut(t.text(), "\n")
	nameWidth := max(leastName, longest-max(0, columnsOf(firstLine)-width))
	for _, row := range t.rows {
		row[0] = format.Shorten(format.Clean(row[0]), nameWidth)
	}
	return t.text()
}

// targetsTable returns a table with a line for each target of which data is stored.
func targetsTable(summaries []Summary) table {
	columns := []column{
		{"target", func(s Summary) string { return s.Target }},
		{"probes", func(s Summary) string { return format.Grouped(s.Sent()) }},
		{"ok", okShare},
		{"TTFT P50", func(s Summary) string { return approximate(s.TTFT, stats.P50) }},
		{"TTFT P95", func(s Summary) string { return approximate(s.TTFT, stats.P95) }},
		{"ITL P50", func(s Summary) string { return approximate(s.ITL, stats.P50) }},
		{"TPOT P50", func(s Summary) string { return approximate(s.TPOT, stats.P50) }},
		{"E2EL P50", func(s Summary) string { return approximate(s.E2EL, stats.P50) }},
	}
	if slices.ContainsFunc(summaries, func(s Summary) bool { return s.Budgets != nil }) {
		columns = append(columns, column{"error budgets", budgetsText})
	}
	return tableOf(summaries, 1, columns)
}

func okShare(s Summary) string {
	if s.Sent() == 0 {
		return "none"
	}
	return format.Attainment(s.Succeeded(), s.Sent())
}

// wideBucket is the relative error from which on a quantile is not taken for exact. Classic buckets have more, native
// ones 4.4%.
const wideBucket = 0.1

// approximate writes a quantile with how exact it is: "~" before one from a wide bucket, ">" before the lower bound of
// one that has no upper bound.
func approximate(d stats.Distribution, share stats.Share) string {
	if d.Count == 0 {
		return "none"
	}
	q := d.Quantiles[share]
	deviation := q.RelativeError()
	switch {
	case math.IsInf(deviation, 1):
		return ">" + secondsOrNone(q.Low)
	case deviation > wideBucket:
		return "~" + secondsOrNone(q.Value)
	}
	return secondsOrNone(q.Value)
}

// budgetsText says what is left of the error budgets of s, in a few words: the least, or which are overspent.
func budgetsText(s Summary) string {
	var overspent []string
	least := stats.Number(1)
	hasData := false
	for _, b := range s.Budgets {
		hasData = hasData || b.Judged > 0
		least = min(least, b.Left)
		if b.Left < 0 {
			overspent = append(overspent, b.Objective)
		}
	}
	switch {
	case s.Budgets == nil:
		return "none"
	case !hasData:
		return "no data"
	case len(overspent) == 0:
		return format.Percent(float64(least)) + " left"
	case len(overspent) == 1:
		return "overspent: " + overspent[0]
	}
	return fmt.Sprintf("overspent: %d of %d", len(overspent), len(s.Budgets))
}

// latenciesTable returns a table with a line for each quantity of each summary that has values.
func latenciesTable(summaries []Summary) table {
	t := table{wordColumns: 2, rows: [][]string{{"requests", "latency", "mean"}}}
	for _, share := range stats.Shares() {
		t.rows[0] = append(t.rows[0], share.String())
	}
	for _, s := range summaries {
		for _, q := range quantities {
			d := *q.InSummary(&s)
			if d.Count == 0 {
				continue
			}
			row := []string{headline(s), q.Name, secondsOrNone(d.Mean)}
			for _, share := range stats.Shares() {
				row = append(row, approximate(d, share))
			}
			t.rows = append(t.rows, row)
		}
	}
	return t
}
