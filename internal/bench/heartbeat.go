package bench

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/llm-prober/prober/internal/format"
	"github.com/llm-prober/prober/internal/stats"
)

// A bench on a busy machine reads data late, and without kernel timestamps a late read looks like a slow server. So a
// heartbeat runs beside each part of a step. It wakes 50 times a second; how late it wakes is how long data waited,
// too.
const (
	heartbeatInterval = 20 * time.Millisecond // each beat costs a wake-up
	timerSlack        = time.Millisecond      // how late timers are on an idle machine
)

// readDelayDuring runs a function. It returns the P99 of how late a heartbeat beside it was.
func readDelayDuring(run func()) time.Duration {
	stop := make(chan struct{})
	var delays []time.Duration
	var beating sync.WaitGroup
	beating.Go(func() { delays = heartbeat(stop) })
	run()
	close(stop)
	beating.Wait()
	return p99(delays)
}

// heartbeat wakes by the clock until stop is closed. It returns how late each beat was.
func heartbeat(stop <-chan struct{}) (delays []time.Duration) {
	due := time.Now().Add(heartbeatInterval)
	ticker := time.NewTicker(heartbeatInterval)
	defer ticker.Stop()
	for {
		select {
		case <-stop:
			return delays
		case <-ticker.C:
			late := beatDelays(due, time.Now())
			delays = append(delays, late...)
			due = due.Add(time.Duration(len(late)) * heartbeatInterval)
		}
	}
}

// beatDelays returns how late each beat from due to now is. If the whole process stood still, that is several beats, of
// which a ticker sends only one: data could have arrived at each of them.
func beatDelays(due, now time.Time) (delays []time.Duration) {
	for !due.After(now) {
		delays = append(delays, max(0, now.Sub(due)-timerSlack))
		due = due.Add(heartbeatInterval)
	}
	return delays
}

// p99 returns the 99th percentile of a list, which it sorts. It is 0 if the list is empty.
func p99(list []time.Duration) time.Duration {
	if len(list) == 0 {
		return 0
	}
	slices.Sort(list)
	return stats.QuantileOf(list, stats.P99)
}

// How much delay of the bench itself is tolerated. A delay is too long if it exceeds both the share and the floor.
const (
	toleratedShare = 0.1 // of the median of what it disturbs

	readDelayFloor  = 500 * time.Microsecond // an idle machine's wake-ups take some of it
	startDelayFloor = 5 * time.Millisecond   // starting some requests at once takes that
)

// clientWarnings says whether the bench itself was too slow: data waited to be read, which matters without kernel
// timestamps, or requests began late. ttft and tpot are the medians that were measured, 0 if there is none.
func (m memberTally) clientWarnings(ttft, tpot time.Duration) (list []string) {
	var startDelays []time.Duration
	byKernel := true
	for _, sample := range m.step.Samples() {
		byKernel = byKernel && !sample.ByUser
		startDelays = append(startDelays, sample.Late)
	}
	if !byKernel && isTooLong(m.readDelay, tpot, readDelayFloor) {
		list = append(list, fmt.Sprintf("the bench was short of CPU: without kernel timestamps, data waited up to %s "+
			"(p99, %.0f%% of the median TPOT) before it was read; the longest gaps and the tail of ITL are unreliable, "+
			"from 100%% on all gaps, ITL and TPOT; lower the load, or give the bench more CPU",
			format.Duration(m.readDelay), percentOf(m.readDelay, tpot)))
	}
	startDelay := p99(startDelays)
	if isTooLong(startDelay, ttft, startDelayFloor) {
		list = append(list, fmt.Sprintf("the bench was late: requests began up to %s after they were due "+
			"(p99, %.0f%% of the median TTFT); TTFT does not include that delay, but may be too long by as much",
			format.Duration(startDelay), percentOf(startDelay, ttft)))
	}
	return list
}

// isTooLong reports whether a delay of the bench disturbs what has this median. It does not if there is no median.
func isTooLong(delay, median, floor time.Duration) bool {
	return delay > floor && median > 0 && float64(delay)/float64(median) > toleratedShare
}

// percentOf returns a delay in per cent of a median.
func percentOf(delay, median time.Duration) float64 { return 100 * float64(delay) / float64(median) }
