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

func TestTaint(t *testing.T) {
	none := func(int, *Arrival) {}
	late := func(which int, d time.Duration) func(int, *Arrival) {
		return func(i int, a *Arrival) {
			if i == which {
				a.Delay = d
			}
		}
	}
	inOne := func(d time.Duration) func(int, *Arrival) {
		return func(_ int, a *Arrival) { a.At, a.Read, a.Delay = 500*ms, 1, d }
	}
	batches := func(d time.Duration) func(int, *Arrival) { // of seven tokens each 50 ms
		return func(i int, a *Arrival) {
			a.At, a.Read, a.Delay = 500*ms+time.Duration(i/7)*50*ms, uint32(i/7), d
		}
	}
	behind := with(arrived(100, 20*ms), none)
	behind.Behind = 2 * ms
	for _, test := range []struct {
		name string
		of   Timeline
		want Taint
	}{
		{"nothing came", Timeline{}, ""},
		{"all on time", with(arrived(100, 20*ms), none), ""},
		{"one as late as a gap is long", with(arrived(100, 20*ms), late(50, 20*ms)), ""},
		{"one later than a gap is long", with(arrived(100, 20*ms), late(50, 21*ms)), TaintLate},
		{"nobody knows", with(arrived(100, 20*ms), func(_ int, a *Arrival) { a.Kernel, a.Delay = false, 0 }), ""},
		{"all in one read, on time", with(arrived(50, 0), inOne(ms/20)), ""},
		{"all in one read, late", with(arrived(50, 0), inOne(80*ms)), TaintCoalesced},
		{"a server that batches", with(arrived(70, 0), batches(ms)), ""},
		{"one that batches, read late", with(arrived(70, 0), batches(3*ms)), TaintCoalesced},
		{"what came behind the last was read late with it", behind, TaintCoalesced},
		{"few stamps were believed", with(arrived(100, 10*ms), func(i int, a *Arrival) {
			if a.Kernel, a.Delay = i == 0 || i == 99, 0; i == 99 {
				a.Delay = 400 * ms
			}
		}), TaintLate},
	} {
		if got := test.of.taint(); got != test.want {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		}
	}
}

// TestATaintHidesNoStall: a silence that is so much longer than anything lay unread is the
// server's.
func TestATaintHidesNoStall(t *testing.T) {
	tokens := arrived(3, ms)
	tokens[2].Delay = 3 * ms / 2
	r := &Result{Outcome: Stalled, Taint: TaintLate, Timeline: Timeline{Tokens: tokens, Open: 30 * time.Second}}
	if gap, ok := r.MaxGap(); gap != 30*time.Second || !ok {
		t.Errorf("longest gap %v, %t", gap, ok)
	}
	r.Timeline.Open = 29 * ms
	if gap, ok := r.MaxGap(); ok {
		t.Errorf("longest gap %v of a probe that was read 1.5 ms late", gap)
	}
}
