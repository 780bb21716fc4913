package report

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// A Throughput is what a second of a [Summary] brought: requests that succeeded,
// and their tokens. What is unknown is NaN.
type Throughput struct{ Requests, Output, Total float64 }

// Throughput is that of s.
func (s Summary) Throughput() Throughput {
	rate := func(n int) float64 {
		if s.Duration <= 0 {
			return math.NaN()
		}
		return float64(n) / s.Duration.Seconds()
	}
	t := Throughput{Requests: rate(s.Succeeded()), Output: rate(s.Output), Total: rate(s.Input + s.Output)}
	if untoldTokens(s.Output, s) {
		t.Output, t.Total = math.NaN(), math.NaN()
	}
	if untoldTokens(s.Input, s) {
		t.Total = math.NaN()
	}
	return t
}

// untoldTokens reports whether n is 0 only because no server told it: who
// succeeds has tokens.
func untoldTokens(n int, s Summary) bool { return n == 0 && s.Succeeded() > 0 }

// Paced is s where a round of requests began in each interval, the samples of all
// targets of the run. The interval after the last round's beginning is a part of
// the duration, or the throughput of a few requests would be above the rate that was
// offered. A round counts from its first request, since its others wait for their
// turn.
func (s Summary) Paced(run []Sample, interval time.Duration) Summary {
	run, _ = split(run, notCanceled)
	if len(run) == 0 {
		return s
	}
	first := slices.MinFunc(run, func(a, b Sample) int { return a.Start.Compare(b.Start) })
	last := slices.MinFunc(run, func(a, b Sample) int {
		return cmp.Or(cmp.Compare(b.Round, a.Round), a.Start.Compare(b.Start))
	})
	end := s.Start.Add(s.Duration)
	s.Start, s.Duration = first.Start, max(end.Sub(first.Start), last.Start.Add(interval).Sub(first.Start))
	return s
}
