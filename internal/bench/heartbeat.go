package bench

import (
	"fmt"
	"math"
	"runtime/metrics"
	"slices"
	"sync"
	"time"

	"github.com/llm-prober/prober/internal/format"
	"github.com/llm-prober/prober/internal/report"
)

const (
	beat   = 20 * time.Millisecond // between two beats: each costs a wake-up
	coarse = time.Millisecond      // how late the runtime's timers are on an idle machine
)

// waited runs a function, and returns the longer of two P99 values: goroutines' waits for a CPU, and the lateness of beats.
func waited(run func()) time.Duration {
	first, stop := readWaits(), make(chan struct{})
	var late []time.Duration
	var beats sync.WaitGroup
	beats.Go(func() { late = heartbeat(stop) })
	run()
	close(stop)
	beats.Wait()
	return max(p99(late), waitsBetween(first, readWaits()))
}

// heartbeat wakes by the clock until stop, and returns how late each beat was, also because the whole process stood still.
func heartbeat(stop <-chan struct{}) (late []time.Duration) {
	due := time.Now().Add(beat)
	timer := time.NewTimer(beat)
	defer timer.Stop()
	for {
		select {
		case <-stop:
			return late
		case <-timer.C:
		}
		now := time.Now()
		late = append(late, missed(due, now)...)
		due = due.Add(now.Sub(due)/beat*beat + beat)
		timer.Reset(time.Until(due))
	}
}

// missed is how late all beats from due to now are: at each something could have arrived.
func missed(due, now time.Time) (late []time.Duration) {
	for ; !due.After(now); due = due.Add(beat) {
		late = append(late, max(0, now.Sub(due)-coarse))
	}
	return late
}

// readWaits reads the histogram of all waits of goroutines since the program began.
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
		if bound := last.Buckets[i+1]; !math.IsInf(bound, 1) {
			return time.Duration(bound * float64(time.Second))
		}
		return time.Duration(last.Buckets[i] * float64(time.Second))
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

// How much delay of the bench itself is tolerated in what it measures.
const (
	tolerated   = 0.1                    // share of the median
	readFloor   = 500 * time.Microsecond // waits to read up to this, whatever the share: an idle machine's wakes take some of it
	beforeFloor = 5 * time.Millisecond   // delays before a request up to this, whatever the share: some requests at once take that
)

// clientWarnings says whether the bench itself was too slow: it waited for a CPU (so long at p99), or its requests began late.
// With kernel timestamps waiting moves no arrival.
// TTFT and TPOT are the medians that were measured; 0 where there is none. It sorts starts, how late requests began.
func clientWarnings(wait time.Duration, starts []time.Duration, kernel bool, ttft, tpot time.Duration) []string {
	var list []string
	if !kernel && disturbs(wait, tpot, readFloor) {
		list = append(list, fmt.Sprintf("the bench was short of CPU, and arrivals have no kernel timestamps: data waited up to %s (p99) to be read, %s; lower the load, or run the bench where more CPUs are free",
			format.Duration(wait), extent(wait, tpot)))
	}
	if late := p99(starts); disturbs(late, ttft, beforeFloor) {
		list = append(list, fmt.Sprintf("the bench was late: requests began up to %s (p99) after they were due, %.0f%% of the median TTFT, which does not include that delay but may be too long by as much",
			format.Duration(late), 100*share(late, ttft)))
	}
	return list
}

// extent says which numbers a wait affects: medians too, once it is longer than a token takes.
func extent(wait, tpot time.Duration) string {
	if wait < tpot {
		return fmt.Sprintf("%.0f%% of the median TPOT: the longest gaps and the tail of ITL are unreliable: client delay is as large; TPOT and the median of ITL hold", 100*share(wait, tpot))
	}
	return fmt.Sprintf("longer than a token takes (%s): tokens that arrived together, gaps, ITL and TPOT are unreliable: client delay is as large", format.Duration(tpot))
}

// disturbs reports whether a delay of the bench's own is above a floor and too much of a median.
func disturbs(delay, median, floor time.Duration) bool {
	return delay > floor && median > 0 && share(delay, median) > tolerated
}

func share(part, whole time.Duration) float64 { return float64(part) / float64(whole) }
