package status

import (
	"math"
	"slices"
	"sync"

	"github.com/llm-prober/prober/internal/probe"
	"github.com/llm-prober/prober/internal/report"
)

// A summary is what the successful results of the last hour say. Failed ones
// put no number into it.
type summary struct {
	results, ok           int
	ttft, tpot, itl, e2el quantiles
}

// Quantiles of n values, in seconds. Both are absent without a value.
type quantiles struct {
	N   int      `json:"n"`
	P50 *float64 `json:"p50"`
	P95 *float64 `json:"p95"`
}

// summarize takes one value a probe for TTFT, TPOT and E2EL, and one a token for
// ITL, so that a long answer weighs more than a short one.
func summarize(entries []*entry) summary {
	s := summary{results: len(entries)}
	var ttft, tpot, itl, e2el []float64
	for _, e := range entries {
		if !e.ok() {
			continue
		}
		s.ok++
		if e.account.TTFTValid {
			ttft = appendKnown(ttft, e.account.TTFT)
		}
		tpot = appendKnown(tpot, e.account.TPOT)
		e2el = appendKnown(e2el, e.account.E2EL)
		itl = append(itl, e.account.ITL...)
	}
	s.ttft, s.tpot, s.itl, s.e2el = quantilesOf(ttft), quantilesOf(tpot), quantilesOf(itl), quantilesOf(e2el)
	return s
}

func appendKnown(list []float64, v *float64) []float64 {
	if v == nil {
		return list
	}
	return append(list, *v)
}

// quantilesOf sorts values.
func quantilesOf(values []float64) quantiles {
	if len(values) == 0 {
		return quantiles{}
	}
	slices.Sort(values)
	p50, p95 := quantile(values, 0.5), quantile(values, 0.95)
	return quantiles{N: len(values), P50: &p50, P95: &p95}
}

// quantile is that of sorted values, in whole nanoseconds as the values are. There
// is at least one.
func quantile(sorted []float64, share float64) float64 {
	return math.Round(report.QuantileOf(sorted, share)*1e9) / 1e9
}

// A cache saves sorting the same results for every reader. It is safe for
// concurrent use; its zero value is ready.
type cache struct {
	mu             sync.Mutex // guards all below
	oldest, newest uint64     // numbers of the first and last entry of what was summarized
	summary        summary
}

// of summarizes the entries, which are consecutive results of one target: the
// first and the last tell them all.
func (c *cache) of(entries []*entry) summary {
	if len(entries) == 0 {
		return summary{}
	}
	oldest, newest := entries[0].number, entries[len(entries)-1].number
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.oldest != oldest || c.newest != newest {
		c.oldest, c.newest, c.summary = oldest, newest, summarize(entries)
	}
	return c.summary
}

// A tally is how the last hour's results did by one objective.
type tally struct {
	objective   probe.Objective
	good, total int
}

// tallies counts what was judged by the objectives as they are now: results
// that were judged by another limit do not count.
func (s *snapshot) tallies() []tally {
	list := make([]tally, 0, len(s.target.Objectives))
	for _, o := range s.target.Objectives {
		t := tally{objective: o}
		for _, e := range s.recent {
			for _, j := range e.judged {
				if j.objective != o {
					continue
				}
				t.total++
				if j.good {
					t.good++
				}
			}
		}
		list = append(list, t)
	}
	return list
}

// missed reports whether fewer than promised are good.
func (t tally) missed() bool {
	return t.total > 0 && float64(t.good) < t.objective.Goal*float64(t.total)
}
