package timing

import (
	"slices"
	"testing"
	"time"
)

const ms = time.Millisecond

// inReads are token frames of one token, a gap apart, that a reader found so many at a time: each read has the
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
		line.Burst = burstOf(line.Frames)
		list := slices.Sorted(line.ITL())
		if list == nil {
			list = []time.Duration{-1}
		}
		if line.Burst != test.below || list[0] != test.least || list[len(list)-1] != test.most {
			t.Errorf("%s: bursts below %v, ITL from %v to %v, want %v, %v and %v", name, line.Burst, list[0],
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
