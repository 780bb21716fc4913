package plot

import (
	"html"
	"strings"
	"unicode"

	"github.com/llm-prober/prober/internal/format"
)

// escape is a clean text as it stands in XML and in HTML, in an element or an
// attribute.
func escape(s string) string { return html.EscapeString(format.Clean(s)) }

// width is about what a clean text takes at a font size, in the same unit, and
// rather too much: the font is unknown.
func width(s string, size float64) float64 {
	sum := 0.0
	for _, r := range s {
		sum += advance(r)
	}
	return sum * size
}

// advance is the width of a rune in sizes of its font.
func advance(r rune) float64 {
	switch {
	case unicode.In(r, unicode.Mn, unicode.Me):
		return 0
	case r >= 0x1100:
		return 1.1 // mostly full width
	case strings.ContainsRune(" .,:;'|!ijl/()[]", r):
		return 0.36
	case strings.ContainsRune("mwMW@%&", r):
		return 0.95
	case unicode.IsUpper(r):
		return 0.7
	}
	return 0.6
}

// cut shortens a clean text to a width. What is shorter ends with an ellipsis.
func cut(s string, size, limit float64) string {
	if width(s, size) <= limit {
		return s
	}
	sum := advance('…') * size
	for i, r := range s {
		if sum += advance(r) * size; sum > limit {
			return strings.TrimRight(s[:i], " ") + "…"
		}
	}
	return s
}

// wrap breaks a clean text into lines of at most a width; a longer word is cut.
func wrap(s string, size, limit float64) []string {
	var lines []string
	line := ""
	for word := range strings.FieldsSeq(s) {
		word = cut(word, size, limit)
		if line == "" {
			line = word
			continue
		}
		if width(line+" "+word, size) > limit {
			lines, line = append(lines, line), word
			continue
		}
		line += " " + word
	}
	if line != "" {
		lines = append(lines, line)
	}
	return lines
}
