package format

import (
	"regexp"
	"strings"
	"unicode"
)

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
