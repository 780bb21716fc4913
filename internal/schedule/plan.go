// Package schedule decides when work starts, and starts it. A [Plan] is a pure sequence of offsets from a fixed
// moment, the epoch. A [Job] is a plan with the work to do: [Job.Run] waits for each start, calls the work in a
// goroutine of its own, and passes over starts for which it is too late. The package knows nothing of the work.
//
// Begin reading at [Plan.Offsets], then at [Job.Run].
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
	Constant Arrival = "constant" // one start in each interval, always at the same place in it
	Poisson  Arrival = "poisson"  // independent starts, one in each interval on average
)

// A Plan is a sequence of starts. The same fields always give the same sequence.
type Plan struct {
	Interval time.Duration // mean time between starts; above zero
	Arrival  Arrival       // Constant if empty
	Name     string        // seeds the phase and the random gaps
}

// Phase returns the plan's place within the interval, a hash of its name. Many plans spread out by it, and each keeps
// its place when the process restarts.
func (p Plan) Phase() time.Duration {
	return time.Duration(p.seed() % uint64(p.Interval))
}

// Offset returns when start n is due, counted from the epoch. It takes time proportional to n: for many starts, range
// over [Plan.Offsets].
func (p Plan) Offset(n uint64) time.Duration {
	var offset time.Duration
	for offset = range p.Offsets() {
		if n == 0 {
			break
		}
		n--
	}
	return offset
}

// Offsets yields when each start is due, counted from the epoch, in order and without end. Offsets never decrease.
func (p Plan) Offsets() iter.Seq[time.Duration] {
	if p.Arrival == Poisson {
		return p.poisson
	}
	return p.constant
}

// constant yields one offset in each interval, at the phase of the plan.
func (p Plan) constant(yield func(time.Duration) bool) {
	offset := p.Phase()
	for yield(offset) {
		offset += p.Interval
	}
}

// poisson yields the sums of exponential gaps. They do not depend on the phase.
func (p Plan) poisson(yield func(time.Duration) bool) {
	random := rand.New(rand.NewPCG(p.seed(), 0))
	gap := func() time.Duration {
		return time.Duration(random.ExpFloat64() * float64(p.Interval))
	}
	offset := gap()
	for yield(offset) {
		offset += gap()
	}
}

// Starts returns how many starts are due within a duration that begins with the first of them.
func (p Plan) Starts(within time.Duration) uint64 {
	n := uint64(0)
	end := p.Offset(0) + within
	for offset := range p.Offsets() {
		if offset >= end {
			break
		}
		n++
	}
	return n
}

// seed returns a hash of the plan's name.
func (p Plan) seed() uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(p.Name)) // never fails
	return h.Sum64()
}

// Epoch returns the latest multiple of Interval (since year 1) that is not after now. It does not depend on when the
// process started, so that a plan keeps its phase across restarts. It carries the monotonic clock of now, so that a
// step of the wall clock moves no start.
func (p Plan) Epoch(now time.Time) time.Time {
	sinceEpoch := now.Sub(now.Truncate(p.Interval))
	return now.Add(-sinceEpoch)
}
