// Package schedule decides when work starts, and starts it. A [Plan] is a pure sequence of offsets from a fixed
// moment, the epoch. [Run] waits for each start of a plan, calls the work in a goroutine of its own, and passes over
// starts for which it is too late. The package knows nothing of the work.
//
// Begin reading at [Plan.Offsets], then at [Run].
package schedule

import (
	"hash/fnv"
	"iter"
	"math"
	"math/rand/v2"
	"time"
)

// A Pattern is how starts are spread over time.
type Pattern string

// The patterns.
const (
	Constant Pattern = "constant" // one start in each interval, always at the same place in it
	Poisson  Pattern = "poisson"  // independent starts, one in each interval on average
)

// A Plan is a sequence of starts. The same fields always give the same sequence.
type Plan struct {
	Interval time.Duration // mean time between starts; above zero
	Pattern  Pattern       // Constant if empty
	Name     string        // seeds the place in the interval, and the random gaps
}

// First returns when the first start is due, counted from the epoch.
func (p Plan) First() (first time.Duration) {
	for first = range p.Offsets() {
		break
	}
	return first
}

// Offsets yields when each start is due, counted from the epoch, in order and without end. Offsets never decrease.
func (p Plan) Offsets() iter.Seq[time.Duration] {
	if p.Pattern == Poisson {
		return p.poisson
	}
	return p.constant
}

// constant yields one offset in each interval. Its place in there is a hash of the name: many plans spread out by it,
// and each keeps its place when the process restarts.
func (p Plan) constant(yield func(time.Duration) bool) {
	offset := time.Duration(p.seed() % uint64(p.Interval))
	for yield(offset) {
		offset += p.Interval
	}
}

// poisson yields the sums of exponential gaps.
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

// Overlap returns how many pieces of work are under way at the same time if each takes as long as took, and the share
// of starts that are not skipped if at most limit pieces may be, which is at least 1.
func Overlap(took, interval time.Duration, limit int) (underWay int, share float64) {
	needed := math.Ceil(float64(took) / float64(interval))
	return int(needed), min(1, float64(limit)/needed)
}
