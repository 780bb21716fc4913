package probe

import (
	"strings"
	"testing"
	"time"

	"github.com/llm-prober/prober/internal/stream"
	"github.com/llm-prober/prober/internal/timing"
	"github.com/llm-prober/prober/internal/wire"
)

// inReads are token frames of one token, a gap apart, that a reader found so many at a time: each read has the
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

func TestChunks(t *testing.T) {
	change := func(t timing.Timeline, change func(*timing.Timeline)) timing.Timeline { change(&t); return t }
	behind := func(i int) func(*timing.Timeline) { return func(t *timing.Timeline) { t.Frames[i].Behind = true } }
	header := func(wrote, header time.Duration) func(*timing.Timeline) {
		return func(t *timing.Timeline) { t.Phases.Wrote, t.Phases.Header = wrote, header }
	}
	notBefore := func(read uint32, moment time.Duration) func(*timing.Timeline) {
		return func(t *timing.Timeline) {
			for i, a := range t.Frames {
				if a.Read == read {
					t.Frames[i].NotBefore = moment
				}
			}
		}
	}
	later := func(from int, d time.Duration) func(*timing.Timeline) {
		return func(t *timing.Timeline) {
			for i := range t.Frames[from:] {
				t.Frames[from+i].At += d
			}
		}
	}
	for name, test := range map[string]struct {
		of   timing.Timeline
		want string
	}{
		"each on its own, however late it was read": {inReads(20*ms, 90*ms, 1, 1, 1, 1),
			"TTFT 520ms, TPOT 20ms, E2EL 580ms, max gap 20ms, gaps 3×20ms, ITL 3×20ms, 4 output"},
		"a burst of the server's": {inReads(20*ms, ms/20, 1, 3, 3),
			"TTFT 520ms, TPOT 20ms, E2EL 640ms, max gap 60ms, gaps 1×60ms 2×0s 1×60ms 2×0s, ITL 6×20ms, 4 coalesced, " +
				"4 in bursts, 7 output"},
		"all of an answer at once": {inReads(0, ms/20, 4),
			"TTFT 500ms, E2EL 500ms, 3 coalesced, 3 in bursts, 4 output"},
		"what was merged while the reader was late": {inReads(20*ms, 15*ms, 1, 1, 3, 1, 1),
			"TTFT 520ms, TPOT 20ms, E2EL 640ms, gaps 3×20ms, ITL 6×20ms, 2 coalesced, 3 joined, 7 output"},
		"a gap that is as long as what was merged": {
			change(inReads(20*ms, 15*ms, 1, 1, 3, 1), func(t *timing.Timeline) { t.Frames[5].At += 40 * ms }),
			"TTFT 520ms, TPOT 28ms, E2EL 660ms, max gap 60ms, gaps 1×20ms 1×60ms, ITL 4×20ms 1×60ms, 2 coalesced, " +
				"3 joined, 6 output"},
		// A read that looks on time may be one that came just after the last of several packets.
		"one late read makes the gaps of all shared reads uncertain": {
			change(inReads(20*ms, ms/20, 1, 2, 1, 2, 1), func(t *timing.Timeline) { t.Frames[6].Delay = 15 * ms }),
			"TTFT 520ms, TPOT 20ms, E2EL 640ms, gaps 2×20ms, ITL 6×20ms, 2 coalesced, 2 in bursts, 7 output"},
		"the first three merged, of a prefill that is long": {
			change(inReads(20*ms, 15*ms, 3, 1, 1), func(t *timing.Timeline) {
				header(10*ms, 510*ms)(t)
				for i := range t.Frames {
					t.Frames[i].At += 1000 * ms
				}
			}),
			"TTFT 1.56s, TPOT 20ms, E2EL 1.6s, gaps 2×20ms, ITL 2×20ms, 2 coalesced, 3 joined, 5 output"},
		"the first 45 of 50 merged": {inReads(2*ms, 99*ms, 45, 1, 1, 1, 1, 1),
			"TPOT 2ms, E2EL 600ms, gaps 5×2ms, ITL 5×2ms, 44 coalesced, 45 joined, 50 output"},
		"the first merged soon after the header": {change(inReads(2*ms, 99*ms, 45, 1), header(10*ms, 570*ms)),
			"TTFT 590ms, TPOT 2ms, E2EL 592ms, gaps 1×2ms, ITL 1×2ms, 44 coalesced, 45 joined, 46 output"},
		"the last read late with what came behind it": {change(inReads(20*ms, 15*ms, 1, 1, 1, 1), behind(3)),
			"TTFT 520ms, E2EL 580ms, max gap 20ms, gaps 2×20ms, ITL 2×20ms, 4 output"},
		"the last after a pause, read late with what came behind it": {
			change(change(inReads(20*ms, 60*ms, 1, 1, 1, 1), later(3, time.Second)), behind(3)),
			"TTFT 520ms, TPOT 353.333333ms, E2EL 1.58s, gaps 2×20ms, ITL 2×20ms 1×1.02s, 4 output"},
		"one in the middle read late with a comment behind it": {change(inReads(20*ms, 15*ms, 1, 1, 1, 1), behind(1)),
			"TTFT 520ms, TPOT 20ms, E2EL 580ms, gaps 1×20ms, ITL 3×20ms, 2 joined, 4 output"},
		"a timestamp that was refused while the reader was late": {
			change(inReads(20*ms, 15*ms, 1, 1, 1, 1),
				func(t *timing.Timeline) { t.Frames[1].Kernel, t.Frames[1].At = false, t.Frames[1].At+15*ms }),
			"TTFT 520ms, TPOT 20ms, E2EL 580ms, gaps 1×20ms, ITL 3×20ms, 2 joined, 4 output"},
		"all of an answer in a late read, and an empty read soon before": {change(inReads(0, 80*ms, 4), notBefore(1, 480*ms)),
			"TTFT 500ms, E2EL 500ms, 3 coalesced, 4 joined, 4 output"},
		"an empty read as long before as is allowed": {change(inReads(0, 80*ms, 4), notBefore(1, 475*ms)),
			"TTFT 500ms, E2EL 500ms, 3 coalesced, 4 joined, 4 output"},
		"an empty read too long before": {change(inReads(0, 80*ms, 4), notBefore(1, 470*ms)),
			"E2EL 500ms, 3 coalesced, 4 joined, 4 output"},
		"all of an answer in one packet, read late": {change(inReads(0, 80*ms, 4), notBefore(1, 500*ms)),
			"TTFT 500ms, E2EL 500ms, 3 coalesced, 3 in bursts, 4 output"},
		"all of an answer in two packets, one right after the other": {inReads(5*time.Microsecond, ms/20, 4, 4),
			"TTFT 500.02ms, E2EL 500.04ms, 6 coalesced, 6 in bursts, 8 output"},
		"frames closer than any engine makes them": {inReads(100*time.Microsecond-1, ms/20, 1, 1, 1, 1),
			"TTFT 500.099999ms, E2EL 500.399996ms, 4 output"},
		"frames as close as an engine may make them": {inReads(100*time.Microsecond, ms/20, 1, 1, 1, 1),
			"TTFT 500.1ms, TPOT 100µs, E2EL 500.4ms, max gap 100µs, gaps 3×100µs, ITL 3×100µs, 4 output"},
		"all of an answer in two packets, of which the first is read late": {
			change(change(inReads(0, 50*ms, 3, 3), later(3, ms/2)), notBefore(1, 400*ms)),
			"TPOT 166.666µs, E2EL 500.5ms, ITL 3×166.666µs, 4 coalesced, 6 joined, 6 output"},
		"all of an answer at once, the first part read late": {
			change(change(inReads(0, 50*ms, 3, 1, 1), later(3, ms/50)), later(4, ms/50)),
			"E2EL 500.04ms, 2 coalesced, 3 joined, 5 output"},
		"all of an answer at once, the last part read late": {
			change(inReads(0, 50*ms, 1, 5), later(1, ms/50)),
			"TTFT 500ms, E2EL 500.02ms, 4 coalesced, 5 joined, 6 output"},
		"the last in one packet with what came behind it": {
			change(change(inReads(20*ms, 15*ms, 1, 1, 1, 1), behind(3)), notBefore(4, 580*ms)),
			"TTFT 520ms, TPOT 20ms, E2EL 580ms, max gap 20ms, gaps 3×20ms, ITL 3×20ms, 4 output"},
		"a pause whose end is blurred, and an empty read soon before": {
			change(change(inReads(20*ms, 60*ms, 1, 1, 2), later(2, 960*ms)), notBefore(3, 1530*ms)),
			"TTFT 520ms, TPOT 340ms, E2EL 1.54s, max gap 1s, gaps 1×20ms, ITL 1×20ms 2×500ms, 1 coalesced, 2 joined, 4 output"},
		"a pause whose end is blurred": {
			change(change(inReads(20*ms, 60*ms, 1, 1, 2), later(2, 960*ms)), notBefore(3, 541*ms)),
			"TTFT 520ms, TPOT 340ms, E2EL 1.54s, gaps 1×20ms, ITL 1×20ms 2×500ms, 1 coalesced, 2 joined, 4 output"},
		"a refused timestamp is uncertain, however punctual all others are": {
			change(inReads(20*ms, ms/20, 1, 1, 1), func(t *timing.Timeline) {
				t.Frames[1] = timing.Frame{At: 555 * ms, NotBefore: 535 * ms, Read: 2, N: 1}
			}),
			"TTFT 520ms, TPOT 20ms, E2EL 560ms, ITL 2×20ms, 2 joined, 3 output"},
		"tokens of a frame unknown": {
			change(inReads(20*ms, ms/20, 1, 1, 2), func(t *timing.Timeline) { t.Frames[1].N = 0 }),
			"TTFT 520ms, TPOT 30ms, E2EL 580ms, max gap 40ms, gaps 1×20ms 1×40ms 1×0s, 1 coalesced, 1 in bursts, 3 output"},
	} {
		n := 0
		for _, a := range test.of.Frames {
			n += a.N
		}
		test.of.FirstAnswerAt = test.of.Frames[0].At
		r := &Result{Outcome: OK, Timeline: test.of, Usage: wire.Usage{Output: wire.Tokens(n)}, Source: FromNothing}
		equal(t, name, "ok, "+test.want, strings.Join(measurements(r), ", "))
	}
}

// TestWhatCameBehindAToken holds that a token frame knows whether its read also completed a frame without tokens.
func TestWhatCameBehindAToken(t *testing.T) {
	a := newAnswer(&Result{}, Question{})
	for read, d := range []wire.Delta{{Text: []byte("x")}, {}, {Text: []byte("x")}, {Finish: "stop"}} {
		a.add(stream.Timestamp{Read: uint64(max(1, read))}, d) // the first two in one read
	}
	equal(t, "behind", []bool{true, false}, []bool{a.result.Timeline.Frames[0].Behind, a.result.Timeline.Frames[1].Behind})
}

// TestALateReadHidesTheFirstPacket holds that the delay of a late read is that of the first packet that it can have
// found. A read on time found what had just come, however long nobody had looked before.
func TestALateReadHidesTheFirstPacket(t *testing.T) {
	a := newAnswer(&Result{}, Question{})
	for read, delay := range []time.Duration{timing.Late, timing.Late + 1} {
		a.add(stream.Timestamp{Read: uint64(read), Kernel: true, Delay: delay, Hidden: 5 * ms}, wire.Delta{Text: []byte("x")})
	}
	equal(t, "delay of a read on time", timing.Late, a.result.Timeline.Frames[0].Delay)
	equal(t, "delay of a late read", timing.Late+1+5*ms, a.result.Timeline.Frames[1].Delay)
}
