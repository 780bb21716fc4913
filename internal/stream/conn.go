package stream

import (
	"errors"
	"net"
	"os"
	"sync"
	"time"
)

// A Stamp is the arrival of some bytes.
type Stamp struct {
	At     time.Time     // when the kernel received them; else right after they were read
	Read   uint64        // number of that arrival on its connection, from 1
	Kernel bool          // At is the kernel's
	Delay  time.Duration // from the kernel's timestamp until they were read; 0 unless Kernel

	// NotBefore is a moment at which none of the bytes of this arrival had been received, so that all of them came
	// between it and At. It equals At if they came in one packet. Zero: nothing is known, as where the kernel gives no
	// timestamps at all. So if it is set and Kernel is not, the kernel's timestamp was refused.
	NotBefore time.Time
}

// A Conn is a client's connection that notes when each read's bytes arrived, by the kernel's timestamps where there are
// any: then nothing above delays an arrival. Each Read reads the socket once. One goroutine reads at a time.
type Conn struct {
	net.Conn
	receive func(p []byte) (receipt, error) // reads with the kernel's timestamps; nil where there are none
	clock   *clock                          // of these timestamps

	// Of the reads so far.
	evidence   evidence
	usual      int    // bytes of the last read
	outOfOrder uint32 // packets that came out of order, when that was looked at last
	full       bool   // the last read left no room, so that the next may find more of the same arrival

	mu     sync.Mutex
	last   Stamp // of the bytes that Read returned last
	watch  watch
	look   time.Time // when a read that waits is interrupted for a look; zero: it is not
	owners time.Time // read deadline of whoever uses the connection; zero for none
	set    time.Time // read deadline that was set on the connection beneath
}

// NewConn takes over c.
func NewConn(c net.Conn) *Conn {
	conn := &Conn{Conn: c, clock: newClock()}
	if socket := newSocket(c); socket != nil {
		conn.receive = socket.read
	}
	return conn
}

// Read returns bytes of one read of the socket.
func (c *Conn) Read(p []byte) (int, error) {
	if c.receive == nil || len(p) == 0 {
		n, err := c.Conn.Read(p)
		if at := time.Now(); n > 0 {
			c.note(Stamp{At: at}, false)
		}
		return n, err
	}
	for {
		c.planLook()
		r, err := c.receive(p)
		if r.n > 0 {
			c.note(c.stamp(r, len(p)), r.n == len(p))
		}
		if !errors.Is(err, os.ErrDeadlineExceeded) || c.expired() {
			return r.n, err
		}
		c.evidence.looked(r)
	}
}

// stamp returns the arrival of what a read brought into a buffer with so much room.
func (c *Conn) stamp(r receipt, room int) Stamp {
	s := c.withoutReordering(c.clock.stamp(r.at, r.kernel), r)
	notBefore, onePacket := c.evidence.take(r, room)
	switch {
	case r.kernel == 0: // without timestamps nobody knows how late reads are, and the bound says nothing
		return s
	case !s.Kernel:
	case notBefore.After(s.At.Add(tolerance)): // the timestamp is of a moment at which the bytes could not be read
		c.clock.refused.Add(1)
		s = Stamp{At: r.at}
	case onePacket, notBefore.After(s.At):
		notBefore = s.At
	}
	s.NotBefore = notBefore
	return s
}

// suspect is how long bytes lie unread before they are suspected to have waited for a packet that was missing.
const suspect = time.Millisecond

// withoutReordering returns s, or the time of the read if TCP held packets back because an earlier one was missing:
// then the kernel's timestamp is older than the moment at which the bytes could be read. That is the network's delay
// and not the reader's. Such a read returns several packets at once: one no longer than the read before is not
// suspected. Kernels before 5.4 do not count packets out of order.
func (c *Conn) withoutReordering(s Stamp, r receipt) Stamp {
	longer := r.n > c.usual+c.usual/2
	c.usual = r.n
	if s.Delay <= suspect || !longer || !r.counted {
		return s
	}
	before := c.outOfOrder
	c.outOfOrder = r.outOfOrder
	if r.outOfOrder == before {
		return s
	}
	c.clock.refused.Add(1)
	return Stamp{At: r.at}
}

// note keeps the arrival of what was read just now. One arrival that takes several reads has one number. The kernel
// merges packets that wait, so that a read that ends in the midst of them may have the timestamp of a later one.
func (c *Conn) note(s Stamp, full bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s.Read = c.last.Read
	if same := c.full && s.Kernel && c.last.Kernel && !s.At.After(c.last.At.Add(c.last.Delay)); !same {
		s.Read++
	}
	c.last, c.full = s, full
	c.watch.read(s.At.Add(s.Delay))
}

// Watch begins the wait for an answer to a request that was sent at a moment, or is about to be: until Rest, reads that
// wait are interrupted now and then to look at the socket, so that [Stamp.NotBefore] is recent. There is no look in the
// first part of the wait, quiet. Where the kernel gives no timestamps there are no looks at all.
func (c *Conn) Watch(sent time.Time, quiet time.Duration) {
	c.plan(func(w *watch) { w.start(sent, quiet) })
}

// Begun ends the wait for an answer to begin. From now on, only reads that wait for unusually long are interrupted.
func (c *Conn) Begun() { c.plan(func(w *watch) { w.begin(time.Now()) }) }

// Rest ends what Watch began: a connection that waits for nothing wakes nobody.
func (c *Conn) Rest() { c.plan(func(w *watch) { *w = watch{} }) }

// plan changes the watch, also for a read that waits already.
func (c *Conn) plan(change func(*watch)) {
	if c.receive == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	change(&c.watch)
	c.setLook(c.watch.look(time.Now()))
}

// planLook decides when a read that begins now is to be interrupted. A look that is planned already stays, although the
// wait has begun anew: it costs less to look once too early than to set a deadline for each read.
func (c *Conn) planLook() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now := time.Now(); !c.look.After(now) {
		c.setLook(c.watch.look(now))
	}
}

// setLook plans a look; at the zero time there is none. The caller holds the lock.
func (c *Conn) setLook(at time.Time) {
	c.look = at
	if !c.deadline().Equal(c.set) {
		_ = c.setDeadline() // fails where the next read does
	}
}

// SetReadDeadline is [net.Conn.SetReadDeadline]. Looks do not change what it means.
func (c *Conn) SetReadDeadline(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.owners = t
	return c.setDeadline()
}

// SetDeadline is [net.Conn.SetDeadline].
func (c *Conn) SetDeadline(t time.Time) error {
	return errors.Join(c.SetReadDeadline(t), c.SetWriteDeadline(t))
}

// deadline returns the owner's deadline or the next look, whichever is earlier; zero if there is neither.
func (c *Conn) deadline() time.Time {
	if c.look.IsZero() || !c.owners.IsZero() && c.owners.Before(c.look) {
		return c.owners
	}
	return c.look
}

// setDeadline sets the deadline of the connection beneath. The caller holds the lock, so that one that is set while a
// read waits is never lost.
func (c *Conn) setDeadline() error {
	c.set = c.deadline()
	return c.Conn.SetReadDeadline(c.set)
}

// expired reports whether the owner's read deadline has passed: else it was a look that interrupted a read.
func (c *Conn) expired() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return !c.owners.IsZero() && !time.Now().Before(c.owners)
}

// Last is the arrival of the bytes that Read returned last: the zero Stamp before the first.
func (c *Conn) Last() Stamp {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.last
}

// Refused is the number of the kernel's timestamps so far that were not believed: see [clock].
func (c *Conn) Refused() int { return int(c.clock.refused.Load()) }
