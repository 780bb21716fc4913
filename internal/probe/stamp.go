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

// A Taint is why the gaps between the token frames of a probe are not the
// server's. The time to the first token, the time per token and the whole are: what
// bends one gap bends the next the other way.
type Taint string

// The taints, and what is true of each.
const (
	TaintLate      Taint = "late"      // bytes lay unread for longer than a token takes
	TaintCoalesced Taint = "coalesced" // frames were read together while the reader was late
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

// taint judges the gaps between token frames. A read that comes late finds the frames of
// several arrivals together, and the kernel tells only the last: their gaps are ours and
// not the server's. A proxy that batches frames makes them come together too, but then the
// reader is on time. What a read found may have come at any time since the one before, so
// that one late read casts doubt on all that were shared. Nothing can be said without
// the kernel's stamps.
func (t *Timeline) taint() Taint {
	latest, ok := t.MaxReadDelay()
	if !ok {
		return ""
	}
	apart, several := t.apart()
	late := max(onTime, apart/doubtful)
	switch {
	case several && latest > apart:
		return TaintLate
	case latest > late && t.Coalesced() > 0, t.Behind > late:
		return TaintCoalesced
	}
	return ""
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

// doubtful is the part of a time by which it may be off and still be told.
const doubtful = 20

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
