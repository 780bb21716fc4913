package report

import (
	"errors"
	"time"

	"github.com/llm-prober/prober/internal/probe"
	"github.com/llm-prober/prober/internal/wire"
)

// A Sample is what one request adds to tables and plots: a result without its
// timeline.
type Sample struct {
	Target  string
	Round   uint64        // samples of equal Round answered the same prompt
	Start   time.Time     // monotonic
	Elapsed time.Duration // to the end of the request, whatever it was
	Late    time.Duration // how late it started

	Outcome      probe.Outcome
	Prompt       wire.Count // tokens
	Output       wire.Count // tokens
	Contaminated bool       // a cache knew the prompt that should be cold: it has no TTFT
	Tainted      bool       // the prober read nearly all of it late: it has no ITL
	ByUser       bool       // the prober took the arrivals' time itself: the kernel gave none
	Hidden       bool       // its first tokens are reasoning that no frame showed: it has no TTFT
	Frames       int        // token frames
	Bursts       int        // token frames that arrived in a burst with the one before, read on time
	Joined       int        // tokens whose ITL is the mean over frames that were read late and together
	TTFT         Seconds
	TPOT         Seconds
	E2EL         Seconds
	ITL          []float64       // seconds, once a token; nil if there is none
	Warnings     []probe.Warning // of the result, but for those that the fields above tell

	Error, Hint string // of a request that failed: what is known of it, and what to do
}

// Seconds are a duration that may be unknown.
type Seconds struct {
	Value float64
	Known bool
}

// SampleOf keeps of r what a [Sample] has. The rules are those of the metrics: a
// request that failed has no latency, TTFT is only that of a token that was seen and
// of a prompt that was as cold as meant, and ITL only that of gaps that are not our
// own.
func SampleOf(r *probe.Result) Sample {
	s := Sample{
		Target: r.Target, Round: r.Round, Start: r.Start, Elapsed: r.Elapsed, Late: r.ScheduleDelay(),
		Outcome: r.Outcome, Prompt: r.Usage.Prompt, Output: r.Usage.Generated(),
		Contaminated: r.Cache == probe.CacheContaminated, Tainted: r.Taint != "", ByUser: r.Stamp == probe.ByUser, Hidden: r.Hidden,
		Frames: len(r.Tokens), Bursts: r.Bursts(), Joined: r.JoinedTokens(),
	}
	for _, w := range r.Warnings {
		if warning, ok := errors.AsType[probe.Warning](w); ok && !warning.Derived {
			s.Warnings = append(s.Warnings, warning)
		}
	}
	if r.Outcome != probe.OK {
		if s.Hint = Hint(r); r.Err != nil {
			s.Error = r.Err.Error()
		}
		return s
	}
	if r.TTFTValid() {
		s.TTFT = secondsOf(r.TTFT())
	}
	s.TPOT, s.E2EL = secondsOf(r.TPOT()), secondsOf(r.E2EL())
	for gap := range r.ITL() {
		s.ITL = append(s.ITL, gap.Seconds())
	}
	return s
}

func secondsOf(d time.Duration, ok bool) Seconds { return Seconds{Value: d.Seconds(), Known: ok} }
