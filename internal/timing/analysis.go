package timing

import "time"

// Precision says how certain a sample is: a value that may be off by more than 1/Precision of itself is none.
const Precision = 20

// isCertain reports whether a value that may be too long by some excess is a sample. A negative value never is.
func isCertain(value, excess time.Duration) bool { return excess*Precision <= value }

// Late is how long the bytes of a read that is late lay unread at least: ten times what a reader takes to wake up.
// Where reads are far apart, a read is late only if they lay unread for longer than a twentieth of the mean time
// between two.
const Late = 250 * time.Microsecond

// An analysis is what the arrivals of an answer show together: which reads were late, when each frame can have arrived,
// and which frames count as one chunk. A probe makes it once, when its answer has ended.
type analysis struct {
	late     time.Duration // a read is late if its bytes lay unread for longer
	maxDelay time.Duration // the longest that bytes lay unread
	windows  []window      // of each token frame
	chunks   []Chunk
	atOnce   bool // the frames came closer together than any engine makes them
	onePiece bool // and no late read explains that: something had collected them
}

// analyse returns the analysis of a timeline whose phases and token frames are complete.
func analyse(t *Timeline) *analysis {
	a := &analysis{late: max(Late, t.meanReadGap()/Precision)}
	a.maxDelay, _ = t.MaxReadDelay()
	a.windows = a.windowsOf(t)
	a.chunks = a.chunksOf(t)
	a.judgePace(t)
	return a
}

// isLate reports whether the read that completed a frame was late.
func (a *analysis) isLate(f Frame) bool { return f.Kernel && f.Delay > a.late }

func (a *analysis) hasLateRead() bool { return a.maxDelay > a.late }

// A window is the time in which a token frame arrived.
//
// The socket is known to be empty at 1460 ms. Then the reader loses its processor, and finds three tokens at 1515 ms,
// the last of which came at 1510 ms. Each arrived between 1460 and 1510 ms:
//
//	request     header        empty          tokens  read
//	   0           5           1460   [ ? ? ? ]1510  1515
//	                            |--- window ----|
//
// So TTFT is 1510 ms and at most 50 ms too long, which is less than 5% of it. Without the empty socket, the tokens
// could have come at any time since the header, and there would be no TTFT.
type window struct {
	from, until time.Duration
	known       bool // the frame arrived at its timestamp: from equals until
}

// windowsOf returns the window of each token frame.
func (a *analysis) windowsOf(t *Timeline) []window {
	list := make([]window, 0, len(t.Frames))
	earliest := earliestToken(t)
	for i, f := range t.Frames {
		// Once some read was late, one that looks on time may have been late as well: just after the last of several
		// packets.
		w := window{from: f.At, until: f.At, known: !a.mayBeEarlier(t, i, a.hasLateRead())}
		if !w.known {
			w.from = min(max(earliest, f.NotBefore), f.At)
		}
		list = append(list, w)
		earliest = w.from
		isLastOfRead := !t.readWithNext(i)
		if isLastOfRead && f.Kernel {
			earliest = f.At // what a later read brings came after all that this one did
		}
	}
	return list
}

// earliestToken returns the moment before which no token can have arrived: until then the request was being written, or
// the header had not come. A header that came in one read with the first token says nothing.
func earliestToken(t *Timeline) time.Duration {
	if len(t.Frames) == 0 {
		return 0
	}
	first := t.Frames[0].At
	header := t.Phases.Header
	if header >= first {
		header = 0
	}
	return min(max(header, t.Phases.Wrote), first)
}

// mayBeEarlier reports whether token frame i may have arrived before its timestamp. late says whether the read that
// completed it counts as late.
func (a *analysis) mayBeEarlier(t *Timeline, i int, late bool) bool {
	f := t.Frames[i]
	switch {
	case !f.Kernel:
		// The timestamp is the moment of the read. How late that was is not known; other reads tell how late they are.
		isRejected := f.NotBefore > 0
		return isRejected || a.hasLateRead()
	case f.NotBefore == f.At: // all that the read found came in one packet
		return false
	}
	// The kernel's timestamp is that of the last packet among those of the read.
	isShared := f.MoreInRead || t.readWithNext(i)
	return isShared && late
}

// quickestFrame is the shortest mean time between token frames that may be an engine's. The quickest ones known take a
// third of a millisecond for a token.
const quickestFrame = 100 * time.Microsecond

// judgePace finds whether several frames came so close to each other that no engine made them one by one. If those at
// the beginning were read late together, by more than an engine takes for all, they may have come one by one: then the
// pace is that of the others.
func (a *analysis) judgePace(t *Timeline) {
	last := len(t.Frames) - 1
	if last < 1 {
		return
	}
	leastTime := func(gaps int) time.Duration { return time.Duration(gaps) * quickestFrame }
	first := a.chunks[0]
	isBlurred := first.Joined && a.maxDelay >= leastTime(last)
	from := 0
	if isBlurred && len(a.chunks) > 1 {
		from = first.last()
	}
	a.atOnce = t.Frames[last].At-t.Frames[from].At < leastTime(last-from)
	a.onePiece = a.atOnce && !isBlurred
}

// uncertainty returns by how much token frame i may have arrived earlier than its timestamp says. There are two bounds,
// and the smaller one counts. One is the width of its window. The other is the time that the frames after it in its
// chunk take at the pace of the slowest other chunk. The second bound assumes an engine's pace, and holds only where
// there is one: frames closer than a millisecond are a burst.
func (a *analysis) uncertainty(i int) time.Duration {
	width := a.windows[i].until - a.windows[i].from
	if width == 0 {
		return 0
	}
	later := 0                  // frames that came after i, of its chunk
	slowest := time.Duration(0) // mean time of a frame in another chunk
	for _, c := range a.chunks {
		switch {
		case c.first <= i && i <= c.last():
			later = c.last() - i
			if c.blurredEnd {
				later++
			}
		case c.first > 0:
			slowest = max(slowest, c.since/time.Duration(c.Frames))
		}
	}
	if slowest >= time.Millisecond && later > 0 {
		width = min(width, time.Duration(later)*slowest)
	}
	return width
}

// isSample reports whether a value that ends with the arrival of token frame i is certain enough for a sample.
func (a *analysis) isSample(value time.Duration, i int) bool {
	return isCertain(value, a.uncertainty(i))
}
