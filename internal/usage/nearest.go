package usage

import "strings"

// Unknown returns the problem of a word that is not among the known ones. An empty known word means that the word may
// be left out.
func Unknown(place, word string, known []string) Problem {
	suggestion := Suggestion(word, known)
	if suggestion != "" {
		return Problem{Place: place, Text: "unknown" + suggestion}
	}
	words := strings.TrimSuffix(strings.Join(known, ", "), ", ")
	return Problem{Place: place, Text: "unknown", Hint: "want one of " + words}
}

// Suggestion returns ` (did you mean "x"?)`, with its leading space, or nothing if no known word is near.
func Suggestion(word string, known []string) string {
	near := Nearest(word, known)
	if near == "" {
		return ""
	}
	return ` (did you mean "` + near + `"?)`
}

// Nearest returns the known word at the smallest edit distance, which is at most three or a third of its letters;
// otherwise the first known word that begins with word, if that has three letters; otherwise nothing. The case of
// letters does not matter, but a known word in upper case is not found by its beginning: variables have common ones.
func Nearest(word string, known []string) string {
	letters := []rune(strings.ToLower(word))
	nearest := ""
	least := min(3, max(1, len(letters)/3)) + 1
	for _, k := range known {
		d := distance(letters, []rune(strings.ToLower(k)))
		if d < least {
			nearest = k
			least = d
		}
	}
	if nearest != "" || len(letters) < 3 {
		return nearest
	}
	for _, k := range known {
		if strings.HasPrefix(k, string(letters)) {
			return k
		}
	}
	return ""
}

// distance returns how many edits turn a into b. An edit inserts, deletes or replaces a letter, or swaps two neighbours
// (https://en.wikipedia.org/wiki/Damerau-Levenshtein_distance, optimal string alignment).
func distance(a, b []rune) int {
	edits := make([][]int, len(a)+1) // edits[i][j] turn a[:i] into b[:j]
	for i := range edits {
		edits[i] = make([]int, len(b)+1)
		edits[i][0] = i
	}
	for j := range edits[0] {
		edits[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			replaced := edits[i-1][j-1]
			if a[i-1] != b[j-1] {
				replaced++
			}
			edits[i][j] = min(replaced, edits[i-1][j]+1, edits[i][j-1]+1)
			isSwap := i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1]
			if isSwap {
				edits[i][j] = min(edits[i][j], edits[i-2][j-2]+1)
			}
		}
	}
	return edits[len(a)][len(b)]
}
