package report

import (
	"strconv"
	"strings"
	"time"
	"unicode"
)

// duration spells d with three significant digits: "850 µs", "12.3 ms",
// "1.63 s".
func duration(d time.Duration) string {
	switch {
	case d == 0:
		return "0 s"
	case d < 999500*time.Nanosecond:
		return digits(float64(d)/1e3) + " µs"
	case d < 999500*time.Microsecond:
		return digits(float64(d)/1e6) + " ms"
	}
	return digits(d.Seconds()) + " s"
}

func digits(v float64) string {
	switch {
	case v < 9.995:
		return strconv.FormatFloat(v, 'f', 2, 64)
	case v < 99.95:
		return strconv.FormatFloat(v, 'f', 1, 64)
	}
	return strconv.FormatFloat(v, 'f', 0, 64)
}

// clean makes a text that others wrote fit for a terminal: white space becomes
// one space, and what does not print (escape sequences, controls, marks that
// turn the direction of writing) is left out.
func clean(s string) string {
	return strings.Join(strings.Fields(strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case !unicode.IsPrint(r):
			return -1
		}
		return r
	}, s)), " ")
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

// length is the columns that s takes: its runes without our own colours. There
// are no others in it, since [clean] lets no escape pass.
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

// cut is s in at most width runes, with a mark where something is missing.
func cut(s string, width int) string {
	runes := []rune(s)
	switch {
	case len(runes) <= width:
		return s
	case width <= 0:
		return ""
	}
	return string(runes[:width-1]) + "…"
}

// counted is a number of things: "1 frame", "2 frames".
func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(n) + " " + noun + "s"
}

// Grouped writes 21000 as 21,000.
func Grouped(n int) string {
	text := strconv.Itoa(n)
	for i := len(text) - 3; i > 0 && text[i-1] != '-'; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// many is [counted] for numbers that may be large: "21,000 tokens".
func many(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return Grouped(n) + " " + noun + "s"
}

// durationOf spells seconds as [duration] does.
func durationOf(seconds float64) string {
	return duration(time.Duration(seconds * float64(time.Second)))
}

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
