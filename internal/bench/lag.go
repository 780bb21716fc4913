package bench

import (
	"math"
	"runtime/metrics"
	"time"
)

// A Lag is how long what had something to do waited for a processor: a reader that
// waits stamps what it reads too late. It is the whole process's.
type Lag struct {
	P99   time.Duration // 99 of 100 waits of goroutines were not longer, at least in nine seconds of ten; an upper bound
	Waits uint64        // that were measured: the runtime does so with one of eight
	Beat  time.Duration // 99 of 100 beats of a [pulse] were not later
}

// worst is the longer of both: goroutines wait for each other, the process for the
// machine.
func (l Lag) worst() time.Duration { return max(l.P99, l.Beat) }

// latencies is the histogram of all such waits since the program began.
type latencies metrics.Float64Histogram

// readLatencies reads it. See runtime/metrics, /sched/latencies:seconds.
func readLatencies() *latencies {
	sample := []metrics.Sample{{Name: "/sched/latencies:seconds"}}
	metrics.Read(sample)
	if sample[0].Value.Kind() != metrics.KindFloat64Histogram {
		return &latencies{}
	}
	return (*latencies)(sample[0].Value.Float64Histogram())
}

// until is the lag between two moments.
func (l *latencies) until(later *latencies) Lag {
	waits := make([]uint64, len(later.Counts))
	lag := Lag{}
	for i, n := range later.Counts {
		waits[i] = n
		if i < len(l.Counts) {
			waits[i] -= l.Counts[i]
		}
		lag.Waits += waits[i]
	}
	above := lag.Waits / 100 // so many may be longer
	for i := len(waits) - 1; i >= 0 && lag.Waits > 0; i-- {
		if waits[i] <= above {
			above -= waits[i]
			continue
		}
		bound := later.Buckets[i+1]
		if math.IsInf(bound, 1) {
			bound = later.Buckets[i]
		}
		lag.P99 = time.Duration(bound * float64(time.Second))
		break
	}
	return lag
}
