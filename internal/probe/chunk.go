package probe

import (
	"slices"
	"time"
)

// A chunk is one token frame, or several that share the time since the chunk before: a burst, or frames that are
// joined, because the reader was late and the kernel merged them. See docs/decisions/0014-chunks.md.
//
// Five tokens, 20 ms apart. The reader finds the first two one by one, then loses its processor for 50 ms, and finds
// three together. The kernel says when the last of them arrived:
//
//	sent      520    540    560    580    600         ms since the start
//	read        520    540                  615       with the timestamps 520, 540, 600, 600, 600
//	chunks   [1]    [1]    [     3, joined    ]       at 520, 540, 600; since the chunk before: –, 20, 60
//	ITL              20     20     20     20          60 ms divided by three tokens, observed three times
type chunk struct {
	at     time.Duration // arrival of its last token frame
	since  time.Duration // from the chunk before, or from the earliest moment at which the first can have arrived
	first  int           // index of its first token frame
	frames int
	tokens int  // 0 if they cannot be attributed
	joined bool // only the last of its arrivals is known
}

// chunks returns the chunks of a timeline, in order.
func (t *Timeline) chunks() (all []chunk) {
	late := t.lateness()
	before := t.earliest()
	var c chunk
	attributed := true // the tokens of all frames of c are known
	for i, a := range t.Tokens {
		c.at = a.At
		c.since = a.At - before
		c.frames++
		c.tokens += a.N
		attributed = attributed && a.N > 0
		if i+1 < len(t.Tokens) {
			next := t.Tokens[i+1]
			sameRead := a.Read == next.Read
			c.joined = c.joined || sameRead && late.read(next) || late.uncertain(a)
			if sameRead || next.At-a.At <= t.Burst || late.uncertain(a) {
				continue
			}
		}
		if !attributed {
			c.tokens = 0
		}
		all = append(all, c)
		before = a.At
		c = chunk{first: i + 1}
		attributed = true
	}
	return all
}

// maxUncertainty is the part of a value by which it may be off and still be a sample: 1/20.
const maxUncertainty = 20

// burst is the gap below which token frames are one burst: a quarter of the mean time between two frames, without the
// longest fiftieth, and at most a millisecond, since no known engine takes less for a step. 0 if there are no gaps.
func burst(tokens []Arrival) time.Duration {
	gaps := make([]time.Duration, 0, len(tokens))
	for i := 1; i < len(tokens); i++ {
		gaps = append(gaps, tokens[i].At-tokens[i-1].At)
	}
	slices.Sort(gaps)
	gaps = gaps[:len(gaps)-(len(gaps)+49)/50]
	var sum time.Duration
	for _, gap := range gaps {
		sum += gap
	}
	if sum == 0 {
		return 0
	}
	return min(sum/time.Duration(4*len(gaps)), time.Millisecond)
}

// A lateness says which reads of a timeline were late.
type lateness struct {
	after time.Duration // a read is late if its bytes lay unread for longer
	any   bool          // some read was late
}

// 250 µs, ten times a reader's wake-up, are never late.
func (t *Timeline) lateness() lateness {
	after := max(250*time.Microsecond, t.meanReadGap()/maxUncertainty)
	latest, _ := t.MaxReadDelay()
	return lateness{after: after, any: latest > after}
}

// read reports whether the read of a was late, so that what it found may have come at different times.
func (l lateness) read(a Arrival) bool { return a.Kernel && a.Delay > l.after && !a.onePacket() }

// uncertain reports whether a, the last token frame of its read, may have arrived before its timestamp: a frame behind
// it was read late with it, or the kernel's timestamp was refused while the reader was late.
func (l lateness) uncertain(a Arrival) bool {
	return a.Behind && l.read(a) || l.any && !a.Kernel || a.refused()
}

// refused reports whether the kernel's timestamp was not believed: At is the time of the read, however late that was.
func (a Arrival) refused() bool { return !a.Kernel && a.NotBefore > 0 }

// onePacket reports whether all that the read found came in one packet, so that each of its frames arrived at At.
func (a Arrival) onePacket() bool { return a.Kernel && a.NotBefore == a.At }

// known reports whether token frame i arrived at its timestamp. Once a read was late, those of shared reads may not
// have, unless they came in one packet: a read that looks on time may have come just after the last of several packets.
func (t *Timeline) known(i int, l lateness) bool {
	a := t.Tokens[i]
	if a.refused() {
		return false
	}
	if !l.any || a.onePacket() {
		return true
	}
	last := i+1 == len(t.Tokens) || !t.coalesced(i+1)
	return last && !a.Behind && a.Kernel
}

// uncertain tells of each token frame whether it may have arrived before its timestamp; nil if none may.
func (t *Timeline) uncertain() (list []bool) {
	late := t.lateness()
	for i := range t.Tokens {
		list = append(list, !t.known(i, late))
	}
	if !slices.Contains(list, true) {
		return nil
	}
	return list
}

// A window is the time in which a token frame arrived: from and until are equal if that is known.
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
type window struct{ from, until time.Duration }

// windows returns that of each token frame.
func (t *Timeline) windows() []window {
	late := t.lateness()
	list := make([]window, 0, len(t.Tokens))
	earliest := t.earliest()
	for i, a := range t.Tokens {
		w := window{from: a.At, until: a.At}
		if !t.known(i, late) {
			w.from = min(max(earliest, a.NotBefore), a.At)
		}
		list = append(list, w)
		earliest = w.from
		if lastOfRead := i+1 < len(t.Tokens) && !t.coalesced(i+1); lastOfRead && a.Kernel {
			earliest = a.At // what a later read brings came after what an earlier one did
		}
	}
	return list
}

// earliest is the last moment before which no token can have arrived, as far as the header and the request say.
func (t *Timeline) earliest() time.Duration {
	if len(t.Tokens) == 0 {
		return 0
	}
	first, header := t.Tokens[0].At, t.Phases.Header
	if header >= first {
		header = 0
	}
	return min(max(header, t.Phases.Wrote), first)
}

// uncertainty is how much earlier than its timestamp token frame i may have arrived: its window or, if less, the time
// that the frames after it in its chunk take at the pace of the slowest other chunk. The second bound takes an engine's
// pace for granted, and holds only where there is one: frames closer than a millisecond are a burst.
func (t *Timeline) uncertainty(i int) time.Duration {
	w := t.windows()[i]
	width := w.until - w.from
	if width == 0 {
		return 0
	}
	late := t.lateness()
	later := 0                  // frames of the chunk after i
	slowest := time.Duration(0) // time of a frame in another chunk
	for _, c := range t.chunks() {
		end := c.first + c.frames - 1
		switch {
		case c.first <= i && i <= end:
			later = end - i
			if late.uncertain(t.Tokens[end]) {
				later++
			}
		case c.first > 0:
			slowest = max(slowest, c.since/time.Duration(c.frames))
		}
	}
	if slowest >= time.Millisecond && later > 0 {
		width = min(width, time.Duration(later)*slowest)
	}
	return width
}

// sure reports whether a value that depends on the arrival of token frame i is certain enough for a sample.
func (t *Timeline) sure(value time.Duration, i int) bool {
	return t.uncertainty(i)*maxUncertainty <= value
}

// JoinedTokens is the number of tokens in joined chunks; a frame whose tokens are unknown counts as one.
func (t *Timeline) JoinedTokens() (n int) {
	for _, c := range t.chunks() {
		if c.joined {
			n += max(c.tokens, c.frames)
		}
	}
	return n
}

// Joined tells of each token frame whether it is in a joined chunk; nil if none is.
func (t *Timeline) Joined() (list []bool) {
	if t.JoinedTokens() == 0 {
		return nil
	}
	for _, c := range t.chunks() {
		list = append(list, slices.Repeat([]bool{c.joined}, c.frames)...)
	}
	return list
}

// Bursts is the number of token frames that arrived in a burst with the one before, although they were read on time.
func (t *Timeline) Bursts() (n int) {
	for _, c := range t.chunks() {
		if !c.joined {
			n += c.frames - 1
		}
	}
	return n
}
