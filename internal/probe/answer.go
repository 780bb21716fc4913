package probe

import (
	"strings"
	"unicode"
)

// says reports whether an answer holds the expected words in their order, next to
// each other but for what is no letter or digit, whatever their case.
func says(answer []byte, expected string) bool {
	return strings.Contains(bare(string(answer)), bare(expected))
}

// bare is the words of a text in lower case, a space around each.
func bare(text string) string {
	words := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r)
	})
	return " " + strings.Join(words, " ") + " "
}
