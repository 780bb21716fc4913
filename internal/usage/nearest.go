package usage

import (
	"slices"
	"strings"
)

// Unknown returns the problem of a word that is not among the known ones. An empty known word means that the word may
// be left out.
func Unknown(place, word string, known []string) Problem {
	if suggestion := Suggestion(word, known); suggestion != "" {
		return Problem{Place: place, Text: "unknown" + suggestion}
	}
	words := strings.TrimSuffix(strings.Join(known, ", "), ", ")
	return Problem{Place: place, Text: "unknown", Hint: "want one of " + words}
}

// Suggestion returns ` (did you mean "x"?)`, with its leading space, or nothing if no known word is near.
func Suggestion(word string, known []string) string {
	if near := Nearest(word, known); near != "" {
		return ` (did you mean "` + near + `"?)`
	}
	return ""
}

// Nearest returns the known word at the smallest edit distance, which is at most three or a third of its letters;
// otherwise the first known word that begins with word, if that has three letters; otherwise nothing.
func Nearest(word string, known []string) string {
	word = strings.ToLower(word)
	farthest := min(3, max(1, len(word)/3))
	for distance := range farthest + 1 {
		for _, k := range known {
			if within(distance, word, strings.ToLower(k)) {
				return k
			}
		}
	}
	begun := slices.IndexFunc(known, func(k string) bool { return strings.HasPrefix(k, word) })
	if len(word) < 3 || begun < 0 {
		return ""
	}
	return known[begun]
}

// within reports whether at most n edits turn a into b. An edit inserts, deletes or replaces a letter, or swaps two
// neighbours. The time grows exponentially with n.
func within(n int, a, b string) bool {
	for a != "" && b != "" && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	switch {
	case a == "" || b == "":
		return len(a)+len(b) <= n
	case n == 0:
		return false
	}
	swapped := len(a) > 1 && len(b) > 1 && a[0] == b[1] && a[1] == b[0]
	if swapped && within(n-1, a[2:], b[2:]) {
		return true
	}
	return within(n-1, a[1:], b) || within(n-1, a, b[1:]) || within(n-1, a[1:], b[1:])
}
