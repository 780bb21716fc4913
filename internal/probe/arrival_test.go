package probe

import (
	"testing"
	"time"
)

// arrived are token frames, each read a gap after the one before.
func arrived(n int, gap time.Duration) []Arrival {
	list := make([]Arrival, n)
	for i := range list {
		list[i] = Arrival{At: 500*ms + time.Duration(i)*gap, Read: uint32(i + 1), N: 1, Kernel: true, Delay: ms / 20}
	}
	return list
}

// with changes some of the frames.
func with(list []Arrival, change func(i int, a *Arrival)) Timeline {
	for i := range list {
		change(i, &list[i])
	}
	return Timeline{Tokens: list}
}

// inReads are token frames of one token, a gap apart, that a reader found so many at a time: each read has the
// arrival of its last.
func inReads(gap, delay time.Duration, frames ...int) Timeline {
	var t Timeline
	at := 500 * ms
	for read, n := range frames {
		at += time.Duration(n) * gap
		for range n {
			t.Tokens = append(t.Tokens, Arrival{At: at, Read: uint32(read + 1), N: 1, Kernel: true, Delay: delay})
		}
	}
	return t
}

func TestTaint(t *testing.T) {
	for _, test := range []struct {
		name string
		of   Timeline
		want Taint
	}{
		{"nothing came", Timeline{}, ""},
		{"all on time", with(arrived(100, 20*ms), func(int, *Arrival) {}), ""},
		{"each read alone, and later than a gap is long", with(arrived(100, 20*ms), func(_ int, a *Arrival) { a.Delay = 90 * ms }), ""},
		{"no kernel timestamps", with(arrived(100, 20*ms), func(_ int, a *Arrival) { a.Kernel, a.Delay = false, 0 }), ""},
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
