package stream

import (
	"sync/atomic"
	"time"
)

// A clock turns the kernel's timestamps, which are of the wall clock, into times of the monotonic clock, for one connection.
//
// The wall clock is ahead of the monotonic one by a constant, unless somebody sets it. Reading both takes two moments, which
// makes the difference look too small. So the largest of all readings is used; a jump of it is a step of the wall clock.
type clock struct {
	base  time.Time            // monotonic times count from it
	again func() time.Duration // reads with care by how much the wall clock is ahead

	ahead   time.Duration // of the wall clock, counted from 1970, before the monotonic one
	last    time.Duration // arrival that was given out last
	unsure  time.Duration // until then timestamps may be from before a step
	refused atomic.Int64  // timestamps that were not believed
}

const (
	tolerance = 100 * time.Microsecond // by which a reading of the clocks may be off without a step
	settling  = time.Second            // after a step, in which timestamps may be from before it
)

func newClock() *clock {
	c := &clock{base: time.Now()}
	c.again = c.distance
	c.ahead = c.distance()
	return c
}

// distance is by how much the wall clock is ahead now: the largest of some readings.
func (c *clock) distance() time.Duration {
	best := c.reading(time.Now())
	for range 4 {
		best = max(best, c.reading(time.Now()))
	}
	return best
}

// reading is by how much the wall clock is ahead in one reading of both.
func (c *clock) reading(t time.Time) time.Duration {
	return time.Duration(t.UnixNano()) - t.Sub(c.base)
}

// stamp is the arrival of bytes with the kernel's timestamp, in nanoseconds since 1970, 0 if it gave none.
func (c *clock) stamp(read time.Time, kernel int64) Stamp {
	now := read.Sub(c.base)
	if kernel != 0 {
		if at, ok := c.believe(now, c.reading(read), time.Duration(kernel)); ok {
			return Stamp{At: read.Add(at - now), Kernel: true, Delay: now - at}
		}
	}
	return Stamp{At: read}
}

// believe is the monotonic time of a timestamp of bytes that were read when the clocks said now and ahead. ok is false for
// one from the future, from before the previous arrival, or perhaps from before a step of the wall clock.
func (c *clock) believe(now, ahead, kernel time.Duration) (at time.Duration, ok bool) {
	c.update(now, ahead)
	at = kernel - c.ahead
	if now < c.unsure || at > now+tolerance || at < c.last-tolerance {
		c.refused.Add(1)
		return 0, false
	}
	c.last = min(max(at, c.last), now)
	return c.last, true
}

// update takes a reading of the two clocks, and detects whether the wall clock was set since the last.
func (c *clock) update(now, ahead time.Duration) {
	if ahead < c.ahead-tolerance { // it was set back, or the reading is bad
		ahead = max(ahead, c.again())
	}
	if ahead > c.ahead+tolerance || ahead < c.ahead-tolerance {
		c.ahead, c.unsure = ahead, now+settling
	}
	c.ahead = max(c.ahead, ahead)
}
