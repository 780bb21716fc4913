package check

import (
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
	cells := padded(choices[len(choices)-1], rows)
	for _, choice := range slices.Backward(choices) {
		wider := padded(choice, rows)
		if lineWidth(wider[0]) <= width {
			cells = wider
		}
	}
	excess := lineWidth(cells[0]) - width
	if cut && excess > 0 {
		longest := utf8.RuneCountInString(cells[0][0])
		rows = slices.Clone(rows)
		for i := range rows {
			rows[i].name = cutMiddle(rows[i].name, longest-excess)
		}
		cells = padded(choices[len(choices)-1], rows)
	}
	var text strings.Builder
	for _, line := range cells {
		text.WriteString(strings.TrimRight(strings.Join(line, gutter), " ") + "\n")
	}
	return text.String()
}

// padded returns the head and the rows as cells that are as wide as their columns.
func padded(columns []column, rows []row) [][]string {
	cells := make([][]string, len(rows)+1)
	var isRight []bool
	for _, c := range columns {
		isRight = append(isRight, c.right)
		cells[0] = append(cells[0], c.head)
		for i, r := range rows {
			cells[i+1] = append(cells[i+1], c.show(r))
		}
	}
	return format.PadColumns(cells, isRight)
}

// show returns the cell of r.
func (c column) show(r row) string {
	text := format.Clean(c.cell(r)) // a server chooses its version
	if text == "" {
		return "–"
	}
	return text
}

// lineWidth returns how many columns of a terminal a line of padded cells takes.
func lineWidth(cells []string) int { return utf8.RuneCountInString(strings.Join(cells, gutter)) }

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
