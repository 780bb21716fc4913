package probe

import (
	"slices"
	"strings"
	"unicode"
)

// contains reports whether an answer has the expected words in their order, whatever their case,
// with at most three others between two of them: it may list them, with numbers or an "and".
func contains(answer []byte, expected string) bool {
	want := wordsIn(expected)
	if len(want) == 0 {
		return true
	}
	words := wordsIn(string(answer))
	for start, word := range words {
		if word == want[0] && follow(words[start+1:], want[1:]) {
			return true
		}
	}
	return false
}

func follow(words, want []string) bool {
	for _, word := range want {
		at := slices.Index(words[:min(len(words), 4)], word)
		if at < 0 {
			return false
		}
		words = words[at+1:]
	}
	return true
}

func wordsIn(text string) []string {
	return strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r)
	})
}
