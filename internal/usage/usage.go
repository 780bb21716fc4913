// Package usage has the error for mistakes of a user: in the configuration, on the command line, or in a file that was
// given. A [Problem] names the place, what is wrong there and what would be right. Several are one error, [Problems]. A
// command that ends with it has exit code 2.
package usage

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/llm-prober/prober/internal/format"
)

// A Problem is one thing that is wrong, on one line and without secrets.
type Problem struct {
	// PROBER_QPS="fast", --qps="fast" or targets.yaml:12: qps="fast"; empty until it is known
	Place string `json:"place"`
	Text  string `json:"text"`           // what is wrong
	Hint  string `json:"hint,omitempty"` // what would be right; may be empty
}

// FlagPlace returns the place of a problem with a flag and its value.
func FlagPlace(flag string, value any) string {
	return fmt.Sprintf("--%s=\"%v\"", flag, value)
}

// Error returns the problem as a person reads it.
func (p Problem) Error() string {
	text := p.Located()
	if p.Hint != "" {
		text += "; " + p.Hint
	}
	return text
}

// Located returns what is wrong where, without the hint.
func (p Problem) Located() string {
	if p.Place == "" {
		return p.Text
	}
	return p.Place + ": " + p.Text
}

// Problems are all problems that were found, so that a user can solve them at once. They are one error.
type Problems []Problem

// Add adds a problem.
func (ps *Problems) Add(place, text, hint string) {
	*ps = append(*ps, Problem{Place: place, Text: text, Hint: hint})
}

// mostShown bounds the problems in the text of an error: a wrong file may have one on each line.
const mostShown = 100

// Error returns a line with the count, then a line for each problem, up to 100.
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

var digits = regexp.MustCompile(`[0-9]+`)

// Sorted returns the problems in the order of their places, without repetitions. Line 9 is before line 12. It leaves ps
// as it is; nil stays nil.
func (ps Problems) Sorted() Problems {
	pad := func(number string) string { return strings.Repeat("0", max(0, 20-len(number))) + number }
	sortKey := func(place string) string { return digits.ReplaceAllStringFunc(place, pad) }
	sorted := slices.SortedFunc(slices.Values(ps), func(a, b Problem) int {
		return cmp.Or(
			strings.Compare(sortKey(a.Place), sortKey(b.Place)),
			strings.Compare(a.Text, b.Text),
			strings.Compare(a.Hint, b.Hint),
		)
	})
	return slices.Compact(sorted)
}
