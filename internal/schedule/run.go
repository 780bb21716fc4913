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

	// Late is told of a start that was passed over because the next was due as well: the machine slept, or had no time
	// for us. It is never made up for.
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
			if done++; done == j.Starts {
				return
			}
		}
		n, due = n+1, following
	}
}

// start starts the work that is due, unless the following is due as well.
func (j Job) start(running *sync.WaitGroup, n uint64, due, following time.Time) {
	if time.Now().Before(following) {
		running.Go(func() { j.Do(n, due) })
		return
	}
	j.Late(n)
}
