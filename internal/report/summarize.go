package report

import (
	"time"

	"github.com/llm-prober/prober/internal/probe"
)

// Summarize sums up one target's samples of one step, in any order. Those that
// were canceled count for nothing. Load, PromptTokens, AtOnce and Skipped are the
// caller's to say.
func Summarize(samples []Sample) Summary {
	s := Summary{Outcomes: map[probe.Outcome]int{}, Skipped: map[probe.Skip]int{}}
	counted, canceled := split(samples, notCanceled)
	good, _ := split(counted, succeeded)
	if len(samples) > 0 {
		s.Target = samples[0].Target
	}
	s.Failures = FailuresOf(counted)
	s.Start, s.Duration = stretch(counted)
	for _, r := range counted {
		s.Outcomes[r.Outcome]++
	}
	for _, r := range good {
		s.Input += r.Prompt.N
		s.Output += r.Output.N
	}
	s.TTFT, s.TPOT, s.E2EL = spreadOf(good, ttftOf), spreadOf(good, tpotOf), spreadOf(good, e2elOf)
	s.ITL = Spread(allITL(good))
	s.Warnings, s.Requests = warningsOf(good, len(canceled)), requestsOf(good)
	return s
}

func notCanceled(s Sample) bool { return s.Outcome != probe.Canceled }

func succeeded(s Sample) bool { return s.Outcome == probe.OK }

// split parts samples into those that are and those that are not.
func split(samples []Sample, is func(Sample) bool) (are, not []Sample) {
	for _, s := range samples {
		if is(s) {
			are = append(are, s)
		} else {
			not = append(not, s)
		}
	}
	return are, not
}

// stretch is the time from the first start to the last end.
func stretch(samples []Sample) (start time.Time, d time.Duration) {
	var end time.Time
	for i, s := range samples {
		if i == 0 || s.Start.Before(start) {
			start = s.Start
		}
		if e := s.Start.Add(s.Elapsed); i == 0 || e.After(end) {
			end = e
		}
	}
	return start, end.Sub(start)
}

// spreadOf is how one quantity of samples is spread, where it is known.
func spreadOf(samples []Sample, of func(Sample) Seconds) Distribution {
	var values []float64
	for _, s := range samples {
		if v := of(s); v.Known {
			values = append(values, v.Value)
		}
	}
	return Spread(values)
}

// allITL are the inter-token latencies of all samples.
func allITL(samples []Sample) []float64 {
	var values []float64
	for _, s := range samples {
		values = append(values, s.ITL...)
	}
	return values
}
