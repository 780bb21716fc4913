package probe

import (
	"iter"
	"time"
)

// A Timeline is when the parts of one streamed answer arrived. Every Duration
// counts from Start on the monotonic clock.
type Timeline struct {
	Start  time.Time // the request was handed to the transport
	Phases Phases

	Tokens []Arrival     // one per token frame; At never decreases
	Finish time.Duration // frame that carried the finish reason; 0 if none did
	Answer time.Duration // first frame that showed some of the answer, not only reasoning; 0 if none did
	Open   time.Duration // silence still running when the probe died mid-stream; 0 if it did not

	// Burst is the gap below which token frames are one chunk; 0: only those of one read are.
	Burst time.Duration

	// Alone is the answer's generated tokens when each token frame carries
	// exactly one: set when the server never told the tokens of a frame, but
	// its count of all tokens equals the number of token frames, or is one more
	// (an invisible end-of-sequence, which an answer that ended for its length has not).
	Alone bool
}

// Phases are the parts of a request before the first byte of its answer. A
// length that did not happen is zero: DNS, Connect and TLS on a reused
// connection, DNS for an address, TLS for plain HTTP.
type Phases struct {
	DNS, Connect, TLS time.Duration // lengths
	Wrote             time.Duration // last request byte written, since Start; 0 if it never was
	Header            time.Duration // response header read, since Start; 0 if it never was
	Reused            bool          // the connection served an earlier probe
}

// Write is the length of the request's upload: from the connection to the last
// byte. ok is false if the request was never written.
func (p Phases) Write() (d time.Duration, ok bool) {
	return p.Wrote - p.DNS - p.Connect - p.TLS, p.Wrote > 0
}

// Wait is the time from the last request byte to the response header. Servers
// answer headers at acceptance or with the first token, so it is not comparable
// across kinds. ok is false if no header was read.
func (p Phases) Wait() (d time.Duration, ok bool) {
	return max(0, p.Header-p.Wrote), p.Header > 0 && p.Wrote > 0
}

// An Arrival is one token frame. Frames completed by one read share one At, unless it took several
// calls to get what lay there.
type Arrival struct {
	At     time.Duration
	Delay  time.Duration // from the kernel's stamp until the bytes were read; 0 unless Kernel
	N      int           // generated tokens in the frame; 0 if they cannot be attributed
	Read   uint32        // number of the socket read that completed the frame
	Kernel bool          // At is the kernel's time stamp, not when the bytes were read
	Behind bool          // the read completed a frame without tokens behind it: At may be that one's
}

// TTFT is the first token frame's arrival, connection set-up included. ok is
// false if no token was seen.
func (t *Timeline) TTFT() (d time.Duration, ok bool) {
	if len(t.Tokens) == 0 {
		return 0, false
	}
	return t.Tokens[0].At, true
}

// TTFAT is the first arrival of a frame that showed some of the answer itself:
// text, a tool call or a refusal, but not reasoning. ok is false if none did.
func (t *Timeline) TTFAT() (d time.Duration, ok bool) { return t.Answer, t.Answer > 0 }

// ServerTTFT is the time from the last request byte written to the first token
// frame. ok is false if no token was seen, or it came before the request was
// out.
func (t *Timeline) ServerTTFT() (d time.Duration, ok bool) {
	first, ok := t.TTFT()
	if !ok || t.Phases.Wrote == 0 || first < t.Phases.Wrote {
		return 0, false
	}
	return first - t.Phases.Wrote, true
}

// E2EL is the last token frame, or the finish frame if that came later. Usage,
// [DONE] and the end of the body never move it. ok is false if no token was
// seen.
func (t *Timeline) E2EL() (d time.Duration, ok bool) {
	if len(t.Tokens) == 0 {
		return 0, false
	}
	return max(t.Tokens[len(t.Tokens)-1].At, t.Finish), true
}

// ChunkGaps yields the gap before each token frame but the first, of those whose arrivals
// are both known.
func (t *Timeline) ChunkGaps() iter.Seq[time.Duration] {
	return func(yield func(time.Duration) bool) {
		for _, s := range t.Spans() {
			if s.Gap && !yield(s.Length) {
				return
			}
		}
	}
}

// ITL yields the time between two chunks divided by the tokens of the later one, once
// per token. It yields nothing if some frame's tokens are unknown, and nothing for a last
// chunk whose arrival is in doubt.
func (t *Timeline) ITL() iter.Seq[time.Duration] {
	return func(yield func(time.Duration) bool) {
		if !t.Attributed() {
			return
		}
		before, last := time.Duration(0), len(t.Tokens)-1
		for c := range t.chunks() {
			gap := c.at - before
			before = c.at
			if c.first == 0 || c.first+c.frames > last && !t.sure(gap, last) {
				continue
			}
			for range c.tokens {
				if !yield(gap / time.Duration(c.tokens)) {
					return
				}
			}
		}
	}
}

// Attributed reports whether the tokens of every frame after the first are
// known, so that ITL speaks.
func (t *Timeline) Attributed() bool {
	for i := 1; i < len(t.Tokens); i++ {
		if t.tokensOf(i) == 0 {
			return false
		}
	}
	return true
}

// tokensOf is the tokens of frame i; 0 if they cannot be attributed.
func (t *Timeline) tokensOf(i int) int {
	if t.Alone {
		return 1
	}
	return t.Tokens[i].N
}

// TPOT is (last − first) / (n − n₁), where n is the generated tokens of the
// whole answer, and n₁ those of the first chunk (1 a frame if unknown), so that it is the mean
// of ITL. ok is false unless n > n₁ and there is more than one chunk.
func (t *Timeline) TPOT(n int) (d time.Duration, ok bool) {
	for c := range t.chunks() {
		last := len(t.Tokens) - 1
		rest := n - max(c.tokens, c.frames)
		if c.frames > last || rest <= 0 {
			break
		}
		whole := t.Tokens[last].At - c.at
		return whole / time.Duration(rest), t.sure(whole, last)
	}
	return 0, false
}

// MaxGap is the longest chunk gap, the one still open when the probe died
// included. ok is false if no token was seen, there was no gap at all, or a longer one may
// lie between token frames whose arrivals are not known.
func (t *Timeline) MaxGap() (d time.Duration, ok bool) {
	d, hidden := t.Open, time.Duration(0)
	for _, s := range t.Spans() {
		if s.Gap {
			d = max(d, s.Length)
		} else {
			hidden = max(hidden, s.Length)
		}
	}
	return d, (len(t.Tokens) > 1 || t.Open > 0) && d >= hidden
}

// MaxReadDelay is the longest of [Timeline.ReadDelays]. ok is false if the kernel
// stamped no token frame.
func (t *Timeline) MaxReadDelay() (d time.Duration, ok bool) {
	for delay := range t.ReadDelays() {
		d, ok = max(d, delay), true
	}
	return d, ok
}

// Coalesced is the number of token frames that came in one read with the
// token frame before: their gap of zero is the transport's, not the engine's.
func (t *Timeline) Coalesced() int {
	n := 0
	for i := 1; i < len(t.Tokens); i++ {
		if t.Tokens[i].Read == t.Tokens[i-1].Read {
			n++
		}
	}
	return n
}
