package probe

import (
	"iter"
	"time"
)

// A Stamping is who said when the frames of an answer arrived.
type Stamping string

// The stampings.
const (
	ByKernel Stamping = "kernel" // the kernel, when it received the bytes
	ByUser   Stamping = "user"   // the prober, when it had read them
)

// A Taint is why a probe has no ITL: more than 19 of 20 of its tokens were joined, so that
// little more than their mean is known.
type Taint string

// The taints, and what is true of each.
const (
	TaintLate      Taint = "late"      // bytes lay unread for longer than the mean time between two reads
	TaintCoalesced Taint = "coalesced" // they lay there for less, but frames came together
)

// Taints are all taints.
func Taints() []Taint { return []Taint{TaintLate, TaintCoalesced} }

// stamping is who stamped the token frames: the kernel if it did so with any of them, since
// single stamps may not be believed. Empty if there is none.
func (t *Timeline) stamping() Stamping {
	if len(t.Tokens) == 0 {
		return ""
	}
	for _, a := range t.Tokens {
		if a.Kernel {
			return ByKernel
		}
	}
	return ByUser
}

// taint judges the gaps between token frames: see [Taint].
func (t *Timeline) taint() Taint {
	tokens := 0
	for i := range t.Tokens {
		tokens += max(1, t.tokensOf(i))
	}
	if joined := t.JoinedTokens(); joined*doubtful <= tokens*(doubtful-1) {
		return ""
	}
	if apart, several := t.apart(); several {
		if latest, _ := t.MaxReadDelay(); latest > apart {
			return TaintLate
		}
	}
	return TaintCoalesced
}

// apart is the mean time between reads that completed token frames. ok is false if there was
// but one.
func (t *Timeline) apart() (d time.Duration, ok bool) {
	reads := 0
	for i, a := range t.Tokens {
		if i == 0 || t.Tokens[i-1].Read != a.Read {
			reads++
		}
	}
	if reads < 2 {
		return 0, false
	}
	return (t.Tokens[len(t.Tokens)-1].At - t.Tokens[0].At) / time.Duration(reads-1), true
}

// onTime is how long bytes may lie unread, however short the gaps are, before the reader
// counts as late: waking it takes a tenth of that.
const onTime = 250 * time.Microsecond

// ReadDelays yields, of each read that completed a token frame and that the kernel
// stamped, how long the bytes lay unread.
func (t *Timeline) ReadDelays() iter.Seq[time.Duration] {
	return func(yield func(time.Duration) bool) {
		for i, a := range t.Tokens {
			again := i > 0 && t.Tokens[i-1].Read == a.Read
			if a.Kernel && !again && !yield(a.Delay) {
				return
			}
		}
	}
}
