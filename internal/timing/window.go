package timing

import (
	"time"
)

// MaxUncertainty is the part of a value by which it may be off and still be a sample: 1/20.
const MaxUncertainty = 20

// An analysis is what the arrivals of an answer show together: which frames count as one chunk, and when those that
// were read late can have arrived. A probe makes it once, when its answer has ended.
type analysis struct {
	late     lateness
	chunks   []Chunk
	windows  []window // of each token frame
	atOnce   bool     // the frames came closer together than any engine makes them
	onePiece bool     // and no late read explains that: something had collected them
}

// analyse returns the analysis of a timeline whose phases, token frames and burst are complete.
func analyse(t *Timeline) *analysis {
	a := &analysis{late: t.lateness()}
	a.chunks = chunksOf(t.Frames, a.late, t.Burst, t.earliest())
	a.windows = t.windows(a.late)
	a.judgePace(t.Frames)
	return a
}

// quickestFrame is the shortest mean time between token frames that may be an engine's. The quickest ones known take a
// third of a millisecond for a token.
const quickestFrame = 100 * time.Microsecond

// judgePace finds whether several frames came so close to each other that no engine made them one by one. If those at
// the beginning were read late together, by more than an engine takes for all, they may have come one by one: then the
// pace is that of the others.
func (a *analysis) judgePace(frames []Frame) {
	last := len(frames) - 1
	if last < 1 {
		return
	}
	least := func(gaps int) time.Duration { return time.Duration(gaps) * quickestFrame }
	isBlurred := a.chunks[0].Joined && a.late.latest >= least(last)
	from := 0
	if isBlurred && len(a.chunks) > 1 {
		from = a.chunks[0].last()
	}
	a.atOnce = frames[last].At-frames[from].At < least(last-from)
	a.onePiece = a.atOnce && !isBlurred
}

// Late is how long bytes may lie unread at least before their read was late, so that packets of it may have come much
// earlier: ten times what a reader takes to wake up.
const Late = 250 * time.Microsecond

// A lateness says which reads of a timeline were late.
type lateness struct {
	after  time.Duration // a read is late if its bytes lay unread for longer
	latest time.Duration // the longest that bytes lay unread
	any    bool          // some read was late
}

// lateness returns how long bytes may lie unread before their read is late: a twentieth of the mean time between two
// reads, but at least [Late].
func (t *Timeline) lateness() lateness {
	after := max(Late, t.meanReadGap()/MaxUncertainty)
	latest, _ := t.MaxReadDelay()
	return lateness{after: after, latest: latest, any: latest > after}
}

// read reports whether the read of a was late, so that what it found may have come at different times.
func (l lateness) read(a Frame) bool { return a.Kernel && a.Delay > l.after && !a.onePacket() }

// uncertain reports whether a, the last token frame of its read, may have arrived before its timestamp: because a frame
// behind it was read late with it, or because it has no timestamp of the kernel and the reader may have been late.
func (l lateness) uncertain(a Frame) bool {
	if a.Kernel {
		return a.Behind && l.read(a)
	}
	return l.any || a.rejected()
}

// rejected reports whether the kernel's timestamp was not believed: At is the time of the read, however late that was.
func (a Frame) rejected() bool { return !a.Kernel && a.NotBefore > 0 }

// onePacket reports whether all that the read found came in one packet, so that each of its frames arrived at At.
func (a Frame) onePacket() bool { return a.Kernel && a.NotBefore == a.At }

// known reports whether token frame i arrived at its timestamp. If no read was late, all frames did. Otherwise a frame
// that shares its read with a later one may have arrived earlier, unless all came in one packet: even a read that looks
// on time may have come just after the last of several packets.
func (t *Timeline) known(i int, late lateness) bool {
	a := t.Frames[i]
	if a.rejected() {
		return false
	}
	if !late.any || a.onePacket() {
		return true
	}
	lastOfRead := i+1 == len(t.Frames) || !t.coalesced(i+1)
	return lastOfRead && !a.Behind && a.Kernel
}

// A window is the time in which a token frame arrived.
//
// The reader looks at the socket and finds it empty at 1460 ms. Then it loses its processor, and finds three tokens at
// 1515 ms, the last of which came at 1510 ms. Each arrived between 1460 and 1510 ms:
//
//	request     header        empty          tokens  read
//	   0           5           1460   [ ? ? ? ]1510  1515
//	                            |--- window ----|
//
// So TTFT is 1510 ms and at most 50 ms too long, which is less than 5% of it. Without the empty read, the tokens could
// have come at any time since the header, and there would be no TTFT.
type window struct {
	from, until time.Duration
	known       bool // the frame arrived at its timestamp: from equals until
}

// windows returns the window of each token frame.
func (t *Timeline) windows(late lateness) []window {
	list := make([]window, 0, len(t.Frames))
	earliest := t.earliest()
	for i, a := range t.Frames {
		w := window{from: a.At, until: a.At, known: t.known(i, late)}
		if !w.known {
			w.from = min(max(earliest, a.NotBefore), a.At)
		}
		list = append(list, w)
		earliest = w.from
		lastOfRead := i+1 < len(t.Frames) && !t.coalesced(i+1)
		if lastOfRead && a.Kernel {
			earliest = a.At // what a later read brings came after what an earlier one did
		}
	}
	return list
}

// earliest returns the latest moment of which header and request show that no token had arrived before it.
func (t *Timeline) earliest() time.Duration {
	if len(t.Frames) == 0 {
		return 0
	}
	first, header := t.Frames[0].At, t.Phases.Header
	if header >= first {
		header = 0
	}
	return min(max(header, t.Phases.Wrote), first)
}

// uncertainty returns by how much token frame i may have arrived earlier than its timestamp says. There are two bounds,
// of which the smaller counts: the width of its window, and the time that the frames after it in its chunk take at the
// pace of the slowest other chunk. The second takes an engine's pace for granted, and holds only where there is one:
// frames closer than a millisecond are a burst.
func (a *analysis) uncertainty(i int) time.Duration {
	width := a.windows[i].until - a.windows[i].from
	if width == 0 {
		return 0
	}
	later := 0                  // frames that came after i, of its chunk
	slowest := time.Duration(0) // time of a frame in another chunk
	for _, c := range a.chunks {
		switch {
		case c.first <= i && i <= c.last():
			later = c.last() - i
			if c.late {
				later++
			}
		case c.first > 0:
			slowest = max(slowest, c.perFrame())
		}
	}
	if slowest >= time.Millisecond && later > 0 {
		width = min(width, time.Duration(later)*slowest)
	}
	return width
}

// sure reports whether a value that depends on the arrival of token frame i is certain enough for a sample. A negative
// one never is.
func (a *analysis) sure(value time.Duration, i int) bool {
	return a.uncertainty(i)*MaxUncertainty <= value
}
