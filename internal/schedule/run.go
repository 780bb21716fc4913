package schedule

import (
	"context"
	"iter"
	"sync"
	"time"
)

// Work is what a plan starts.
type Work struct {
	Starts uint64 // number of starts after which [Run] returns, late ones included; 0 for no end

	// Do does the work of start n, which was due at due. Starts are counted from the epoch. It runs in a goroutine of its
	// own, so that no start waits for the work of the one before.
	Do func(n uint64, due time.Time)

	// Late is called instead of Do if it is too late for start n: see isLate. The start is left out for good. Run calls it
	// itself, so that it must not block.
	Late func(n uint64)
}

// Run starts work as planned from epoch on. It skips what was due before it was called. It ends when ctx is done or
// when all starts were made, and returns once all work that it started has returned.
func Run(ctx context.Context, plan Plan, epoch time.Time, work Work) {
	var running sync.WaitGroup
	defer running.Wait()

	called := time.Now()
	offset, stop := iter.Pull(plan.Offsets())
	defer stop()
	first, _ := offset() // a plan has no end
	nextDue := epoch.Add(first)
	made := uint64(0)
	for n := uint64(0); ; n++ {
		due := nextDue
		following, _ := offset()
		nextDue = epoch.Add(following)
		if due.Before(called) {
			continue
		}

		select {
		case <-ctx.Done():
		case <-time.After(time.Until(due)):
		}
		if ctx.Err() != nil {
			return
		}
		if isLate(time.Now(), due, nextDue) {
			work.Late(n)
		} else {
			running.Go(func() { work.Do(n, due) })
		}
		made++
		if made == work.Starts {
			return
		}
	}
}

// slack is how late work may start although the next start is due as well. Poisson starts come in bursts, and bursts
// are what they are chosen for: two starts are often closer than the millisecond by which timers are late on an idle
// machine. 50 ms is more than the P99 of the delay on a busy machine (docs/measurement.md). It is also short enough to
// start no crowd after a pause of the process: at 1,000 starts per second these are 50.
const slack = 50 * time.Millisecond

// isLate reports whether a start is to be passed over: the next one is due as well, and the delay is longer than that
// of a timer.
func isLate(now, due, nextDue time.Time) bool {
	return !now.Before(nextDue) && now.Sub(due) > slack
}
