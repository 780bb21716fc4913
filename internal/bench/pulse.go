package bench

import (
	"slices"
	"sync"
	"time"
)

// beat is the time between two beats of a pulse: each costs what a wake does.
const beat = 20 * time.Millisecond

// coarse is how late the runtime's timers are on a machine that is idle.
const coarse = time.Millisecond

// A pulse wakes by the clock and notes how late it was. It sees what the runtime
// does not count: that the whole process stood still, because of a limit on its
// processors or of neighbours.
type pulse struct {
	stop chan struct{}
	done sync.WaitGroup
	late []time.Duration // of each beat
}

// newPulse returns a pulse that beats until its end.
func newPulse() *pulse {
	p := &pulse{stop: make(chan struct{})}
	p.done.Go(p.run)
	return p
}

func (p *pulse) run() {
	due := time.Now().Add(beat)
	timer := time.NewTimer(beat)
	defer timer.Stop()
	for {
		select {
		case <-p.stop:
			return
		case <-timer.C:
		}
		due = p.catchUp(due, time.Now())
		timer.Reset(time.Until(due))
	}
}

// catchUp notes all beats from due to now, and returns when the next is due. After
// a standstill these are all that were missed: at each something could have
// arrived.
func (p *pulse) catchUp(due, now time.Time) (next time.Time) {
	for ; !due.After(now); due = due.Add(beat) {
		p.late = append(p.late, max(0, now.Sub(due)-coarse))
	}
	return due
}

// end ends the pulse, and returns what 99 of 100 beats were not later than; 0 if
// there was none.
func (p *pulse) end() time.Duration {
	close(p.stop)
	p.done.Wait()
	return p99(p.late)
}

// p99 is what 99 of 100 of a list are not above; 0 if it is empty. It sorts it.
func p99(list []time.Duration) time.Duration {
	if len(list) == 0 {
		return 0
	}
	slices.Sort(list)
	return list[(len(list)*99+99)/100-1]
}
