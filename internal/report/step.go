package report

import (
	"maps"
	"time"

	"github.com/llm-prober/prober/internal/probe"
)

// mostExact is up to how many tokens of a [Step] every ITL is kept: 8 MB. Of more there is only a [histogram].
const mostExact = 1_000_000

// A Step is the requests of one target in one step of a bench, whose memory grows with the requests and not with their
// tokens. The zero value has none. It is not safe for concurrent use.
type Step struct {
	samples []Sample // without ITLs, in the order of their ends

	itls    []float64                // of all tokens; nil if they are too many
	spreads [quantityCount]histogram // in the order of quantities; see Interim
	counts  map[probe.Outcome]int    // without those that were canceled
	began   time.Time                // of the first request; zero without any
	ended   time.Time                // of the last
	input   int                      // tokens of those that succeeded
	output  int
}

// Add takes a request and keeps all of it but its ITLs, which are added to those of the step.
func (s *Step) Add(x Sample) {
	x.Timed = len(x.ITLs)
	itls := x.ITLs
	x.ITLs = nil
	s.samples = append(s.samples, x)
	if !notCanceled(x) {
		return
	}
	s.count(x)
	if !succeeded(x) {
		return
	}
	s.input += x.Prompt.N
	s.output += x.Output.N
	for i, q := range quantities {
		if v := float64(*q.of(&x.Request)); q.name != nameITL && finite(v) {
			s.spreads[i].add(v)
		}
	}
	s.addITLs(itls)
}

func (s *Step) count(x Sample) {
	if s.counts == nil {
		s.counts = map[probe.Outcome]int{}
	}
	s.counts[x.Outcome]++
	if s.began.IsZero() || x.Start.Before(s.began) {
		s.began = x.Start
	}
	if end := x.Start.Add(x.Elapsed); end.After(s.ended) {
		s.ended = end
	}
}

func (s *Step) addITLs(itls []float64) {
	h := &s.spreads[indexITL]
	for _, v := range itls {
		h.add(v)
	}
	if h.count > mostExact {
		s.itls = nil
		return
	}
	s.itls = append(s.itls, itls...)
}

// Len is the number of requests, those that were canceled included.
func (s *Step) Len() int { return len(s.samples) }

// Samples are the requests, without their ITLs. They are the step's: do not change them.
func (s *Step) Samples() []Sample { return s.samples }

// itl is how the ITL of all tokens is spread: exactly, unless they are too many.
func (s *Step) itl() Distribution {
	if s.itls != nil {
		return Spread(s.itls)
	}
	return s.spreads[indexITL].distribution()
}

// Interim sums up what is there so far, at the cost of a few milliseconds however much that is: without objectives,
// failures, warnings and single requests, and with the quantiles of histograms.
func (s *Step) Interim() Summary {
	i := s.totals()
	for k, q := range quantities {
		*q.in(&i) = s.spreads[k].distribution()
	}
	return i
}

// totals returns a summary of what was counted, without latencies.
func (s *Step) totals() Summary {
	t := Summary{
		Outcomes: map[probe.Outcome]int{}, Skipped: map[probe.Skip]int{},
		Start: s.began, Duration: s.ended.Sub(s.began), Input: s.input, Output: s.output,
	}
	maps.Copy(t.Outcomes, s.counts)
	return t
}
