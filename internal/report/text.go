package report

import "strings"

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

// length is the columns that s takes: its runes without our own colours. There
// are no others in it, since [format.Clean] lets no escape pass.
func length(s string) int {
	n, colour := 0, false
	for _, r := range s {
		switch {
		case r == '\x1b':
			colour = true
		case colour:
			colour = r != 'm'
		default:
			n++
		}
	}
	return n
}

// pad fills s with spaces on its right up to width runes.
func pad(s string, width int) string { return s + strings.Repeat(" ", max(0, width-length(s))) }

// padLeft fills s with spaces on its left up to width runes.
func padLeft(s string, width int) string { return strings.Repeat(" ", max(0, width-length(s))) + s }

// A paint is an ANSI colour.
type paint string

// The colours, which every terminal maps to its own palette.
const (
	plain  paint = ""
	bold   paint = "1"
	dim    paint = "2"
	red    paint = "31"
	green  paint = "32"
	yellow paint = "33"
	blue   paint = "34"
	purple paint = "35"
	cyan   paint = "36"
)

// A brush paints texts, or leaves them as they are.
type brush bool

func (b brush) paint(p paint, s string) string {
	if !b || p == plain || s == "" {
		return s
	}
	return "\x1b[" + string(p) + "m" + s + "\x1b[0m"
}
