package report

import "math"

// A Throughput is what a second of a [Summary] brought: requests that succeeded,
// and their tokens. What nobody knows is NaN.
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
