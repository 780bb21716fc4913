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
// processors or of neighbours. What the runtime does count, it reads second by
// second: thousands that begin at once wait for each other in the first, and that
// says nothing of the others.
type pulse struct {
	stop  chan struct{}
	done  sync.WaitGroup
	late  []time.Duration // of each beat
	first *latencies      // what the runtime counted until the pulse began
	since *latencies      // and until the last second did
	lags  []Lag           // of each second
}

// second is how many beats a second has.
const second = int(time.Second / beat)

// newPulse returns a pulse that beats until its end.
func newPulse() *pulse {
	p := &pulse{stop: make(chan struct{}), first: readLatencies()}
	p.since = p.first
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
		before := len(p.late)
		due = p.catchUp(due, time.Now())
		if before/second < len(p.late)/second {
			p.read()
		}
		timer.Reset(time.Until(due))
	}
}

// read ends a second.
func (p *pulse) read() {
	now := readLatencies()
	p.lags = append(p.lags, p.since.until(now))
	p.since = now
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

// end ends the pulse, and returns what it saw.
func (p *pulse) end() Lag {
	close(p.stop)
	p.done.Wait()
	p.read()
	lag := calmer(p.first.until(p.since), p.lags)
	lag.Beat = p99(p.late)
	return lag
}

// calmer is the lag of all the time, or if that is less, of nine seconds in ten: of
// a long time a full beginning says nothing, and of few seconds the worst does not.
func calmer(all Lag, seconds []Lag) Lag {
	var waits []time.Duration
	for _, s := range seconds {
		waits = append(waits, s.P99)
	}
	all.P99 = min(all.P99, rank(waits, 90))
	return all
}

// p99 is what 99 of 100 of a list are not above; 0 if it is empty. It sorts it.
func p99(list []time.Duration) time.Duration { return rank(list, 99) }

// rank is what so many of 100 of a list are not above; 0 if it is empty. It sorts
// it.
func rank(list []time.Duration, of100 int) time.Duration {
	if len(list) == 0 {
		return 0
	}
	slices.Sort(list)
	return list[(len(list)*of100+99)/100-1]
}
