package stats

import (
	"slices"
	"time"
)

// The bounds of a [Usual].
const (
	usualPeriod  = 10 * time.Minute
	usualPeriods = 144 // together a day
	periodValues = 256 // how many values of the newest period are kept
)

// LeastUsual is how many values of the last day make their usual value known.
const LeastUsual = 20

// SlowRatio is the ratio to the usual value above which a latency is slow.
const SlowRatio = 2

// shortestUsual is in seconds. A ratio to a usual value of at most this means nothing: tokens that are so close arrived
// together. It is the zero threshold of the native histograms.
const shortestUsual = 1.0 / (1 << 13)

// A Usual is what a latency of one target usually is: the last day is cut into periods of ten minutes, each period has
// a median, and the usual value is the median of these medians. So a hundred values that are slow within a few minutes
// do not change it. A target that is probed once in ten minutes, or less often, has the median of all its values.
//
// A slowdown becomes usual once it has lasted longer than the time before it, at the latest after half a day. A new
// Usual knows nothing. So after a restart of the prober, a target that was slow before and still is counts as usual.
//
// It takes about 10 kB: of each past period one median, of the newest its first 256 values. The zero value is empty and
// ready to use. It is not safe for concurrent use.
type Usual struct {
	past   []periodMedian // of the periods before the newest, oldest first
	start  time.Time      // of the newest period
	values []float64      // of the newest period, ascending
}

// A periodMedian is what is left of a period that is over.
type periodMedian struct {
	start  time.Time
	count  int // of its values
	median float64
}

// Add adds a value in seconds. Values must be added in the order of their times.
func (u *Usual) Add(at time.Time, seconds float64) {
	if at.Sub(u.start) >= usualPeriod {
		if len(u.values) > 0 {
			u.past = append(u.past, periodMedian{start: u.start, count: len(u.values), median: lowerMedian(u.values)})
		}
		u.past = u.past[max(0, len(u.past)-usualPeriods):]
		u.start = at
		u.values = nil
	}
	if len(u.values) < periodValues {
		place, _ := slices.BinarySearch(u.values, seconds)
		u.values = slices.Insert(u.values, place, seconds)
	}
}

// Value returns the usual value in seconds. ok is false if fewer than [LeastUsual] values of the day before now are
// known, or if the usual value is so short that a ratio to it means nothing.
func (u *Usual) Value(now time.Time) (seconds float64, ok bool) {
	const day = usualPeriods * usualPeriod
	var medians []float64
	count := 0
	for _, p := range u.past {
		if now.Sub(p.start) <= day {
			medians = append(medians, p.median)
			count += p.count
		}
	}
	if len(u.values) > 0 && now.Sub(u.start) <= day {
		medians = append(medians, lowerMedian(u.values))
		count += len(u.values)
	}
	if count < LeastUsual {
		return 0, false
	}
	slices.Sort(medians)
	seconds = lowerMedian(medians)
	return seconds, seconds > shortestUsual
}

// lowerMedian returns the median of an ascending list that is not empty. If two values are in the middle it is the
// lower one, so that the slow one of two periods is not usual.
func lowerMedian(ascending []float64) float64 { return ascending[(len(ascending)-1)/2] }
