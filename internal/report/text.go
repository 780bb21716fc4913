package report

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// The columns of texts for a terminal.
const (
	leastWidth   = 40
	defaultWidth = 80
)

// A printer gathers text for a terminal.
type printer struct {
	width int
	text  strings.Builder
}

// newPrinter prints lines of at most width columns (0: 80; 40 at least) where words allow.
func newPrinter(width int) *printer {
	if width <= 0 {
		width = defaultWidth
	}
	return &printer{width: max(width, leastWidth)}
}

func (p *printer) put(text string) { p.text.WriteString(text) }

func (p *printer) gap() { p.put("\n") }

// wrap writes a label and a text, which goes on below itself where it is too long.
func (p *printer) wrap(label, text string) { p.lines(label, strings.Repeat(" ", length(label)), text) }

// hang writes a text, which goes on a bit further right.
func (p *printer) hang(text string) { p.lines("", "  ", text) }

func (p *printer) lines(first, next, text string) {
	for _, line := range wrap(text, p.width-length(next)) {
		p.put(strings.TrimRight(first+line, " ") + "\n")
		first = next
	}
}

// wrap breaks a text into lines of at most width runes. A word that is longer
// has a line of its own.
func wrap(s string, width int) []string {
	var lines []string
	line := ""
	for word := range strings.FieldsSeq(s) {
		switch {
		case line == "":
			line = word
		case length(line)+1+length(word) <= width:
			line += " " + word
		default:
			lines = append(lines, line)
			line = word
		}
	}
	return append(lines, line)
}

// known leaves out empty texts.
func known(texts ...string) []string {
	return slices.DeleteFunc(texts, func(s string) bool { return s == "" })
}

// length is the columns that s takes.
func length(s string) int { return utf8.RuneCountInString(s) }

// pad fills s with spaces on its right up to width runes.
func pad(s string, width int) string { return s + strings.Repeat(" ", max(0, width-length(s))) }

// padLeft fills s with spaces on its left up to width runes.
func padLeft(s string, width int) string { return strings.Repeat(" ", max(0, width-length(s))) + s }
