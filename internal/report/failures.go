package report

import (
	"cmp"
	"slices"

	"github.com/llm-prober/prober/internal/probe"
)

// Failures are requests that failed alike, and what to do about it.
type Failures struct {
	Outcome  probe.Outcome
	Requests int
	Error    string // of the first of them; empty if nothing is known
	Hint     string // see [Hint]
}

// FailuresOf groups the samples that failed, the most frequent failure first.
// Canceled ones are none.
func FailuresOf(samples []Sample) []Failures {
	var list []Failures
	for _, s := range samples {
		if s.Outcome == probe.OK || s.Outcome == probe.Canceled {
			continue
		}
		i := slices.IndexFunc(list, func(f Failures) bool { return f.Outcome == s.Outcome && f.Hint == s.Hint })
		if i < 0 {
			i = len(list)
			list = append(list, Failures{Outcome: s.Outcome, Error: s.Error, Hint: s.Hint})
		}
		list[i].Requests++
	}
	slices.SortStableFunc(list, func(a, b Failures) int { return cmp.Compare(b.Requests, a.Requests) })
	return list
}

type jsonFailures struct {
	Outcome  probe.Outcome `json:"outcome"`
	Requests int           `json:"requests"`
	Error    *string       `json:"error"`
	Hint     *string       `json:"hint"`
}

func failuresJSON(list []Failures) []jsonFailures {
	all := []jsonFailures{}
	for _, f := range list {
		all = append(all, jsonFailures{Outcome: f.Outcome, Requests: f.Requests, Error: unlessEmpty(f.Error), Hint: unlessEmpty(f.Hint)})
	}
	return all
}

// unlessEmpty is a text fit for a terminal, or nil for none.
func unlessEmpty(s string) *string {
	if s == "" {
		return nil
	}
	return &listOf([]string{s})[0]
}
