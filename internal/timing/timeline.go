// Package timing is the arithmetic of arrivals: what the moments at which token frames arrived say about latencies, and
// which of these are certain enough for a sample. It is pure: no clock, no network, no labels.
//
// In come a [Frame] for each token frame and the [Phases] of the request, out comes a [Timeline] with TTFT, ITL, TPOT
// and gaps. Begin reading at [Timeline], then at analysis
// and [Chunk].
package timing

import (
	"iter"
	"slices"
	"time"
)

// A Timeline is when the parts of an answer arrived. Each Duration counts from the start of the request, the moment at
// which it was handed to the transport, on the monotonic clock.
type Timeline struct {
	Phases Phases

	Frames        []Frame       // one per token frame, in the order in which they were read
	FinishedAt    time.Duration // frame with the finish reason; 0 if there was none
	FirstAnswerAt time.Duration // first frame with text of the answer, not only reasoning; 0 if there was none
	Open          time.Duration // gap still open when the probe died mid-stream; 0 otherwise
	Taint         Taint         // why there is no ITL although the tokens of each frame are known; empty if there is

	settled *analysis // see [Timeline.analysis]
}

// Phases are the parts of a request before the first byte of its answer. A phase that did not happen is zero: DNS,
// Connect and TLS on a reused connection, DNS for an address, TLS for plain HTTP.
type Phases struct {
	DNS, Connect, TLS time.Duration // lengths
	Wrote             time.Duration // last request byte written, since the start; 0 if it never was
	WroteUntil        time.Duration // it may have been as late as this; 0 if it never was
	Header            time.Duration // response header read, since the start; 0 if it never was
	Reused            bool          // the connection served an earlier probe
}

// WriteTime returns the length of the upload: from the connection to the last byte. ok is false if that was never
// written.
func (p Phases) WriteTime() (d time.Duration, ok bool) {
	return p.Wrote - p.DNS - p.Connect - p.TLS, p.Wrote > 0
}

// WaitTime returns the time from the last request byte to the response header. ok is false if no header was read.
func (p Phases) WaitTime() (d time.Duration, ok bool) {
	return max(0, p.Header-p.Wrote), p.Header > 0 && p.Wrote > 0
}

// A Frame is one token frame. Frames completed by one read share one At, unless several calls were needed for it. At
// does not decrease from frame to frame, but where the kernel dates only the later one of two that were read right
// after each other.
type Frame struct {
	At     time.Duration
	Delay  time.Duration // how long the bytes lay unread, at most; 0 unless Kernel
	N      int           // generated tokens in the frame; 0 if they cannot be attributed
	Read   uint32        // number of the socket read that completed the frame
	Kernel bool          // At is the kernel's timestamp, not the time of the read

	// NotBefore is a moment at which none of the bytes that the read found had been received, counted like At. It equals
	// At if all of them came in one packet. 0: nothing is known.
	NotBefore time.Duration

	MoreInRead bool // the read also completed a later frame without tokens: At may be that one's
}

// Settle sets the taint, and keeps what all methods need, so that it is computed once. Phases and token frames are
// complete by then, and do not change any more.
func (t *Timeline) Settle() {
	t.settled = analyse(t)
	t.Taint = t.taint()
}

// analysis returns what the arrivals show together. A timeline that was not settled, as tests make them, is analysed at
// each call.
func (t *Timeline) analysis() *analysis {
	if t.settled != nil {
		return t.settled
	}
	return analyse(t)
}

// TTFT returns the first token frame's arrival. ok is false if no token was seen, or its arrival is too uncertain.
func (t *Timeline) TTFT() (d time.Duration, ok bool) {
	if len(t.Frames) == 0 {
		return 0, false
	}
	d = t.Frames[0].At
	return d, t.analysis().isSample(d, 0)
}

// TTFAT returns the arrival of the first token frame with text of the answer, and not only reasoning. ok is false if
// there was none, or its arrival is too uncertain.
func (t *Timeline) TTFAT() (d time.Duration, ok bool) {
	d = t.FirstAnswerAt
	first := slices.IndexFunc(t.Frames, func(f Frame) bool { return f.At >= d })
	return d, d > 0 && (first < 0 || t.analysis().isSample(d, first))
}

// E2EL returns the arrival of the last token frame, or of the finish frame if that came later. ok is false if there is
// none, or it is too uncertain.
func (t *Timeline) E2EL() (d time.Duration, ok bool) {
	last := len(t.Frames) - 1
	if last < 0 {
		return 0, false
	}
	d = max(t.Frames[last].At, t.FinishedAt)
	return d, t.analysis().isSample(d, last)
}

// ServerTTFT returns the first token frame's arrival since the last request byte was written. ok is false as for TTFT,
// if the token came before that, and if one of the two moments is too uncertain.
func (t *Timeline) ServerTTFT() (d time.Duration, ok bool) {
	if len(t.Frames) == 0 || t.Phases.Wrote == 0 {
		return 0, false
	}
	d = t.Frames[0].At - t.Phases.Wrote
	writing := max(0, t.Phases.WroteUntil-t.Phases.Wrote)
	return d, isCertain(d, t.analysis().uncertainty(0)+writing)
}

// ChunkGaps yields the gaps between consecutive token frames whose arrivals are both known: nothing of an answer in one
// piece. A chunk of the metric is a token frame, not a [Chunk].
func (t *Timeline) ChunkGaps() iter.Seq[time.Duration] {
	return func(yield func(time.Duration) bool) {
		if t.analysis().atOnce {
			return
		}
		windows := t.analysis().windows
		for i := 1; i < len(t.Frames); i++ {
			if !windows[i-1].known || !windows[i].known {
				continue
			}
			if !yield(t.Frames[i].At - t.Frames[i-1].At) {
				return
			}
		}
	}
}

// ITL yields the time between two chunks divided by the tokens of the later one, once per token: nothing if the
// timeline is tainted, some frame's tokens are unknown or the answer came in one piece, nor for a last chunk whose
// arrival is too uncertain.
func (t *Timeline) ITL() iter.Seq[time.Duration] {
	return func(yield func(time.Duration) bool) {
		a := t.analysis()
		last := len(t.Frames) - 1
		if last < 1 || t.Taint != "" || a.atOnce {
			return
		}
		isUnknown := func(f Frame) bool { return f.N == 0 }
		if slices.ContainsFunc(t.Frames[1:], isUnknown) {
			return
		}
		for _, c := range a.chunks {
			isBlurred := c.last() == last && !a.isSample(c.since, last)
			if c.first == 0 || isBlurred {
				continue
			}
			for range c.tokens {
				if !yield(c.since / time.Duration(c.tokens)) {
					return
				}
			}
		}
	}
}

// TPOT returns the time from the first chunk to the last token frame, divided by the tokens that came after the first
// chunk. n is the number of generated tokens of the whole answer. If the tokens of the first chunk are unknown, they
// are one a frame, and fewer if the answer has more frames than tokens. ok is false if no token came after the first
// chunk, for an answer in one piece, and if the time is too uncertain.
func (t *Timeline) TPOT(n int) (d time.Duration, ok bool) {
	a := t.analysis()
	if len(a.chunks) < 2 || a.atOnce {
		return 0, false
	}
	first := a.chunks[0].leastTokens()
	frames := len(t.Frames)
	if frames > n {
		first = max(1, first*n/frames)
	}
	if n <= first {
		return 0, false
	}
	whole := t.Frames[frames-1].At - a.chunks[0].at
	return whole / time.Duration(n-first), a.isSample(whole, frames-1)
}

// MaxGap returns the longest gap between two token frames, the one still open when the probe died included: the longest
// that it can have been. ok is false if there is none, if it may have been shorter by more than 1/20, and for an answer
// in one piece that did not break off.
func (t *Timeline) MaxGap() (d time.Duration, ok bool) {
	hasGap := len(t.Frames) > 1 && !t.analysis().atOnce
	if !hasGap && t.Open == 0 {
		return 0, false
	}
	least, most := t.Open, t.Open // the bounds of the longest gap
	windows := t.analysis().windows
	for i := 1; i < len(windows); i++ {
		earlier, later := windows[i-1], windows[i]
		least = max(least, later.from-earlier.until)
		most = max(most, later.until-earlier.from)
	}
	if t.Open > 0 {
		last := windows[len(windows)-1]
		most = max(most, t.Open+last.until-last.from)
	}
	return most, isCertain(most, most-least)
}

// AtOnce reports whether the token frames came closer together than any engine makes them.
func (t *Timeline) AtOnce() bool { return t.analysis().atOnce }

// OnePiece reports whether they did although no late read explains it: something collected them.
func (t *Timeline) OnePiece() bool { return t.analysis().onePiece }

// Chunks returns the chunks of the answer, in order. The caller does not change them.
func (t *Timeline) Chunks() []Chunk { return t.analysis().chunks }

// Uncertain reports for each token frame whether it may have arrived before its timestamp; nil if none may.
func (t *Timeline) Uncertain() []bool {
	list := make([]bool, 0, len(t.Frames))
	for _, w := range t.analysis().windows {
		list = append(list, !w.known)
	}
	if !slices.Contains(list, true) {
		return nil
	}
	return list
}

// JoinedTokens returns the number of tokens in joined chunks; a frame whose tokens are unknown counts as one.
func (t *Timeline) JoinedTokens() (n int) {
	for _, c := range t.analysis().chunks {
		if c.Joined {
			n += c.leastTokens()
		}
	}
	return n
}

// Joined reports for each token frame whether it is in a joined chunk; nil if none is.
func (t *Timeline) Joined() []bool {
	list := make([]bool, 0, len(t.Frames))
	for _, c := range t.analysis().chunks {
		list = append(list, slices.Repeat([]bool{c.Joined}, c.Frames)...)
	}
	if !slices.Contains(list, true) {
		return nil
	}
	return list
}

// Bursts returns the number of token frames that arrived in a burst with the one before, although they were read on
// time.
func (t *Timeline) Bursts() (n int) {
	for _, c := range t.analysis().chunks {
		if !c.Joined {
			n += c.Frames - 1
		}
	}
	return n
}

// ReadDelays returns how long the bytes of each read with a kernel timestamp and a token frame lay unread.
func (t *Timeline) ReadDelays() (delays []time.Duration) {
	for i, f := range t.Frames {
		isFirstOfRead := i == 0 || !t.readWithNext(i-1)
		if f.Kernel && isFirstOfRead {
			delays = append(delays, f.Delay)
		}
	}
	return delays
}

// MaxReadDelay returns the longest of [Timeline.ReadDelays]. ok is false if there are none.
func (t *Timeline) MaxReadDelay() (d time.Duration, ok bool) {
	delays := t.ReadDelays()
	if len(delays) == 0 {
		return 0, false
	}
	return slices.Max(delays), true
}

// readWithNext reports whether token frame i and the one after it came in one read.
func (t *Timeline) readWithNext(i int) bool {
	return i+1 < len(t.Frames) && t.Frames[i].Read == t.Frames[i+1].Read
}

// Coalesced returns the number of token frames that came in one read with the one before.
func (t *Timeline) Coalesced() (n int) {
	for i := range t.Frames {
		if t.readWithNext(i) {
			n++
		}
	}
	return n
}

// meanReadGap returns the mean time between reads that completed token frames; 0 if there was only one.
func (t *Timeline) meanReadGap() time.Duration {
	reads := len(t.Frames) - t.Coalesced()
	if reads < 2 {
		return 0
	}
	return (t.Frames[len(t.Frames)-1].At - t.Frames[0].At) / time.Duration(reads-1)
}

// A Taint is why a probe has no ITL: more than 19 of 20 of its tokens were joined, so that only their mean is known.
type Taint string

// The taints.
const (
	TaintLate      Taint = "late"      // bytes lay unread for longer than the mean time between two reads
	TaintCoalesced Taint = "coalesced" // they lay unread for less, but frames came together
)

// Taints returns every taint.
func Taints() []Taint { return []Taint{TaintLate, TaintCoalesced} }

// taint returns why there is no ITL, if late reads are the reason: they are not for an answer in one piece.
func (t *Timeline) taint() Taint {
	tokens := 0
	for _, f := range t.Frames {
		tokens += max(1, f.N)
	}
	if t.analysis().onePiece || t.JoinedTokens()*Precision <= tokens*(Precision-1) {
		return ""
	}
	latest, _ := t.MaxReadDelay()
	if len(t.Frames)-t.Coalesced() > 1 && latest > t.meanReadGap() {
		return TaintLate
	}
	return TaintCoalesced
}
