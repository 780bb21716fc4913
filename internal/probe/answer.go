package probe

import (
	"regexp"
	"strings"
	"unicode"
)

// contains reports whether an answer has the expected words in their order, whatever their case, with at most three
// others between two of them: it may list them, with numbers or an "and".
func contains(answer []byte, expected string) bool {
	words := func(text, between string) string { // letters and digits only, which a pattern need not quote
		return " " + strings.Join(strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
			return !unicode.IsLetter(r) && !unicode.IsDigit(r)
		}), between) + " "
	}
	return regexp.MustCompile(words(expected, `( \S+){0,3} `)).MatchString(words(string(answer), " "))
}
