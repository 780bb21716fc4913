package timing

import (
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"
	"time"
)

const ms = time.Millisecond

// inReads are token frames of one token, a gap apart, that a reader found that many at a time: each read has the
// arrival of its last.
func inReads(gap, delay time.Duration, frames ...int) Timeline {
	var t Timeline
	at := 500 * ms
	for read, n := range frames {
		at += time.Duration(n) * gap
		for range n {
			t.Frames = append(t.Frames, Frame{At: at, Read: uint32(read + 1), N: 1, Kernel: true, Delay: delay})
		}
	}
	return t
}

func TestTaint(t *testing.T) {
	userTimes := inReads(20*ms, 0, slices.Repeat([]int{1}, 100)...)
	for i := range userTimes.Frames {
		userTimes.Frames[i].Kernel = false
	}
	for _, test := range []struct {
		name string
		of   Timeline
		want Taint
	}{
		{"nothing came", Timeline{}, ""},
		{"all on time", inReads(20*ms, ms/20, 1, 1, 1, 1, 1), ""},
		{"each read alone, and later than a gap is long", inReads(20*ms, 90*ms, 1, 1, 1, 1, 1), ""},
		{"no kernel timestamps", userTimes, ""},
		{"all in one read, on time", inReads(0, ms/20, 50), ""},
		{"all in one read, late", inReads(0, 80*ms, 50), TaintCoalesced},
		{"a server that batches", inReads(7*ms, ms/20, 7, 7, 7, 7), ""},
		{"one that batches, read late", inReads(7*ms, 5*ms, 7, 7, 7, 7), TaintCoalesced},
		{"one that batches, read very late", inReads(7*ms, 80*ms, 7, 7, 7, 7), TaintLate},
		{"19 of 20 together", inReads(20*ms, 5*ms, 1, 10, 9), ""},
		{"20 of 21 together", inReads(20*ms, 11*ms, 1, 10, 10), TaintCoalesced},
	} {
		if got := test.of.taint(); got != test.want {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		}
	}
}

func TestChunks(t *testing.T) {
	change := func(t Timeline, change func(*Timeline)) Timeline { change(&t); return t }
	moreInRead := func(i int) func(*Timeline) { return func(t *Timeline) { t.Frames[i].MoreInRead = true } }
	header := func(wrote, header time.Duration) func(*Timeline) {
		return func(t *Timeline) { t.Phases.Wrote, t.Phases.Header = wrote, header }
	}
	notBefore := func(read uint32, moment time.Duration) func(*Timeline) {
		return func(t *Timeline) {
			for i, a := range t.Frames {
				if a.Read == read {
					t.Frames[i].NotBefore = moment
				}
			}
		}
	}
	later := func(from int, d time.Duration) func(*Timeline) {
		return func(t *Timeline) {
			for i := range t.Frames[from:] {
				t.Frames[from+i].At += d
			}
		}
	}
	for name, test := range map[string]struct {
		of   Timeline
		want string
	}{
		"each on its own, however late it was read": {inReads(20*ms, 90*ms, 1, 1, 1, 1),
			"TTFT 520ms, TPOT 20ms, E2EL 580ms, max gap 20ms, gaps 3×20ms, ITL 3×20ms"},
		"a burst of the server's": {inReads(20*ms, ms/20, 1, 3, 3),
			"TTFT 520ms, TPOT 20ms, E2EL 640ms, max gap 60ms, gaps 1×60ms 2×0s 1×60ms 2×0s, ITL 6×20ms, 4 coalesced, " +
				"4 in bursts"},
		"all of an answer at once": {inReads(0, ms/20, 4),
			"TTFT 500ms, E2EL 500ms, 3 coalesced, 3 in bursts"},
		"what was merged while the reader was late": {inReads(20*ms, 15*ms, 1, 1, 3, 1, 1),
			"TTFT 520ms, TPOT 20ms, E2EL 640ms, gaps 3×20ms, ITL 6×20ms, 2 coalesced, 3 joined"},
		"a gap that is as long as what was merged": {
			change(inReads(20*ms, 15*ms, 1, 1, 3, 1), func(t *Timeline) { t.Frames[5].At += 40 * ms }),
			"TTFT 520ms, TPOT 28ms, E2EL 660ms, max gap 60ms, gaps 1×20ms 1×60ms, ITL 4×20ms 1×60ms, 2 coalesced, " +
				"3 joined"},
		// A read that looks on time may be one that came just after the last of several packets.
		"one late read makes the gaps of all shared reads uncertain": {
			change(inReads(20*ms, ms/20, 1, 2, 1, 2, 1), func(t *Timeline) { t.Frames[6].Delay = 15 * ms }),
			"TTFT 520ms, TPOT 20ms, E2EL 640ms, gaps 2×20ms, ITL 6×20ms, 2 coalesced, 2 in bursts"},
		"the first three merged, of a prefill that is long": {
			change(inReads(20*ms, 15*ms, 3, 1, 1), func(t *Timeline) {
				header(10*ms, 510*ms)(t)
				for i := range t.Frames {
					t.Frames[i].At += 1000 * ms
				}
			}),
			"TTFT 1.56s, TPOT 20ms, E2EL 1.6s, gaps 2×20ms, ITL 2×20ms, 2 coalesced, 3 joined"},
		"the first 45 of 50 merged": {inReads(2*ms, 99*ms, 45, 1, 1, 1, 1, 1),
			"TPOT 2ms, E2EL 600ms, gaps 5×2ms, ITL 5×2ms, 44 coalesced, 45 joined"},
		"the first merged soon after the header": {change(inReads(2*ms, 99*ms, 45, 1), header(10*ms, 570*ms)),
			"TTFT 590ms, TPOT 2ms, E2EL 592ms, gaps 1×2ms, ITL 1×2ms, 44 coalesced, 45 joined"},
		"the first merged with the header": {change(inReads(2*ms, 99*ms, 45, 1), header(10*ms, 590*ms)),
			"TPOT 2ms, E2EL 592ms, gaps 1×2ms, ITL 1×2ms, 44 coalesced, 45 joined"},
		"the last read late with what came behind it": {change(inReads(20*ms, 15*ms, 1, 1, 1, 1), moreInRead(3)),
			"TTFT 520ms, E2EL 580ms, max gap 20ms, gaps 2×20ms, ITL 2×20ms"},
		"the last after a pause, read late with what came behind it": {
			change(change(inReads(20*ms, 60*ms, 1, 1, 1, 1), later(3, time.Second)), moreInRead(3)),
			"TTFT 520ms, TPOT 353.333333ms, E2EL 1.58s, gaps 2×20ms, ITL 2×20ms 1×1.02s"},
		"one in the middle read late with a comment behind it": {change(inReads(20*ms, 15*ms, 1, 1, 1, 1), moreInRead(1)),
			"TTFT 520ms, TPOT 20ms, E2EL 580ms, gaps 1×20ms, ITL 3×20ms, 2 joined"},
		"a timestamp that was refused while the reader was late": {
			change(inReads(20*ms, 15*ms, 1, 1, 1, 1),
				func(t *Timeline) { t.Frames[1].Kernel, t.Frames[1].At = false, t.Frames[1].At+15*ms }),
			"TTFT 520ms, TPOT 20ms, E2EL 580ms, gaps 1×20ms, ITL 3×20ms, 2 joined"},
		"all of an answer in a late read, and an empty read soon before": {change(inReads(0, 80*ms, 4), notBefore(1, 480*ms)),
			"TTFT 500ms, E2EL 500ms, 3 coalesced, 4 joined"},
		"an empty read as long before as is allowed": {change(inReads(0, 80*ms, 4), notBefore(1, 475*ms)),
			"TTFT 500ms, E2EL 500ms, 3 coalesced, 4 joined"},
		"an empty read too long before": {change(inReads(0, 80*ms, 4), notBefore(1, 470*ms)),
			"E2EL 500ms, 3 coalesced, 4 joined"},
		"all of an answer in one packet, read late": {change(inReads(0, 80*ms, 4), notBefore(1, 500*ms)),
			"TTFT 500ms, E2EL 500ms, 3 coalesced, 3 in bursts"},
		"all of an answer in two packets, one right after the other": {inReads(5*time.Microsecond, ms/20, 4, 4),
			"TTFT 500.02ms, E2EL 500.04ms, 6 coalesced, 6 in bursts"},
		"frames closer than any engine makes them": {inReads(100*time.Microsecond-1, ms/20, 1, 1, 1, 1),
			"TTFT 500.099999ms, E2EL 500.399996ms"},
		"frames as close as an engine may make them": {inReads(100*time.Microsecond, ms/20, 1, 1, 1, 1),
			"TTFT 500.1ms, TPOT 100µs, E2EL 500.4ms, max gap 100µs, gaps 3×100µs, ITL 3×100µs"},
		"all of an answer in two packets, of which the first is read late": {
			change(change(inReads(0, 50*ms, 3, 3), later(3, ms/2)), notBefore(1, 400*ms)),
			"TPOT 166.666µs, E2EL 500.5ms, ITL 3×166.666µs, 4 coalesced, 6 joined"},
		"all of an answer at once, the first part read late": {
			change(change(inReads(0, 50*ms, 3, 1, 1), later(3, ms/50)), later(4, ms/50)),
			"E2EL 500.04ms, 2 coalesced, 3 joined"},
		"all of an answer at once, the last part read late": {
			change(inReads(0, 50*ms, 1, 5), later(1, ms/50)),
			"TTFT 500ms, E2EL 500.02ms, 4 coalesced, 5 joined"},
		"the last in one packet with what came behind it": {
			change(change(inReads(20*ms, 15*ms, 1, 1, 1, 1), moreInRead(3)), notBefore(4, 580*ms)),
			"TTFT 520ms, TPOT 20ms, E2EL 580ms, max gap 20ms, gaps 3×20ms, ITL 3×20ms"},
		"a pause whose end is blurred, and an empty read soon before": {
			change(change(inReads(20*ms, 60*ms, 1, 1, 2), later(2, 960*ms)), notBefore(3, 1530*ms)),
			"TTFT 520ms, TPOT 340ms, E2EL 1.54s, max gap 1s, gaps 1×20ms, ITL 1×20ms 2×500ms, 1 coalesced, 2 joined"},
		"a pause whose end is blurred": {
			change(change(inReads(20*ms, 60*ms, 1, 1, 2), later(2, 960*ms)), notBefore(3, 541*ms)),
			"TTFT 520ms, TPOT 340ms, E2EL 1.54s, gaps 1×20ms, ITL 1×20ms 2×500ms, 1 coalesced, 2 joined"},
		"a refused timestamp is uncertain, however punctual all others are": {
			change(inReads(20*ms, ms/20, 1, 1, 1), func(t *Timeline) {
				t.Frames[1] = Frame{At: 555 * ms, NotBefore: 535 * ms, Read: 2, N: 1}
			}),
			"TTFT 520ms, TPOT 20ms, E2EL 560ms, ITL 2×20ms, 2 joined"},
		"a read of the user's clock says nothing of the next read": {
			change(inReads(100*ms, 15*ms, 1, 1, 1, 1, 1), func(t *Timeline) {
				t.Frames[3] = Frame{At: 900 * ms, NotBefore: 805 * ms, Read: 4, N: 1}
				t.Frames[4] = Frame{At: 905 * ms, Read: 5, N: 1, Kernel: true, Delay: 15 * ms, MoreInRead: true}
			}),
			"TTFT 600ms, max gap 100ms, gaps 2×100ms, ITL 2×100ms, 2 joined"},
		"the first three merged, and just certain at the pace of the others": {
			change(inReads(20*ms, 15*ms, 3, 1, 1), later(0, 240*ms)),
			"TTFT 800ms, TPOT 20ms, E2EL 840ms, gaps 2×20ms, ITL 2×20ms, 2 coalesced, 3 joined"},
		"the first three merged, and not quite certain": {
			change(inReads(20*ms, 15*ms, 3, 1, 1), later(0, 240*ms-1)),
			"TPOT 20ms, E2EL 839.999999ms, gaps 2×20ms, ITL 2×20ms, 2 coalesced, 3 joined"},
		"a gap that is still open": {
			change(inReads(20*ms, 15*ms, 1, 1), func(t *Timeline) { t.Open = 400 * ms }),
			"TTFT 520ms, TPOT 20ms, E2EL 540ms, max gap 400ms, gaps 1×20ms, ITL 1×20ms"},
		"a gap that is still open, whose begin is blurred": {
			change(change(inReads(20*ms, 15*ms, 1, 1), func(t *Timeline) { t.Open = 379 * ms }), moreInRead(1)),
			"TTFT 520ms, E2EL 540ms"},
		"a gap that is still open, whose begin is blurred by less": {
			change(change(inReads(20*ms, 15*ms, 1, 1), func(t *Timeline) { t.Open = 380 * ms }), moreInRead(1)),
			"TTFT 520ms, E2EL 540ms, max gap 400ms"},
		"tokens of a frame unknown": {
			change(inReads(20*ms, ms/20, 1, 1, 2), func(t *Timeline) { t.Frames[1].N = 0 }),
			"TTFT 520ms, TPOT 30ms, E2EL 580ms, max gap 40ms, gaps 1×20ms 1×40ms 1×0s, 1 coalesced, 1 in bursts"},
	} {
		if got := values(&test.of); got != test.want {
			t.Errorf("%s:\n%s, want\n%s", name, got, test.want)
		}
	}
}

// values returns the values of a timeline, with TPOT for the sum of its tokens.
func values(line *Timeline) string {
	var list []string
	say := func(format string, args ...any) { list = append(list, fmt.Sprintf(format, args...)) }
	tokens := 0
	for _, f := range line.Frames {
		tokens += f.N
	}
	for _, sample := range []struct {
		name  string
		value func() (time.Duration, bool)
	}{
		{"TTFT", line.TTFT},
		{"TPOT", func() (time.Duration, bool) { return line.TPOT(tokens) }},
		{"E2EL", line.E2EL},
		{"max gap", line.MaxGap},
	} {
		d, ok := sample.value()
		if ok {
			say("%s %v", sample.name, d)
		}
	}
	for _, samples := range []struct {
		name   string
		values iter.Seq[time.Duration]
	}{{"gaps", line.ChunkGaps()}, {"ITL", line.ITL()}} {
		text := runs(samples.values)
		if text != "" {
			say("%s %s", samples.name, text)
		}
	}
	for _, counted := range []struct {
		n    int
		what string
	}{{line.Coalesced(), "coalesced"}, {line.JoinedTokens(), "joined"}, {line.Bursts(), "in bursts"}} {
		if counted.n > 0 {
			say("%d %s", counted.n, counted.what)
		}
	}
	return strings.Join(list, ", ")
}

// runs returns durations as text, equal ones in a row as one.
func runs(all iter.Seq[time.Duration]) string {
	var words []string
	list := slices.Collect(all)
	for len(list) > 0 {
		n := 1
		for n < len(list) && list[n] == list[0] {
			n++
		}
		words = append(words, fmt.Sprintf("%d×%v", n, list[0]))
		list = list[n:]
	}
	return strings.Join(words, " ")
}

// TestMeanReadGap holds that frames of one read are one read, and that one alone has no gap.
func TestMeanReadGap(t *testing.T) {
	line := Timeline{Frames: []Frame{
		{At: 10 * ms, Read: 1, N: 1}, {At: 30 * ms, Read: 2, N: 1}, {At: 30 * ms, Read: 2, N: 1}, {At: 70 * ms, Read: 3, N: 1},
	}}
	if got := line.meanReadGap(); got != 30*ms {
		t.Errorf("of three reads: %v", got)
	}
	alone := Timeline{Frames: line.Frames[1:3]}
	if got := alone.meanReadGap(); got != 0 {
		t.Errorf("of one read: %v", got)
	}
}

// TestBurst holds what is a burst and what is an engine's pace: frames that a proxy writes one by one after it got
// them together, and not the tokens between stalls.
func TestBurst(t *testing.T) {
	at := func(gaps ...time.Duration) []Frame {
		list := []Frame{{At: 500 * ms, N: 1}}
		for i, gap := range gaps {
			list = append(list, Frame{At: list[i].At + gap, Read: uint32(i + 1), N: 1})
		}
		return list
	}
	const µs = time.Microsecond
	repeat := func(n int, gaps ...time.Duration) []time.Duration { return slices.Repeat(gaps, n) }
	for name, test := range map[string]struct {
		gaps        []time.Duration
		below       time.Duration
		least, most time.Duration // ITL
	}{
		"no gap": {nil, 0, -1, -1},
		"a proxy's burst of eight": {repeat(12, 27*ms, 485*µs, 485*µs, 485*µs, 485*µs, 485*µs, 485*µs, 485*µs),
			826436, 3799375, 3799375},
		"a proxy's burst of 25":           {repeat(4, append(repeat(24, 485*µs), 97*ms)...), 613673, 4345600, 97 * ms},
		"a timer's, just quick enough":    {repeat(25, 47*ms, ms, ms, ms), ms, 12500 * µs, 12500 * µs},
		"a timer's, too slow for a burst": {repeat(25, 47*ms, 1100*µs, 1100*µs, 1100*µs), ms, 1100 * µs, 47 * ms},
		"an even engine":                  {repeat(99, 20*ms), ms, 20 * ms, 20 * ms},
		"a quick engine":                  {repeat(99, 600*µs), 150 * µs, 600 * µs, 600 * µs},
		"a quick engine that stalls":      {append(repeat(99, 600*µs), 300*ms, 600*µs), 150 * µs, 600 * µs, 300 * ms},
		"prefills in between":             {repeat(20, 10*ms, 10*ms, 10*ms, 10*ms, 300*ms), ms, 10 * ms, 300 * ms},
	} {
		line := Timeline{Frames: at(test.gaps...)}
		burst := burstOf(line.Frames)
		list := slices.Sorted(line.ITL())
		if list == nil {
			list = []time.Duration{-1}
		}
		if burst != test.below || list[0] != test.least || list[len(list)-1] != test.most {
			t.Errorf("%s: bursts below %v, ITL from %v to %v, want %v, %v and %v", name, burst, list[0],
				list[len(list)-1], test.below, test.least, test.most)
		}
	}
}

// TestServerTTFTNeedsTheEndOfTheRequest holds that server TTFT is a sample only if it is known to 5% when the request
// had been written, together with when the token arrived.
func TestServerTTFTNeedsTheEndOfTheRequest(t *testing.T) {
	for _, test := range []struct {
		until, notBefore time.Duration // the request was written at 10 ms or until then; no token had come by then
		want             bool
	}{
		{until: 10 * ms, want: true},
		{until: 15 * ms, want: true}, // 5 of 100 ms
		{until: 15*ms + time.Microsecond},
		{until: 13 * ms, notBefore: 108 * ms, want: true},
		{until: 13*ms + time.Microsecond, notBefore: 108 * ms},
		{until: 0, want: true}, // as of a probe that was recorded before
	} {
		line := Timeline{
			Phases: Phases{Wrote: 10 * ms, WroteUntil: test.until, Header: 12 * ms},
			Frames: []Frame{{At: 110 * ms, Read: 1, Kernel: true}, {At: 200 * ms, Read: 2, Kernel: true}},
		}
		if test.notBefore > 0 { // the timestamp was rejected
			line.Frames[0].Kernel = false
			line.Frames[0].NotBefore = test.notBefore
		}
		d, ok := line.ServerTTFT()
		if d != 100*ms || ok != test.want {
			t.Errorf("until %v, not before %v: %v, %t", test.until, test.notBefore, d, ok)
		}
		_, ok = line.TTFT()
		if !ok {
			t.Errorf("until %v: no TTFT", test.until)
		}
	}
}

// TestWhenAReadIsLate holds how long bytes lie unread in a read that is late: longer than 250 µs, and than a twentieth of
// the mean time between two reads.
func TestWhenAReadIsLate(t *testing.T) {
	for gap, most := range map[time.Duration]time.Duration{
		ms: 250 * time.Microsecond, 5 * ms: 250 * time.Microsecond, 20 * ms: ms,
	} {
		for delay, want := range map[time.Duration]bool{most: false, most + 1: true} {
			line := inReads(gap, delay, 1, 1, 1, 1)
			if got := analyse(&line).hasLateRead(); got != want {
				t.Errorf("%v unread, reads %v apart: late %t, want %t", delay, gap, got, want)
			}
		}
	}
}
