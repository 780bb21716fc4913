package status

import (
	"slices"

	"github.com/llm-prober/prober/internal/probe"
	"github.com/llm-prober/prober/internal/report"
	"github.com/llm-prober/prober/internal/stats"
)

// A cachedSummary is the summary of some consecutive results of a ring, which the first of them and their number
// identify. It saves sorting the same results for every reader.
type cachedSummary struct {
	first      *entry
	n          int
	objectives []probe.Objective
	summary    report.Summary
}

// summarize returns the summary of consecutive results of the ring, from the cache if it is there.
func (h *history) summarize(entries []*entry) report.Summary {
	objectives := h.target.Objectives
	if len(entries) == 0 {
		return report.Summarize(nil, objectives...)
	}
	cached := h.cache.Load()
	if cached != nil && cached.isOf(entries, objectives) {
		return cached.summary
	}
	samples := make([]report.Sample, 0, len(entries))
	for _, e := range entries {
		samples = append(samples, e.sampleFor(objectives))
	}
	summary := report.Summarize(samples, objectives...)
	summary.Requests = nil // nobody reads these, and they are as many as the samples
	h.cache.Store(&cachedSummary{first: entries[0], n: len(entries), objectives: objectives, summary: summary})
	return summary
}

// isOf reports whether c is the summary of these results by these objectives.
func (c *cachedSummary) isOf(entries []*entry, objectives []probe.Objective) bool {
	return c.first == entries[0] && c.n == len(entries) && slices.Equal(c.objectives, objectives)
}

// sampleFor returns what e adds to statistics, judged by the present objectives.
func (e *entry) sampleFor(objectives []probe.Objective) report.Sample {
	s := e.sample
	s.TokenITLs = e.itls()
	s.Judged = make([]report.Judgement, 0, len(objectives))
	for _, o := range objectives {
		s.Judged = append(s.Judged, e.judgement(o))
	}
	return s
}

// judgement returns the judgement of e by a present objective. Results are judged when they are recorded, by the
// objectives of that time. So a present objective takes the judgement of the one that had the same signal and limit and
// took refusals for the same, whatever its name and goal; without one, it does not judge e.
func (e *entry) judgement(o probe.Objective) report.Judgement {
	n := slices.IndexFunc(e.objectives, func(then probe.Objective) bool {
		return then.Signal == o.Signal && then.Limit == o.Limit && then.RefusalsAreBad == o.RefusalsAreBad
	})
	if n < 0 {
		return report.Judgement{}
	}
	return e.sample.Judged[n]
}

// median returns the median of values in any order; NaN if there are none.
func median(values []float64) stats.Number { return stats.Number(stats.Median(values)) }
