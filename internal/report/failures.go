package report

import (
	"cmp"
	"slices"

	"github.com/llm-prober/prober/internal/probe"
)

// Failures are requests that failed alike, and what to do about it.
type Failures struct {
	Outcome  probe.Outcome `json:"outcome"`
	Requests int           `json:"requests"`
	Error    Text          `json:"error"` // of the first of them; empty if nothing is known
	Hint     Text          `json:"hint"`  // see [Hint]
}

// FailuresOf groups the samples that failed, the most frequent failure first.
// Canceled ones are none.
func FailuresOf(samples []Sample) []Failures {
	var list []Failures
	for _, s := range samples {
		if s.Outcome == probe.OK || s.Outcome == probe.Canceled {
			continue
		}
		i := slices.IndexFunc(list, func(f Failures) bool { return f.Outcome == s.Outcome && f.Hint == Text(s.Hint) })
		if i < 0 {
			i = len(list)
			list = append(list, Failures{Outcome: s.Outcome, Error: Text(s.Error), Hint: Text(s.Hint)})
		}
		list[i].Requests++
	}
	slices.SortStableFunc(list, func(a, b Failures) int { return cmp.Compare(b.Requests, a.Requests) })
	return list
}
