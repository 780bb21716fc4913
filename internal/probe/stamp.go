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
