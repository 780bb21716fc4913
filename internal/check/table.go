package check

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/llm-prober/prober/internal/format"
)

// A row is what the table says about a target. An empty cell is not known.
type row struct {
	name    string
	server  string
	version string // of the server
	prompt  string // exact, or how it is not
	answer  string // how many tokens in which time
	cost    string // tokens a day
	verdict string
}

// A column of the table.
type column struct {
	head  string
	cell  func(row) string
	right bool // aligned on the right
}

// layouts returns the columns of the table from the widest choice to the narrowest.
func layouts() [][]column {
	name := column{head: "target", cell: func(r row) string { return r.name }}
	server := column{head: "server", cell: func(r row) string { return strings.TrimSpace(r.server + " " + r.version) }}
	serverType := column{head: "server", cell: func(r row) string { return r.server }}
	prompt := column{head: "prompt", cell: func(r row) string { return r.prompt }}
	answer := column{head: "answer", cell: func(r row) string { return r.answer }, right: true}
	cost := column{head: "tokens a day", cell: func(r row) string { return r.cost }, right: true}
	verdict := column{head: "verdict", cell: func(r row) string { return r.verdict }}
	return [][]column{
		{name, server, prompt, answer, cost, verdict},
		{name, serverType, prompt, answer, cost, verdict},
		{name, prompt, answer, cost, verdict},
		{name, prompt, answer, verdict},
		{name, verdict},
	}
}

// gutter stands between two columns.
const gutter = "  "

// table returns rows below a head, in the widest layout of at most width columns. With cut, names are cut to fit where
// even the narrowest is too wide.
func table(rows []row, width int, cut bool) string {
	choices := layouts()
	columns := choices[len(choices)-1]
	for _, choice := range slices.Backward(choices) {
		if tableWidth(choice, rows) <= width {
			columns = choice
		}
	}
	excess := tableWidth(columns, rows) - width
	if cut && excess > 0 {
		longest := columnWidth(columns[0], rows)
		rows = slices.Clone(rows)
		for i := range rows {
			rows[i].name = cutMiddle(rows[i].name, longest-excess)
		}
	}
	var text strings.Builder
	text.WriteString(line(columns, rows, func(c column) string { return c.head }))
	for _, r := range rows {
		text.WriteString(line(columns, rows, func(c column) string { return c.show(r) }))
	}
	return text.String()
}

// line returns a line of the table. Columns are as wide as rows need.
func line(columns []column, rows []row, text func(column) string) string {
	var cells []string
	for _, c := range columns {
		width := columnWidth(c, rows)
		if !c.right {
			width = -width // fmt fills up a negative width on the right
		}
		cells = append(cells, fmt.Sprintf("%*s", width, text(c)))
	}
	return strings.TrimRight(strings.Join(cells, gutter), " ") + "\n"
}

// show returns the cell of r.
func (c column) show(r row) string {
	text := format.Clean(c.cell(r)) // a server chooses its version
	if text == "" {
		return "–"
	}
	return text
}

// tableWidth returns how many columns of a terminal the table takes.
func tableWidth(columns []column, rows []row) int {
	sum := len(gutter) * (len(columns) - 1)
	for _, c := range columns {
		sum += columnWidth(c, rows)
	}
	return sum
}

// columnWidth returns the width of the widest cell, head included.
func columnWidth(c column, rows []row) int {
	widest := utf8.RuneCountInString(c.head)
	for _, r := range rows {
		widest = max(widest, utf8.RuneCountInString(c.show(r)))
	}
	return widest
}

// cutMiddle returns at most n characters of a name, without those in its middle: names of replicas differ at their end.
func cutMiddle(name string, n int) string {
	runes := []rune(name)
	n = max(n, 3) // one at each end, and the ellipsis
	if len(runes) <= n {
		return name
	}
	tail := (n - 1) / 2
	return string(runes[:n-1-tail]) + "…" + string(runes[len(runes)-tail:])
}
