// Package format writes numbers, durations and texts as people read them.
//
// It takes values of the standard library and returns texts. All that people read goes through it, so that a duration
// or a percentage reads the same in a log, in a table and on the page. percent.go has the percentages with their
// rounding, and terminal.go the width of tables. [Clean] makes texts from servers and files safe to print.
package format

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/dustin/go-humanize"
)

// Duration writes d with three significant digits: "850 µs", "12.3 ms", "1.63 s".
func Duration(d time.Duration) string {
	switch {
	case d == 0:
		return "0 s"
	case d < 999500*time.Nanosecond:
		return Digits(float64(d)/1e3) + " µs"
	case d < 999500*time.Microsecond:
		return Digits(float64(d)/1e6) + " ms"
	}
	return Digits(d.Seconds()) + " s"
}

// Seconds writes seconds as [Duration] does.
func Seconds(seconds float64) string {
	return Duration(time.Duration(seconds * float64(time.Second)))
}

// Short writes seconds as [Duration] does, but without final zeros, for values of settings: "2 s", "1.5 s", "250 ms".
func Short(seconds float64) string {
	number, unit, _ := strings.Cut(Seconds(seconds), " ")
	if strings.Contains(number, ".") {
		number = strings.TrimRight(strings.TrimRight(number, "0"), ".")
	}
	return number + " " + unit
}

// Elapsed writes a time that has passed, rounded down to whole units: "3.2 s", "42 s", "12 min", "5 h 12 min" or
// "2 d 2 h".
func Elapsed(seconds float64) string {
	minutes := int(seconds) / 60
	hours, days := minutes/60, minutes/60/24
	switch {
	case seconds < 10:
		return fmt.Sprintf("%.1f s", seconds)
	case minutes < 1:
		return fmt.Sprintf("%d s", int(seconds))
	case hours < 1:
		return fmt.Sprintf("%d min", minutes)
	case days < 1:
		return fmt.Sprintf("%d h %d min", hours, minutes%60)
	}
	return fmt.Sprintf("%d d %d h", days, hours%24)
}

// Digits writes v, which is not below 0, with three significant digits, and never rounds those before the point:
// "0.85", "12.3", "1634".
func Digits(v float64) string {
	switch {
	case v < 9.995:
		return strconv.FormatFloat(v, 'f', 2, 64)
	case v < 99.95:
		return strconv.FormatFloat(v, 'f', 1, 64)
	}
	return strconv.FormatFloat(v, 'f', 0, 64)
}

// Grouped writes 21000 as 21,000.
func Grouped(n int) string { return humanize.Comma(int64(n)) }

// Count writes a number of things: "1 frame", "21,000 frames".
func Count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return Grouped(n) + " " + noun + "s"
}

// List joins words: "a, b and c".
func List(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:len(words)-1], ", ") + " and " + words[len(words)-1]
}

// escapeSequences matches sequences that a terminal obeys instead of printing them (ECMA-48): colours and movements
// (CSI), titles and links (OSC and others, up to their end), and short ones. Of a sequence without end it matches the
// beginning.
var escapeSequences = regexp.MustCompile(
	`(?:\x1b\[|\x{9b})[0-?]*[ -/]*[@-~]?` + // CSI
		`|\x1b[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)` + // OSC, DCS, SOS, PM, APC
		`|\x1b[ -/]?[0-~]?`)

// Clean returns a text from elsewhere as it can be shown on a terminal or a page. It replaces white space by single
// spaces and removes what does not print: escape sequences, control characters, marks that reverse the writing
// direction.
func Clean(s string) string {
	withoutEscapes := escapeSequences.ReplaceAllString(s, "")
	printed := strings.Map(printable, withoutEscapes)
	return strings.Join(strings.Fields(printed), " ")
}

// printable returns r, a space if it is white space, or -1 if it does not print.
func printable(r rune) rune {
	switch {
	case unicode.IsSpace(r):
		return ' '
	case !unicode.IsPrint(r):
		return -1
	}
	return r
}

// Wrap returns a label and a text in lines of at most width columns. The lines of the text begin at the same column,
// which is at least the third. A word that is longer than a line has a line of its own.
func Wrap(label, text string, width int) string {
	indent := strings.Repeat(" ", max(2, utf8.RuneCountInString(label)))
	var b strings.Builder
	line, isFirstWord := label, true
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
