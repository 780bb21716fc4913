package schedule

import (
	"context"
	"sync"
	"time"
)

// A Job is what a plan starts.
type Job struct {
	Plan   Plan
	Starts uint64 // how many there are, the late ones counted; 0 for no end

	// Do does the work of start n, which was due at due, in a goroutine of its own: a start never waits for the one
	// before.
	Do func(n uint64, due time.Time)

	// Late is called for a start that was passed over, see isLate: the machine slept, or had no time for us. It is never
	// made up for.
	Late func(n uint64)
}

// Run starts the job's work as planned from epoch on, until ctx is done or there are no more starts, and returns when
// all that it started has returned. Starts due before Run was called are none.
func (j Job) Run(ctx context.Context, epoch time.Time) {
	var running sync.WaitGroup
	defer running.Wait()

	now, n, due, done := time.Now(), uint64(0), time.Time{}, uint64(0)
	for offset := range j.Plan.Offsets() {
		following := epoch.Add(offset) // is start n, and due the one before
		if n > 0 && !due.Before(now) {
			select {
			case <-ctx.Done():
			case <-time.After(time.Until(due)):
			}
			if ctx.Err() != nil {
				return
			}
			j.start(&running, n-1, due, following)
			done++
			if done == j.Starts {
				return
			}
		}
		n, due = n+1, following
	}
}

// start starts the work that is due, unless it is late.
func (j Job) start(running *sync.WaitGroup, n uint64, due, following time.Time) {
	if isLate(time.Now(), due, following) {
		j.Late(n)
		return
	}
	running.Go(func() { j.Do(n, due) })
}

// slack is by how much a start may be late however soon the next is due. Poisson arrivals come close together, often
// closer than the millisecond by which timers are late on an idle machine, and these bursts are what they are chosen
// for. 50 ms is more than the P99 of the delay on a busy machine (docs/performance.md), and less than what would make a
// crowd of a pause of the process: 50 starts at a rate of 1,000 per second.
const slack = 50 * time.Millisecond

// isLate reports whether a start is to be passed over: the following is due as well, and it is not just the timer.
func isLate(now, due, following time.Time) bool {
	return !now.Before(following) && now.Sub(due) > slack
}
