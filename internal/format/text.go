package format

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// List joins words: "a, b and c".
func List(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:len(words)-1], ", ") + " and " + words[len(words)-1]
}

// Wrap returns a label and a text in lines of at most width columns. All lines after the first are indented by the
// width of the label, and by at least two columns. A word that is longer than a line has a line of its own.
func Wrap(label, text string, width int) string {
	indent := strings.Repeat(" ", max(2, utf8.RuneCountInString(label)))
	var b strings.Builder
	line := label
	isFirstWord := true
	for word := range strings.FieldsSeq(text) {
		switch {
		case isFirstWord:
			line += word
			isFirstWord = false
		case utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) <= width:
			line += " " + word
		default:
			b.WriteString(line + "\n")
			line = indent + word
		}
	}
	b.WriteString(strings.TrimRight(line, " ") + "\n")
	return b.String()
}

// Shorten returns at most n characters of s. If it leaves some out, the last one is an ellipsis.
func Shorten(s string, n int) string {
	runes := []rune(s)
	switch {
	case len(runes) <= n:
		return s
	case n <= 0:
		return ""
	}
	return string(runes[:n-1]) + "…"
}

// PadColumns returns the cells of a table, filled up with spaces so that those of a column are equally wide. isRight
// says for each column whether its texts stand at the right. All rows have as many cells as isRight, and stay as they
// are.
func PadColumns(rows [][]string, isRight []bool) [][]string {
	widths := make([]int, len(isRight))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	padded := make([][]string, 0, len(rows))
	for _, row := range rows {
		cells := make([]string, 0, len(row))
		for i, cell := range row {
			width := widths[i]
			if !isRight[i] {
				width = -width // fmt fills up a negative width on the right
			}
			cells = append(cells, fmt.Sprintf("%*s", width, cell))
		}
		padded = append(padded, cells)
	}
	return padded
}
