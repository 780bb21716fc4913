package probe

import (
	"iter"
	"slices"
	"time"
)

// A chunk is one token frame, or several between whose arrivals no pace can be seen: a burst
// that was sent at once, or frames that were joined, because the kernel merged them while the
// reader was late and tells the arrival of the last of them only. Either way its tokens share
// the time since the chunk before. See docs/decisions/0014-chunks.md.
type chunk struct {
	at     time.Duration // arrival of its last token frame
	first  int           // index of its first token frame
	frames int
	tokens int  // 0 if they cannot be attributed
	joined bool // only the last of its arrivals is known
}

// chunks yields all chunks, in their order.
func (t *Timeline) chunks() iter.Seq[chunk] {
	return func(yield func(chunk) bool) {
		late, c, unknown := t.lateness(), chunk{}, false
		for i, a := range t.Tokens {
			if c.frames == 0 {
				c.first, unknown = i, false
			}
			n := t.tokensOf(i)
			unknown = unknown || n == 0
			c.at, c.frames, c.tokens = a.At, c.frames+1, c.tokens+n
			if i+1 < len(t.Tokens) {
				next := t.Tokens[i+1]
				c.joined = c.joined || a.Read == next.Read && late.read(next) || late.inDoubt(a)
				if a.Read == next.Read || next.At-a.At <= t.Burst || late.inDoubt(a) {
					continue
				}
			}
			if unknown {
				c.tokens = 0
			}
			if !yield(c) {
				return
			}
			c = chunk{}
		}
	}
}

// doubtful is the part of a value by which it may be off and still be a sample.
const doubtful = 20

// The limits of a burst: gaps below both are no pace of an engine's.
const (
	burstPart = 4                // of the usual time between two token frames
	burstGap  = time.Millisecond // no engine that is known takes less for a step
	stalls    = 50               // one gap in so many may be a stall, and is not usual
)

// burst is the gap below which token frames are one burst: a small part of the usual time
// between two frames, which is their mean without the longest fiftieth, so that a stall
// does not make bursts of what is around it. 0 if there are none.
func burst(tokens []Arrival) time.Duration {
	gaps := make([]time.Duration, 0, len(tokens))
	for i := 1; i < len(tokens); i++ {
		gaps = append(gaps, tokens[i].At-tokens[i-1].At)
	}
	slices.Sort(gaps)
	gaps = gaps[:len(gaps)-(len(gaps)+stalls-1)/stalls]
	var sum time.Duration
	for _, gap := range gaps {
		sum += gap
	}
	if sum == 0 {
		return 0
	}
	return min(sum/time.Duration(burstPart*len(gaps)), burstGap)
}

// A lateness is what reads of a timeline count as late.
type lateness struct {
	after time.Duration // a read is late if its bytes lay unread for longer
	any   bool          // some read was late
}

// lateness judges by the mean time between two reads.
func (t *Timeline) lateness() lateness {
	apart, _ := t.apart()
	l := lateness{after: max(onTime, apart/doubtful)}
	latest, _ := t.MaxReadDelay()
	l.any = latest > l.after
	return l
}

// read reports whether a was read late.
func (l lateness) read(a Arrival) bool { return a.Kernel && a.Delay > l.after }

// inDoubt reports whether a may have arrived before it is told, although it is the last token
// frame of its read: something came behind it and was read late with it, or the kernel's time
// stamp was refused while the reader was late.
func (l lateness) inDoubt(a Arrival) bool {
	return a.Behind && l.read(a) || l.any && !a.Kernel
}

// known reports whether the arrival of token frame i is what is told, even if every read that
// looks on time is one that a late reader made just after the last of several arrivals.
func (t *Timeline) known(i int, l lateness) bool {
	last := i+1 == len(t.Tokens) || t.Tokens[i+1].Read != t.Tokens[i].Read
	return !l.any || last && !t.Tokens[i].Behind && t.Tokens[i].Kernel
}

// Spans yields the times between known arrivals, each with the index of the token frame at its
// end. Where arrivals between are unknown it is no gap; one that ends with an unknown arrival
// may be too long.
func (t *Timeline) Spans() iter.Seq2[int, Span] {
	return func(yield func(int, Span) bool) {
		late, from, gap := t.lateness(), t.answered(), false
		for i, a := range t.Tokens {
			known := t.known(i, late)
			if (known && i > 0 || !known && i+1 == len(t.Tokens)) && !yield(i, Span{a.At - from, known && gap}) {
				return
			}
			if gap = known; known {
				from = a.At
			}
		}
	}
}

// A Span is the time between two token frames.
type Span struct {
	Length time.Duration
	Gap    bool // one follows the other: it is a chunk gap
}

// answered is the last moment before which no token can have arrived.
func (t *Timeline) answered() time.Duration {
	first, ok := t.TTFT()
	if h := t.Phases.Header; ok && h < first {
		return min(max(h, t.Phases.Wrote), first)
	}
	return min(t.Phases.Wrote, first)
}

// doubt is how much earlier than told token frame i may have arrived: 0 if it is on its own,
// or was read on time. Of a frame in a joined chunk it is the time since the chunk before,
// or, where that is less, what the frames behind it in the chunk took at the slowest pace of all
// other chunks.
func (t *Timeline) doubt(i int) time.Duration {
	late, before := t.lateness(), t.answered()
	behind, since, slowest := 0, time.Duration(0), time.Duration(0)
	for c := range t.chunks() {
		end := c.first + c.frames - 1
		switch {
		case c.first <= i && i <= end:
			if behind = end - i; late.inDoubt(t.Tokens[end]) {
				behind++
			}
			if behind == 0 || !c.joined && behind == end-i {
				return 0
			}
			since = t.Tokens[i].At - before
		case c.first > 0:
			slowest = max(slowest, (c.at-before)/time.Duration(c.frames))
		}
		before = c.at
	}
	if slowest > 0 {
		since = min(since, time.Duration(behind)*slowest)
	}
	return since
}

// sure reports whether a value that depends on the arrival of token frame i is in doubt by no
// more than a sample may be.
func (t *Timeline) sure(value time.Duration, i int) bool { return t.doubt(i)*doubtful <= value }

// JoinedTokens is the number of tokens in joined chunks; a frame whose tokens are unknown
// counts as one.
func (t *Timeline) JoinedTokens() int {
	n := 0
	for c := range t.chunks() {
		if c.joined {
			n += max(c.tokens, c.frames)
		}
	}
	return n
}

// Joined tells of each token frame whether it is in a joined chunk; nil if none is.
func (t *Timeline) Joined() []bool {
	var list []bool
	for c := range t.chunks() {
		if c.joined && list == nil {
			list = make([]bool, len(t.Tokens))
		}
		for i := range c.frames {
			if c.joined {
				list[c.first+i] = true
			}
		}
	}
	return list
}

// Bursts is the number of token frames that arrived in a burst with the one before: together,
// and although they were read on time.
func (t *Timeline) Bursts() int {
	n := 0
	for c := range t.chunks() {
		if !c.joined {
			n += c.frames - 1
		}
	}
	return n
}
