package status

import (
	"slices"

	"github.com/llm-prober/prober/internal/probe"
	"github.com/llm-prober/prober/internal/report"
)

// A summarized is the summary of n consecutive results. The first of them and n identify them.
type summarized struct {
	first      *entry
	n          int
	objectives []probe.Objective
	summary    report.Summary
}

// summarize sums up consecutive results of the ring. It saves sorting the same results for every reader.
func (h *history) summarize(entries []*entry) report.Summary {
	objectives := h.target.Objectives
	if len(entries) == 0 {
		return report.Summarize(nil, objectives...)
	}
	s := h.cache.Load()
	if s != nil && s.first == entries[0] && s.n == len(entries) && slices.Equal(s.objectives, objectives) {
		return s.summary
	}
	samples := make([]report.Sample, 0, len(entries))
	for _, e := range entries {
		samples = append(samples, e.sampleFor(objectives))
	}
	s = &summarized{entries[0], len(entries), objectives, report.Summarize(samples, objectives...)}
	s.summary.Requests = nil // nobody reads these, and they are as many as the samples
	h.cache.Store(s)
	return s.summary
}

// sampleFor returns what e adds to statistics, judged by the objectives as they are now. It was judged when it was
// recorded, by the objectives of that time: of these, the one with the same signal and limit counts, whatever its name
// and goal. An objective that there was not is not judged.
func (e *entry) sampleFor(objectives []probe.Objective) report.Sample {
	s := e.sample
	s.ITLs = e.itls()
	s.Judged = make([]report.Judgement, len(objectives))
	for i, o := range objectives {
		same := func(of probe.Objective) bool { return of.Signal == o.Signal && of.Limit == o.Limit }
		before := slices.IndexFunc(e.objectives, same)
		if before >= 0 {
			s.Judged[i] = e.sample.Judged[before]
		}
	}
	return s
}

// median returns the middle of values in any order, NaN if there is none.
func median(values []float64) report.Number { return report.DistributionOf(values).At(0.5) }
