package config

import "strings"

// suggestion is `(did you mean "x"?)` with a leading space, or nothing when no
// known word is near.
func suggestion(word string, known []string) string {
	near, ok := Nearest(word, known)
	if !ok {
		return ""
	}
	return ` (did you mean "` + near + `"?)`
}

// Nearest returns the known word that word most probably stands for: the one
// with the smallest edit distance, at most a third of its letters and never
// more than three, or else the first that begins with word.
func Nearest(word string, known []string) (near string, ok bool) {
	least := min(3, max(1, len(word)/3)) + 1
	for _, k := range known {
		if d := distance(strings.ToLower(word), strings.ToLower(k), least); d < least {
			near, least = k, d
		}
	}
	if near != "" {
		return near, true
	}
	for _, k := range known {
		if len(word) >= 3 && strings.HasPrefix(k, strings.ToLower(word)) {
			return k, true
		}
	}
	return "", false
}

// distance is the number of letters to insert, delete, replace or swap with
// their neighbour to make b of a (optimal string alignment). Distances of limit
// and more are reported as limit.
func distance(a, b string, limit int) int {
	if len(a)-len(b) >= limit || len(b)-len(a) >= limit {
		return limit
	}
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		before, last, row = last, row, before
		row[0] = i
		for j := 1; j <= len(b); j++ {
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+differ(a[i-1], b[j-1]))
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
	}
	return min(row[len(b)], limit)
}

func differ(a, b byte) int {
	if a == b {
		return 0
	}
	return 1
}
