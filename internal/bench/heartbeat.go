package bench

import (
	"slices"
	"sync"
	"time"

	"github.com/llm-prober/prober/internal/report"
)

// beat is the time between two beats: each costs a wake-up.
const beat = 20 * time.Millisecond

// beatsPerSecond is how many beats a second has.
const beatsPerSecond = int(time.Second / beat)

// coarse is how late the runtime's timers are on an idle machine.
const coarse = time.Millisecond

// A heartbeat wakes by the clock and notes how late it was. It sees what the runtime
// does not count: that the whole process stood still, because of a CPU limit or of
// other processes. What the runtime does count, it reads second by second: thousands of
// requests that begin at once wait for each other in the first second, which says
// nothing of the others.
type heartbeat struct {
	stop    chan struct{}
	done    sync.WaitGroup
	late    []time.Duration     // of each beat
	first   *latencies          // what the runtime counted until the heartbeat began
	since   *latencies          // and until the last second did
	seconds []SchedulingLatency // of each second
}

// newHeartbeat returns a heartbeat that beats until its end.
func newHeartbeat() *heartbeat {
	h := &heartbeat{stop: make(chan struct{}), first: readLatencies()}
	h.since = h.first
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
		before := len(h.late)
		due = h.catchUp(due, time.Now())
		if before/beatsPerSecond < len(h.late)/beatsPerSecond {
			h.read()
		}
		timer.Reset(time.Until(due))
	}
}

// read ends a second.
func (h *heartbeat) read() {
	now := readLatencies()
	h.seconds = append(h.seconds, h.since.until(now))
	h.since = now
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

// end ends the heartbeat, and returns what it saw.
func (h *heartbeat) end() SchedulingLatency {
	close(h.stop)
	h.done.Wait()
	h.read()
	latency := usual(h.first.until(h.since), h.seconds)
	latency.Heartbeat = p99(h.late)
	return latency
}

// usual is the latency of all the time, or, if that is less, of nine seconds in ten: a
// burst at the start must not stand for a long run, nor the worst second for a short one.
func usual(all SchedulingLatency, seconds []SchedulingLatency) SchedulingLatency {
	var waits []time.Duration
	for _, s := range seconds {
		waits = append(waits, s.P99)
	}
	slices.Sort(waits)
	longest := time.Duration(0) // of nine in ten
	if n := len(waits); n > 0 {
		longest = waits[(9*n+9)/10-1]
	}
	all.P99 = min(all.P99, longest)
	return all
}

// p99 is the 99th percentile of a list; 0 if it is empty. It sorts it.
func p99(list []time.Duration) time.Duration {
	if len(list) == 0 {
		return 0
	}
	slices.Sort(list)
	return report.QuantileOf(list, 0.99)
}
