package config

import (
	"slices"
	"strings"
)

// suggestion is `(did you mean "x"?)` with a leading space, or nothing when no
// known word is near.
func suggestion(word string, known []string) string {
	if near := Nearest(word, known); near != "" {
		return ` (did you mean "` + near + `"?)`
	}
	return ""
}

// Nearest returns the known word with the smallest edit distance to word, at most a third of
// its letters and never more than three, or else the first that begins with word, or "".
func Nearest(word string, known []string) (near string) {
	word = strings.ToLower(word)
	least := min(3, max(1, len(word)/3)) + 1
	for _, k := range known {
		if max(len(word)-len(k), len(k)-len(word)) >= least {
			continue
		}
		if d := distance(word, strings.ToLower(k)); d < least {
			near, least = k, d
		}
	}
	first := slices.IndexFunc(known, func(k string) bool { return strings.HasPrefix(k, word) })
	if near == "" && len(word) >= 3 && first >= 0 {
		return known[first]
	}
	return near
}

// distance is the number of letters to insert, delete, replace or swap with
// their neighbour to make b of a (optimal string alignment).
func distance(a, b string) int {
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		for j := range rows[i] {
			switch {
			case i == 0 || j == 0:
				rows[i][j] = i + j
			case a[i-1] == b[j-1]:
				rows[i][j] = rows[i-1][j-1]
			case i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1]:
				rows[i][j] = 1 + min(rows[i-1][j], rows[i][j-1], rows[i-1][j-1], rows[i-2][j-2])
			default:
				rows[i][j] = 1 + min(rows[i-1][j], rows[i][j-1], rows[i-1][j-1])
			}
		}
	}
	return rows[len(a)][len(b)]
}
