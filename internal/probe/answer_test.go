package probe

import (
	"testing"
	"time"

	"github.com/llm-prober/prober/internal/stream"
	"github.com/llm-prober/prober/internal/timing"
	"github.com/llm-prober/prober/internal/wire"
)

// inReads are token frames of one token, a gap apart, that a reader found that many at a time: each read has the
// arrival of its last.
func inReads(gap, delay time.Duration, frames ...int) timing.Timeline {
	var t timing.Timeline
	at := 500 * ms
	for read, n := range frames {
		at += time.Duration(n) * gap
		for range n {
			t.Frames = append(t.Frames, timing.Frame{At: at, Read: uint32(read + 1), N: 1, Kernel: true, Delay: delay})
		}
	}
	return t
}

// TestWhatElseATokensReadBrought holds that a token frame knows whether its read also completed a frame without tokens.
func TestWhatElseATokensReadBrought(t *testing.T) {
	a := newAnswer(&Result{}, Question{})
	for read, d := range []wire.Delta{{Text: []byte("x")}, {}, {Text: []byte("x")}, {Finish: "stop"}} {
		a.add(stream.Arrival{Read: uint64(max(1, read))}, d) // the first two in one read
	}
	frames := a.result.Timeline.Frames
	equal(t, "more in the read", []bool{true, false}, []bool{frames[0].MoreInRead, frames[1].MoreInRead})
}

// TestALateReadHidesTheFirstPacket holds that the delay of a late read is that of the first packet that it can have
// found. A read on time found what had just come, however long nobody had looked before.
func TestALateReadHidesTheFirstPacket(t *testing.T) {
	a := newAnswer(&Result{}, Question{})
	for read, delay := range []time.Duration{timing.Late, timing.Late + 1} {
		a.add(stream.Arrival{Read: uint64(read), Kernel: true, Delay: delay, Hidden: 5 * ms}, wire.Delta{Text: []byte("x")})
	}
	equal(t, "delay of a read on time", timing.Late, a.result.Timeline.Frames[0].Delay)
	equal(t, "delay of a late read", timing.Late+1+5*ms, a.result.Timeline.Frames[1].Delay)
}
