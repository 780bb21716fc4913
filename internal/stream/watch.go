package stream

import (
	"time"
)

// A watch decides when a read that waits is interrupted for a look at the socket. A look that finds it empty is
// evidence that nothing has arrived so far: see [evidence]. A look costs up to 200 µs of processor time where the
// process sleeps otherwise, so there are few while bytes come as usual.
//
// The first wait is that for an answer to begin, however many reads come before. It has no look before the moment at
// which an answer is expected. After that, each read begins a new wait, with no look until it is unusually long:
//
//	request                      expected              first token           gap
//	   |------------ quiet ---------|.....|.....|......|  |  |  |----------|.|.|.|..|
//	                                  looks: each 1/40    reads  10 × usual  looks
//	                                  of the wait so far
type watch struct {
	on    bool
	begun bool            // the first wait is over
	from  time.Time       // the wait began
	quiet time.Duration   // the beginning of the wait that has no look
	gaps  []time.Duration // the last ones between reads, at most recentGaps, in any order
	next  int             // index in gaps of the one that is replaced next
}

const (
	minLook    = time.Millisecond // between two looks at least
	lookPart   = 40               // a look after each 1/40 of the time waited so far
	recentGaps = 8
	unusual    = 10 // a gap that is so many times as long as usual ones is worth looks
)

// start begins the first wait.
func (w *watch) start(from time.Time, quiet time.Duration) {
	*w = watch{on: true, from: from, quiet: quiet, gaps: make([]time.Duration, 0, recentGaps)}
}

// begin ends the first wait, and begins one for the next read.
func (w *watch) begin(now time.Time) {
	w.begun, w.from, w.quiet = true, now, 0
}

// read notes that a read brought bytes.
func (w *watch) read(now time.Time) {
	if !w.on || !w.begun {
		return
	}
	gap := now.Sub(w.from)
	if len(w.gaps) < recentGaps {
		w.gaps = append(w.gaps, gap)
	} else {
		w.gaps[w.next] = gap
		w.next = (w.next + 1) % recentGaps
	}
	w.from = now
	w.quiet = unusual * w.usual()
}

// usual is the second longest of the last gaps, so that one pause does not hide the next; 0 if fewer than two are
// known.
func (w *watch) usual() time.Duration {
	longest, second := time.Duration(0), time.Duration(0)
	for _, gap := range w.gaps {
		second = max(second, min(gap, longest))
		longest = max(longest, gap)
	}
	return second
}

// look returns when a read that waits is to be interrupted next; zero if it is not.
func (w *watch) look(now time.Time) time.Time {
	if !w.on || w.begun && w.quiet == 0 {
		return time.Time{}
	}
	waited := now.Sub(w.from)
	return now.Add(max(w.quiet-waited, waited/lookPart, minLook))
}
