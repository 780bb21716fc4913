package probe

import (
	"slices"
	"strings"
	"unicode"
)

// apart is how many other words may stand between two expected ones: an answer
// may list them, with numbers or an "and".
const apart = 3

// says reports whether an answer holds the expected words in their order, close to
// each other, whatever their case.
func says(answer []byte, expected string) bool {
	words, want := wordsIn(string(answer)), wordsIn(expected)
	for start := range words {
		if follows(words[start:], want) {
			return true
		}
	}
	return len(want) == 0
}

// follows reports whether words begin with the first of want, and go on with the
// others.
func follows(words, want []string) bool {
	for i, word := range want {
		reach := words[:min(len(words), apart+1)]
		if i == 0 {
			reach = words[:min(len(words), 1)]
		}
		at := slices.Index(reach, word)
		if at < 0 {
			return false
		}
		words = words[at+1:]
	}
	return true
}

// wordsIn is the words of a text in lower case.
func wordsIn(text string) []string {
	return strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r)
	})
}
