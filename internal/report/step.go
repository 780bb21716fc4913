package report

import (
	"maps"
	"time"

	"github.com/llm-prober/prober/internal/probe"
	"github.com/llm-prober/prober/internal/stats"
)

// maxExactITLs is the number of tokens of a [Step] up to which it keeps every ITL, in 8 MB. Of more tokens it keeps
// only a [histogram].
const maxExactITLs = 1_000_000

// A Step collects the requests to one target in one step of a bench. Its memory grows with the requests, not with their
// tokens. The zero value is empty. It is not safe for concurrent use.
type Step struct {
	samples []Sample // without ITLs, in the order in which they ended

	itls       []float64                // of all tokens; nil if they are too many
	histograms [quantityCount]histogram // in the order of quantities
	counts     map[probe.Outcome]int    // without canceled requests
	began      time.Time                // start of the first request; zero without any
	ended      time.Time                // end of the last request
	input      int                      // tokens of the requests that succeeded
	output     int
}

// Add adds a request. The step keeps the sample without its ITLs, which it counts for all requests together.
func (s *Step) Add(sample Sample) {
	itls := sample.TokenITLs
	sample.Timed = len(itls)
	sample.TokenITLs = nil
	s.samples = append(s.samples, sample)
	if !notCanceled(sample) {
		return
	}
	s.count(sample)
	if !succeeded(sample) {
		return
	}
	s.input += sample.Prompt.N
	s.output += sample.Output.N
	for i, q := range quantities {
		v := float64(*q.ofRequest(&sample.Latencies))
		if q.Name != nameITL && stats.Finite(v) {
			s.histograms[i].add(v)
		}
	}
	s.addITLs(itls)
}

// count counts the outcome of a sample, and extends the time that the step has taken.
func (s *Step) count(sample Sample) {
	if s.counts == nil {
		s.counts = map[probe.Outcome]int{}
	}
	s.counts[sample.Outcome]++
	if s.began.IsZero() || sample.Start.Before(s.began) {
		s.began = sample.Start
	}
	end := sample.Start.Add(sample.Elapsed)
	if end.After(s.ended) {
		s.ended = end
	}
}

// addITLs adds the ITLs of one request.
func (s *Step) addITLs(itls []float64) {
	h := &s.histograms[indexITL]
	for _, v := range itls {
		h.add(v)
	}
	if h.count > maxExactITLs {
		s.itls = nil
		return
	}
	s.itls = append(s.itls, itls...)
}

// Len returns the number of requests, canceled ones included.
func (s *Step) Len() int { return len(s.samples) }

// Samples returns the requests, without their ITLs. The step owns them: do not change them.
func (s *Step) Samples() []Sample { return s.samples }

// itl returns how the ITL of all tokens is spread: exactly, unless there are too many of them.
func (s *Step) itl() stats.Distribution {
	if s.itls != nil {
		return stats.DistributionOf(s.itls)
	}
	return s.histograms[indexITL].distribution()
}

// Interim sums up the requests so far. It takes a few milliseconds, however many they are: its quantiles come from
// histograms, and it has no objectives, failures, warnings and single requests.
func (s *Step) Interim() Summary {
	summary := s.totals()
	for i, q := range quantities {
		*q.InSummary(&summary) = s.histograms[i].distribution()
	}
	return summary
}

// totals returns a summary of what was counted, without latencies.
func (s *Step) totals() Summary {
	summary := Summary{
		Outcomes: map[probe.Outcome]int{},
		Skipped:  map[probe.Skip]int{},
		Start:    s.began,
		Duration: s.ended.Sub(s.began),
		Input:    s.input,
		Output:   s.output,
	}
	maps.Copy(summary.Outcomes, s.counts)
	return summary
}
