// Package schedule says when work starts, and starts it, at absolute offsets from an epoch. It knows nothing of the work.
package schedule

import (
	"hash/fnv"
	"iter"
	"math/rand/v2"
	"time"
)

// An Arrival is how starts are spread over time.
type Arrival string

// The arrivals.
const (
	Constant Arrival = "constant" // one each interval
	Poisson  Arrival = "poisson"  // independent of one another, one each interval in the mean
)

// A Plan is a sequence of starts. It depends on its fields alone.
type Plan struct {
	Interval time.Duration // mean time between starts; above zero
	Arrival  Arrival       // Constant if empty
	Name     string        // seeds the phase and the chance in the plan
}

// Phase is the plan's place within the interval: a hash of its name. Many plans spread out, and keep it over a restart.
func (p Plan) Phase() time.Duration {
	return time.Duration(p.seed() % uint64(p.Interval))
}

// Offset is when start n is due, from the epoch. It takes time proportional to n: range over [Plan.Offsets] for many.
func (p Plan) Offset(n uint64) (offset time.Duration) {
	for offset = range p.Offsets() {
		if n == 0 {
			break
		}
		n--
	}
	return offset
}

// Offsets yields the offset of every start from the epoch, in order, without end. Offsets never decrease.
func (p Plan) Offsets() iter.Seq[time.Duration] {
	return func(yield func(time.Duration) bool) {
		chance, interval := rand.New(rand.NewPCG(p.seed(), 0)), float64(p.Interval)
		due := time.Duration(0)
		for slot := p.Phase(); ; slot += p.Interval {
			if p.Arrival == Poisson {
				due += time.Duration(chance.ExpFloat64() * interval)
			} else {
				due = slot
			}
			if !yield(due) {
				return
			}
		}
	}
}

// Starts is how many starts are due within a time that begins with the first of them.
func (p Plan) Starts(within time.Duration) (n uint64) {
	end := p.Offset(0) + within
	for offset := range p.Offsets() {
		if offset >= end {
			break
		}
		n++
	}
	return n
}

func (p Plan) seed() uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(p.Name))
	return h.Sum64()
}

// Epoch is the start of the interval that now lies in, counted from a fixed moment: plans keep their phase over
// restarts. It carries now's monotonic clock, so that a step of the wall clock moves no start.
func (p Plan) Epoch(now time.Time) time.Time {
	return now.Add(-now.Sub(now.Truncate(p.Interval)))
}
