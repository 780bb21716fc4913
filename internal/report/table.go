package report

import (
	"slices"
	"strings"

	"github.com/llm-prober/prober/internal/format"
)

// A table is rows of cells, as text or Markdown.
type table struct {
	wordColumns int        // from the left: columns of words, aligned on the left; the others hold numbers
	rows        [][]string // the first is the head
}

// A tableStyle is what stands around the cells of a table.
type tableStyle struct {
	left, gutter, right string
	escape              func(string) string // of a cell
}

// text returns t for a terminal.
func (t table) text() string {
	return t.lines(tableStyle{gutter: "  ", escape: format.Clean})
}

// markdown returns t in Markdown.
func (t table) markdown() string {
	rule := slices.Repeat([]string{"---:"}, len(t.rows[0]))
	for i := range t.wordColumns {
		rule[i] = "---"
	}
	t.rows = slices.Insert(slices.Clone(t.rows), 1, rule)
	return t.lines(tableStyle{left: "| ", gutter: " | ", right: " |", escape: inline})
}

// lines aligns words on their left and numbers on their right.
func (t table) lines(style tableStyle) string {
	rows := make([][]string, 0, len(t.rows))
	for _, row := range t.rows {
		var escaped []string
		for _, cell := range row {
			escaped = append(escaped, style.escape(cell))
		}
		rows = append(rows, escaped)
	}
	isRight := slices.Repeat([]bool{true}, len(t.rows[0]))
	clear(isRight[:t.wordColumns])
	var text strings.Builder
	for _, cells := range format.PadColumns(rows, isRight) {
		text.WriteString(style.left + strings.Join(cells, style.gutter) + style.right + "\n")
	}
	return text.String()
}
