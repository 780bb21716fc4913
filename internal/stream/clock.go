package stream

import (
	"sync/atomic"
	"time"
)

// A clock converts the kernel's timestamps, which are readings of the wall clock, into times of the monotonic clock. It
// serves one connection.
//
// The wall clock is ahead of the monotonic one by a constant, unless somebody sets it. The two clocks cannot be read at
// the same moment: any delay between the two readings makes the difference look too small. So the largest difference
// that was measured is used, and a jump of it means that the wall clock was set.
type clock struct {
	base    time.Time            // monotonic times count from here
	measure func() time.Duration // measures the offset with care: wallOffset

	offset      time.Duration // wall clock, counted from 1970, minus monotonic clock
	last        time.Duration // the arrival that was returned last
	unsureUntil time.Duration // until then timestamps may be older than a step of the wall clock
	rejected    atomic.Int64  // number of timestamps that were not believed
}

const (
	tolerance = 100 * time.Microsecond // how far a measured offset may be off although nobody set the clock
	settling  = time.Second            // how long after a step timestamps from before it may still come
)

func newClock() *clock {
	c := &clock{base: time.Now()}
	c.measure = c.wallOffset
	c.offset = c.wallOffset()
	return c
}

// wallOffset returns wall clock minus monotonic clock. It takes five readings and returns the largest, because a
// reading can only be too small.
func (c *clock) wallOffset() time.Duration {
	largest := c.offsetAt(time.Now())
	for range 4 {
		largest = max(largest, c.offsetAt(time.Now()))
	}
	return largest
}

// offsetAt returns wall clock minus monotonic clock in one reading of both.
func (c *clock) offsetAt(t time.Time) time.Duration {
	return time.Duration(t.UnixNano()) - t.Sub(c.base)
}

// timestamp returns the arrival of bytes that were read at a moment. kernel is the kernel's timestamp in nanoseconds
// since 1970; 0 if it gave none.
func (c *clock) timestamp(read time.Time, kernel int64) Timestamp {
	if kernel == 0 {
		return Timestamp{At: read}
	}
	now := read.Sub(c.base)
	at, ok := c.believe(now, c.offsetAt(read), time.Duration(kernel))
	if !ok {
		return c.reject(read)
	}
	return Timestamp{At: read.Add(at - now), Kernel: true, Delay: now - at}
}

// reject counts a timestamp of the kernel that is not believed, and returns the moment of the read instead.
func (c *clock) reject(read time.Time) Timestamp {
	c.rejected.Add(1)
	return Timestamp{At: read}
}

// believe converts the kernel's timestamp of bytes that were read at now, when the wall clock was ahead by offset. It
// returns false if the timestamp cannot be right: it is from the future, from before the previous arrival, or perhaps
// from before a step of the wall clock.
func (c *clock) believe(now, offset, kernel time.Duration) (at time.Duration, ok bool) {
	c.update(now, offset)
	at = kernel - c.offset
	if now < c.unsureUntil || at > now+tolerance || at < c.last-tolerance {
		return 0, false
	}
	c.last = min(max(at, c.last), now)
	return c.last, true
}

// update takes a measured offset, and notices whether the wall clock was set since the last one.
func (c *clock) update(now, offset time.Duration) {
	if offset < c.offset-tolerance { // the wall clock was set back, or this measurement was interrupted
		offset = max(offset, c.measure())
	}
	if offset > c.offset+tolerance || offset < c.offset-tolerance {
		c.offset = offset
		c.unsureUntil = now + settling
	}
	c.offset = max(c.offset, offset)
}
