package probe

import (
	"slices"
	"time"
)

// A chunk is one token frame, or several that share the time since the chunk before: a burst, or frames that are joined,
// because the reader was late and the kernel merged them. See docs/decisions/0014-chunks.md.
type chunk struct {
	at     time.Duration // arrival of its last token frame
	since  time.Duration // from the chunk before, or from the earliest moment at which the first can have arrived
	first  int           // index of its first token frame
	frames int
	tokens int  // 0 if they cannot be attributed
	joined bool // only the last of its arrivals is known
}

func (t *Timeline) chunks() (all []chunk) {
	late, before, c, unknown := t.lateness(), t.earliest(), chunk{}, false
	for i, a := range t.Tokens {
		unknown = unknown || a.N == 0
		c.at, c.since, c.frames, c.tokens = a.At, a.At-before, c.frames+1, c.tokens+a.N
		if i+1 < len(t.Tokens) {
			next := t.Tokens[i+1]
			c.joined = c.joined || a.Read == next.Read && late.read(next) || late.uncertain(a)
			if a.Read == next.Read || next.At-a.At <= t.Burst || late.uncertain(a) {
				continue
			}
		}
		if unknown {
			c.tokens = 0
		}
		all = append(all, c)
		before, c, unknown = a.At, chunk{first: i + 1}, false
	}
	return all
}

// maxUncertainty is the part of a value by which it may be off and still be a sample: 1/20.
const maxUncertainty = 20

// burst is the gap below which token frames are one burst: a quarter of the mean time between two frames, without the longest
// fiftieth, and at most a millisecond, since no known engine takes less for a step. 0 if there are no gaps.
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

func (l lateness) read(a Arrival) bool { return a.Kernel && a.Delay > l.after }

// uncertain reports whether a, the last token frame of its read, may have arrived before its timestamp: a frame behind it
// was read late with it, or the kernel's timestamp was refused while the reader was late.
func (l lateness) uncertain(a Arrival) bool { return a.Behind && l.read(a) || l.any && !a.Kernel }

// known reports whether token frame i arrived at its timestamp. Once a read was late, those of shared reads may not have.
func (t *Timeline) known(i int, l lateness) bool {
	last := i+1 == len(t.Tokens) || !t.coalesced(i+1)
	return !l.any || last && !t.Tokens[i].Behind && t.Tokens[i].Kernel
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

// A span is the time between two token frames.
type span struct {
	length time.Duration
	gap    bool // a chunk gap: no token frame lies between, and both arrivals are known
}

// spans are the times between known arrivals, and to the last one.
func (t *Timeline) spans() (all []span) {
	late, from, gap := t.lateness(), t.earliest(), false
	for i, a := range t.Tokens {
		known := t.known(i, late)
		if known && i > 0 || !known && i+1 == len(t.Tokens) {
			all = append(all, span{a.At - from, known && gap})
		}
		if gap = known; known {
			from = a.At
		}
	}
	return all
}

// earliest is the last moment before which no token can have arrived.
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

// uncertainty is how much earlier than its timestamp token frame i may have arrived: 0 if it is alone in its chunk, or was read
// on time; else the time since the chunk before or, if less, that for the later frames at the slowest pace of other chunks.
func (t *Timeline) uncertainty(i int) time.Duration {
	late, behind, since, slowest := t.lateness(), 0, time.Duration(0), time.Duration(0)
	for _, c := range t.chunks() {
		end := c.first + c.frames - 1
		switch {
		case c.first <= i && i <= end:
			if behind = end - i; late.uncertain(t.Tokens[end]) {
				behind++
			}
			if behind == 0 || !c.joined && behind == end-i {
				return 0
			}
			since = t.Tokens[i].At - (c.at - c.since)
		case c.first > 0:
			slowest = max(slowest, c.since/time.Duration(c.frames))
		}
	}
	if slowest > 0 {
		since = min(since, time.Duration(behind)*slowest)
	}
	return since
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
