package bench

import (
	"fmt"
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

// waited runs a function, and returns the P99 of how late a heartbeat beside it was: so long data waited to be read.
func waited(run func()) time.Duration {
	stop := make(chan struct{})
	var late []time.Duration
	var beats sync.WaitGroup
	beats.Go(func() { late = heartbeat(stop) })
	run()
	close(stop)
	beats.Wait()
	return p99(late)
}

// heartbeat wakes by the clock until stop, and returns how late each beat was, also because the whole process stood still.
func heartbeat(stop <-chan struct{}) (late []time.Duration) {
	due := time.Now().Add(beat)
	ticker := time.NewTicker(beat)
	defer ticker.Stop()
	for {
		select {
		case <-stop:
			return late
		case <-ticker.C:
			beats := missed(due, time.Now())
			late, due = append(late, beats...), due.Add(time.Duration(len(beats))*beat)
		}
	}
}

// missed is how late all beats from due to now are: at each something could have arrived.
func missed(due, now time.Time) (late []time.Duration) {
	for ; !due.After(now); due = due.Add(beat) {
		late = append(late, max(0, now.Sub(due)-coarse))
	}
	return late
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

// clientWarnings says whether the bench itself was too slow: data waited so long, which moves no arrival with kernel timestamps,
// or requests began late. TTFT and TPOT are the medians that were measured; 0 where there is none.
func (c count) clientWarnings(ttft, tpot time.Duration) (list []string) {
	var starts []time.Duration
	kernel := true
	for _, sample := range c.step.Samples() {
		kernel = kernel && !sample.ByUser
		starts = append(starts, sample.Late)
	}
	if percent, much := disturbs(c.late, tpot, readFloor); much && !kernel {
		list = append(list, fmt.Sprintf("the bench was short of CPU, and arrivals have no kernel timestamps: data waited up to %s (p99) to be read, "+
			"%.0f%% of the median TPOT: the longest gaps and the tail of ITL are unreliable, from 100%% on all gaps, ITL and TPOT; "+
			"lower the load, or run the bench where more CPUs are free", format.Duration(c.late), percent))
	}
	late := p99(starts)
	if percent, much := disturbs(late, ttft, beforeFloor); much {
		list = append(list, fmt.Sprintf("the bench was late: requests began up to %s (p99) after they were due, %.0f%% of the median TTFT, "+
			"which does not include that delay but may be too long by as much", format.Duration(late), percent))
	}
	return list
}

// disturbs is a delay of the bench's own in per cent of a median, and whether it is above a floor and too much.
func disturbs(delay, median, floor time.Duration) (percent float64, much bool) {
	share := float64(delay) / float64(median)
	return 100 * share, delay > floor && median > 0 && share > tolerated
}
