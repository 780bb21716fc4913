package report

import (
	"fmt"
	"strings"
	"time"

	"github.com/llm-prober/prober/internal/format"
	"github.com/llm-prober/prober/internal/probe"
	"github.com/llm-prober/prober/internal/stats"
	"github.com/llm-prober/prober/internal/wire"
)

// Latencies are those of one request, by which it is compared with others. A value that does not exist, or must not be
// compared, is NaN.
type Latencies struct {
	Round uint64       `json:"round"` // requests of equal Round answered the same prompt
	TTFT  stats.Number `json:"ttft_seconds"`
	TPOT  stats.Number `json:"tpot_seconds"`
	ITL   stats.Number `json:"itl_seconds"` // the median over its tokens
	E2EL  stats.Number `json:"e2el_seconds"`
}

// A Sample is what one request adds to summaries and charts: a result without its timeline.
type Sample struct {
	Target  string
	Start   time.Time     // monotonic
	Elapsed time.Duration // from the start to the end of the request, whatever the outcome
	Late    time.Duration // how late it started

	Outcome      probe.Outcome
	Prompt       wire.Count // tokens
	Output       wire.Count // tokens
	Contaminated bool       // the prompt should be cold, but a cache had it: no TTFT
	Tainted      bool       // the prober read nearly all of the answer late: no ITL
	Hidden       bool       // its first tokens were reasoning that no frame showed: no TTFT
	Frames       int        // token frames
	Bursts       int        // token frames that arrived in one burst with the frame before, and were read on time
	Joined       int        // tokens whose ITL is a mean, because several frames were read late and together

	Latencies Latencies
	TokenITLs []float64 // seconds, once for each token; nil without any, and after [Step.Add]
	Timed     int       // tokens with an ITL; [Step.Add] sets it

	Warnings []probe.Warning // of the result, without what other fields say: see [isInSample]

	Judged []Judgement // by the objectives, in their order

	Error string // why the request failed; empty if it succeeded, or if that is not known
	Hint  string // what to do about it; empty if there is nothing to say
}

// SampleOf returns what summaries need of r, judged by the objectives. Its hint names settings as places do. The rules
// are those of the metrics. A request that failed has no latency. A TTFT needs a first token that a frame showed, and a
// prompt that no cache had if it was meant to be cold. An ITL needs gaps that the prober did not cause itself.
func SampleOf(r *probe.Result, places Places, objectives ...probe.Objective) Sample {
	s := Sample{
		Target:       r.Target,
		Start:        r.Start,
		Elapsed:      r.Elapsed,
		Late:         r.ScheduleDelay(),
		Outcome:      r.Outcome,
		Prompt:       r.Usage.Prompt,
		Output:       r.Usage.Generated(),
		Contaminated: r.Cache == probe.CacheContaminated,
		Tainted:      r.Timeline.Taint != "",
		Hidden:       r.ReasoningHidden,
		Frames:       len(r.Timeline.Frames),
		Bursts:       r.Timeline.Bursts(),
		Joined:       r.Timeline.JoinedTokens(),
		Latencies:    Latencies{Round: r.Round, TTFT: noValue, TPOT: noValue, ITL: noValue, E2EL: noValue},
	}
	for _, o := range objectives {
		s.Judged = append(s.Judged, Judge(o, r))
	}
	for _, warning := range r.Warnings {
		if !isInSample(warning) {
			s.Warnings = append(s.Warnings, warning)
		}
	}
	if r.Outcome != probe.OK {
		s.Hint = Hint(r, places)
		if r.Err != nil {
			s.Error = r.Err.Error()
		}
		return s
	}
	s.addLatencies(r)
	return s
}

func (s *Sample) addLatencies(r *probe.Result) {
	if r.TTFTValid() {
		s.Latencies.TTFT = secondsOrNoValue(r.TTFT())
	}
	s.Latencies.TPOT = secondsOrNoValue(r.TPOT())
	s.Latencies.E2EL = secondsOrNoValue(r.E2EL())
	for gap := range r.ITL() {
		s.TokenITLs = append(s.TokenITLs, gap.Seconds())
	}
	if s.TokenITLs != nil {
		s.Latencies.ITL = stats.Number(stats.Median(s.TokenITLs))
	}
}

func secondsOrNoValue(d time.Duration, known bool) stats.Number {
	if !known {
		return noValue
	}
	return stats.Number(d.Seconds())
}

// counts reports whether s counts: a request that the prober itself stopped does not.
func (s Sample) counts() bool { return s.Outcome != probe.Canceled }

// succeeded reports whether s has an answer that is complete and right.
func (s Sample) succeeded() bool { return s.Outcome == probe.OK }

func (s Sample) failed() bool { return s.counts() && !s.succeeded() }

func filter(samples []Sample, matches func(Sample) bool) []Sample {
	matching := make([]Sample, 0, len(samples))
	for _, s := range samples {
		if matches(s) {
			matching = append(matching, s)
		}
	}
	return matching
}

func countIf(samples []Sample, matches func(Sample) bool) (n int) {
	for _, s := range samples {
		if matches(s) {
			n++
		}
	}
	return n
}

// RequestLine describes a request in a line, without a line end. If the request succeeded, it has at most 80 columns.
func RequestLine(s Sample) string {
	const targetWidth = 16 // columns
	const errorWidth = 80  // columns
	target := format.Shorten(format.Clean(s.Target), targetWidth)
	head := fmt.Sprintf("%5s %-*s %-2s", fmt.Sprintf("#%d", s.Latencies.Round), targetWidth, target, s.Outcome)
	if s.Outcome != probe.OK {
		line := fmt.Sprintf("%s after %s", head, format.Duration(s.Elapsed))
		cause := format.Shorten(format.Clean(s.Error), errorWidth)
		if cause != "" {
			line += ": " + cause
		}
		return line
	}
	l := s.Latencies
	line := fmt.Sprintf("%s  TTFT %-7s  TPOT %-7s  ITL %-7s  E2EL %-7s", head,
		secondsOrNone(l.TTFT), secondsOrNone(l.TPOT), secondsOrNone(l.ITL), secondsOrNone(l.E2EL))
	return strings.TrimRight(line, " ")
}
