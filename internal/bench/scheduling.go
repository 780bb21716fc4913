package bench

import (
	"math"
	"runtime/metrics"
	"time"
)

// A SchedulingLatency is how long goroutines of the whole process waited for a CPU: a
// reader that waits timestamps what it reads too late.
type SchedulingLatency struct {
	P99       time.Duration // 99 of 100 waits of goroutines were not longer, at least in nine seconds of ten; an upper bound
	Waits     uint64        // that were measured: the runtime does so with one of eight
	Heartbeat time.Duration // 99 of 100 beats of a [heartbeat] were not later
}

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

// until is the latency between two moments.
func (l *latencies) until(later *latencies) SchedulingLatency {
	waits := make([]uint64, len(later.Counts))
	between := SchedulingLatency{}
	for i, n := range later.Counts {
		waits[i] = n
		if i < len(l.Counts) {
			waits[i] -= l.Counts[i]
		}
		between.Waits += waits[i]
	}
	above := between.Waits / 100 // this many may be longer
	for i := len(waits) - 1; i >= 0 && between.Waits > 0; i-- {
		if waits[i] <= above {
			above -= waits[i]
			continue
		}
		bound := later.Buckets[i+1]
		if math.IsInf(bound, 1) {
			bound = later.Buckets[i]
		}
		between.P99 = time.Duration(bound * float64(time.Second))
		break
	}
	return between
}
