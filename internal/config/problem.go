package config

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/llm-prober/prober/internal/format"
)

// A Problem is one thing that is wrong with the configuration or the command line, on one line and without secrets.
type Problem struct {
	Place string `json:"place"`          // PROBER_QPS="fast", --qps="fast" or targets.yaml:12: qps="fast"; empty until it is known
	Text  string `json:"text"`           // what is wrong
	Hint  string `json:"hint,omitempty"` // what would be right; may be empty
}

// FlagPlace is a flag and its value as a place of problems.
func FlagPlace(flag string, value any) string { return fmt.Sprintf("--%s=\"%v\"", flag, value) }

// Error is the problem as a person reads it.
func (p Problem) Error() string {
	return strings.TrimSuffix(p.Place+": "+p.Text+"; "+p.Hint, "; ")
}

// Problems is everything that is wrong, sorted by place: the error that [Load] returns.
type Problems []Problem

// Add adds a problem.
func (ps *Problems) Add(place, text, hint string) {
	*ps = append(*ps, Problem{Place: place, Text: text, Hint: hint})
}

const mostShown = 100 // problems in an error; more come from one file that is none of ours

// Error is a line with the count, then a line for each problem, up to 100.
func (ps Problems) Error() string {
	lines := []string{format.Count(len(ps), "problem") + ":"}
	for _, p := range ps[:min(len(ps), mostShown)] {
		lines = append(lines, p.Error())
	}
	if more := len(ps) - mostShown; more > 0 {
		lines = append(lines, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(lines, "\n  ")
}

var number = regexp.MustCompile(`[0-9]+`)

// sorted orders ps by place, numbers in it by their value, and drops repetitions.
func (ps Problems) sorted() Problems {
	natural := func(place string) string {
		return number.ReplaceAllStringFunc(place, func(n string) string { return strings.Repeat("0", max(0, 20-len(n))) + n })
	}
	slices.SortFunc(ps, func(a, b Problem) int {
		return cmp.Or(strings.Compare(natural(a.Place), natural(b.Place)), strings.Compare(a.Text, b.Text), strings.Compare(a.Hint, b.Hint))
	})
	return slices.Compact(ps)
}

// Unknown is the problem of a word that is none of those known; an empty one among them may be left out.
func Unknown(place, word string, known []string) Problem {
	p := Problem{Place: place, Text: "unknown" + suggestion(word, known)}
	if p.Text == "unknown" {
		p.Hint = "want one of " + strings.TrimSuffix(strings.Join(known, ", "), ", ")
	}
	return p
}

// suggestion is `(did you mean "x"?)` with a leading space, or nothing when no known word is near.
func suggestion(word string, known []string) string {
	if near := Nearest(word, known); near != "" {
		return ` (did you mean "` + near + `"?)`
	}
	return ""
}

// Nearest returns the known word at the smallest edit distance, three or a third of its letters at most, or one that word begins.
func Nearest(word string, known []string) string {
	word = strings.ToLower(word)
	for d := range min(3, max(1, len(word)/3)) + 1 {
		for _, k := range known {
			if near(word, strings.ToLower(k), d) {
				return k
			}
		}
	}
	first := slices.IndexFunc(known, func(k string) bool { return strings.HasPrefix(k, word) })
	if len(word) < 3 || first < 0 {
		return ""
	}
	return known[first]
}

// near reports whether inserting, deleting, replacing or swapping with its neighbour at most n letters, n small, makes b of a.
func near(a, b string, n int) bool {
	for a != "" && b != "" && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	switch {
	case a == "" || b == "":
		return len(a)+len(b) <= n
	case n == 0:
		return false
	case len(a) > 1 && len(b) > 1 && a[0] == b[1] && a[1] == b[0] && near(a[2:], b[2:], n-1):
		return true
	}
	return near(a[1:], b, n-1) || near(a, b[1:], n-1) || near(a[1:], b[1:], n-1)
}
