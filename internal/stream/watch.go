package stream

import "time"

// A watch decides when a read that waits is interrupted for a look at the socket. A look that finds the socket empty
// proves that nothing has arrived so far: see [evidence]. A look costs up to 200 µs of processor time where the
// process sleeps otherwise, so there are few while bytes come as usual.
//
// The first wait is the one for an answer to begin, however many reads it takes. It has no look before the moment at
// which an answer is expected. After that, each read begins a new wait, with no look until it is unusually long:
//
//	request                      expected              first token           gap
//	   |------------ quiet ---------|.....|.....|......|  |  |  |----------|.|.|.|..|
//	                                  looks: each 1/40    reads  10 × usual  looks
//	                                  of the wait so far
type watch struct {
	on    bool
	begun bool            // the answer has begun: the first wait is over
	from  time.Time       // when the current wait began
	quiet time.Duration   // the first part of the current wait, without looks
	gaps  []time.Duration // the last recentGaps gaps between reads, in any order
	next  int             // index in gaps of the one that is replaced next
}

const (
	minLook    = time.Millisecond // the shortest time between two looks
	lookPart   = 40               // looks are 1/40 of the time waited so far apart
	recentGaps = 8
	unusual    = 10 // a gap is looked at once it is this many times as long as usual
)

// start begins the first wait.
func (w *watch) start(from time.Time, quiet time.Duration) {
	*w = watch{on: true, from: from, quiet: quiet, gaps: make([]time.Duration, 0, recentGaps)}
}

// endFirstWait ends the wait for an answer to begin, and begins the wait for the next read.
func (w *watch) endFirstWait(now time.Time) {
	w.begun = true
	w.from = now
	w.quiet = 0
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
	w.quiet = unusual * w.usualGap()
}

// usualGap returns the second longest of the last gaps, so that one pause does not hide the next; 0 if fewer than two
// are known.
func (w *watch) usualGap() time.Duration {
	var longest, second time.Duration
	for _, gap := range w.gaps {
		second = max(second, min(gap, longest))
		longest = max(longest, gap)
	}
	return second
}

// nextLook returns when a read that waits is to be interrupted next; zero if it is not.
func (w *watch) nextLook(now time.Time) time.Time {
	if !w.on || w.begun && w.quiet == 0 {
		return time.Time{}
	}
	waited := now.Sub(w.from)
	return now.Add(max(w.quiet-waited, waited/lookPart, minLook))
}
