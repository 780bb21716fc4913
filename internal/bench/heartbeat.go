package bench

import (
	"math"
	"runtime/metrics"
	"slices"
	"sync"
	"time"

	"github.com/llm-prober/prober/internal/report"
)

// beat is the time between two beats: each costs a wake-up.
const beat = 20 * time.Millisecond

// coarse is how late the runtime's timers are on an idle machine.
const coarse = time.Millisecond

// A heartbeat wakes by the clock and notes how late it was. It sees what the runtime does not count:
// that the whole process stood still, because of a CPU limit or of other processes.
type heartbeat struct {
	stop  chan struct{}
	done  sync.WaitGroup
	late  []time.Duration           // of each beat
	first *metrics.Float64Histogram // what the runtime counted until the heartbeat began
}

// newHeartbeat returns a heartbeat that beats until its end.
func newHeartbeat() *heartbeat {
	h := &heartbeat{stop: make(chan struct{}), first: readWaits()}
	h.done.Go(h.run)
	return h
}

func (h *heartbeat) run() {
	due := time.Now().Add(beat)
	timer := time.NewTimer(beat)
	defer timer.Stop()
	for {
		select {
		case <-h.stop:
			return
		case <-timer.C:
		}
		due = h.catchUp(due, time.Now())
		timer.Reset(time.Until(due))
	}
}

// catchUp notes all beats from due to now, and returns when the next is due. After
// a standstill these are all that were missed: at each something could have
// arrived.
func (h *heartbeat) catchUp(due, now time.Time) (next time.Time) {
	for ; !due.After(now); due = due.Add(beat) {
		h.late = append(h.late, max(0, now.Sub(due)-coarse))
	}
	return due
}

// end ends the heartbeat, and returns the longer of what 99 of 100 beats were not late by, and 99 of 100 waits of
// goroutines for a CPU did not exceed: a reader that waits timestamps what it reads too late.
func (h *heartbeat) end() time.Duration {
	close(h.stop)
	h.done.Wait()
	return max(p99(h.late), waitsBetween(h.first, readWaits()))
}

// readWaits reads the histogram of all waits of goroutines since the program began: of one in eight,
// see runtime/metrics.
func readWaits() *metrics.Float64Histogram {
	sample := []metrics.Sample{{Name: "/sched/latencies:seconds"}}
	metrics.Read(sample)
	return sample[0].Value.Float64Histogram()
}

// waitsBetween is the 99th percentile of the waits between two readings; 0 if there were none.
func waitsBetween(first, last *metrics.Float64Histogram) time.Duration {
	total := uint64(0)
	for i, n := range last.Counts {
		total += n - first.Counts[i]
	}
	left := total / 100 // this many may be longer
	for i := len(last.Counts) - 1; i >= 0 && total > 0; i-- {
		if n := last.Counts[i] - first.Counts[i]; n <= left {
			left -= n
			continue
		}
		bound := last.Buckets[i+1]
		if math.IsInf(bound, 1) {
			bound = last.Buckets[i]
		}
		return time.Duration(bound * float64(time.Second))
	}
	return 0
}

// p99 is the 99th percentile of a list; 0 if it is empty. It sorts it.
func p99(list []time.Duration) time.Duration {
	if len(list) == 0 {
		return 0
	}
	slices.Sort(list)
	return report.QuantileOf(list, 0.99)
}
