package stream

import (
	"errors"
	"net"
	"os"
	"sync"
	"time"
)

// A Timestamp is the arrival of some bytes.
type Timestamp struct {
	At     time.Time     // when the kernel received them; if that is not known, right after they were read
	Read   uint64        // number of this arrival on its connection, from 1
	Kernel bool          // At is the kernel's timestamp
	Delay  time.Duration // from the kernel's timestamp until the bytes were read; 0 unless Kernel

	// Hidden is how much longer the first of several packets may have waited than Delay, which is that of the last; 0 if
	// there was one packet.
	Hidden time.Duration

	// NotBefore is a moment at which none of the bytes of this arrival had been received, so that all of them came
	// between it and At. It equals At if they came in one packet. It is zero if nothing is known, as where the kernel
	// gives no timestamps. So if it is set and Kernel is not, the kernel's timestamp was rejected.
	NotBefore time.Time
}

// A Conn is a client's connection that notes when the bytes of each read arrived. It uses the kernel's timestamps where
// there are any: then no delay of the process falsifies an arrival. Each Read reads the socket once. Only one goroutine
// may read at a time.
type Conn struct {
	net.Conn
	receive  func(p []byte) (receipt, error)   // reads with the kernel's timestamps; nil where there are none
	transmit func(p []byte) (int, Sent, error) // writes, and knows the last attempt; nil where receive is
	clock    *clock                            // converts these timestamps

	// What the reads so far left for the next one. Only Read uses it.
	evidence   evidence
	lastSize   int    // bytes of the last read
	outOfOrder uint32 // packets that came out of order, when they were counted last
	full       bool   // the last read left no room, so that the next one may bring more of the same arrival

	mu            sync.Mutex
	last          Timestamp // of the bytes that Read returned last
	sent          Sent      // of the bytes that Write wrote last
	watch         watch
	lookAt        time.Time // when a read that waits is interrupted for a look; zero if it is not
	ownerDeadline time.Time // read deadline of whoever uses the connection; zero for none
	setDeadline   time.Time // read deadline that was set on the connection beneath; zero for none
}

// NewConn wraps c. The caller reads from c through the result only.
func NewConn(c net.Conn) *Conn {
	conn := &Conn{Conn: c, clock: newClock()}
	socket := newSocket(c)
	if socket != nil {
		conn.receive = socket.read
		conn.transmit = socket.write
	}
	return conn
}

// Read returns the bytes of one read of the socket.
func (c *Conn) Read(p []byte) (int, error) {
	if c.receive == nil || len(p) == 0 {
		n, err := c.Conn.Read(p)
		at := time.Now()
		if n > 0 {
			c.note(Timestamp{At: at}, false)
		}
		return n, err
	}
	for {
		c.planLook()
		r, err := c.receive(p)
		if r.n > 0 {
			c.note(c.timestamp(r, len(p)), r.n == len(p))
		}
		interrupted := errors.Is(err, os.ErrDeadlineExceeded)
		if !interrupted || c.expired() {
			return r.n, err
		}
		c.evidence.foundNothing(r)
	}
}

// Write does what [net.Conn] says, and notes when the last byte was written.
func (c *Conn) Write(p []byte) (n int, err error) {
	var sent Sent
	if c.transmit != nil && len(p) > 0 {
		n, sent, err = c.transmit(p)
	} else {
		sent.From = time.Now()
		n, err = c.Conn.Write(p)
		sent.Until = time.Now()
	}
	if n > 0 {
		c.mu.Lock()
		c.sent = sent
		c.mu.Unlock()
	}
	return n, err
}

// Sent returns when the bytes that Write wrote last went to the kernel.
func (c *Conn) Sent() Sent {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.sent
}

// timestamp returns the arrival of what a read brought into a buffer of room bytes.
func (c *Conn) timestamp(r receipt, room int) Timestamp {
	s := c.withoutReordering(c.clock.timestamp(r.at, r.kernel), r)
	notBefore, onePacket := c.evidence.add(r, room)
	if r.kernel == 0 { // nobody knows how late the read is, so the bound says nothing
		return s
	}
	if s.Kernel && notBefore.After(s.At.Add(tolerance)) { // the bytes could not be read yet when the timestamp was taken
		s = c.clock.reject(r.at)
	}
	s.NotBefore = notBefore
	if s.Kernel && c.evidence.several && !notBefore.IsZero() {
		s.Hidden = max(0, s.At.Sub(notBefore))
	}
	if s.Kernel && (onePacket || notBefore.After(s.At)) {
		s.NotBefore = s.At
	}
	return s
}

// suspiciousDelay is how long bytes lie unread before they may have waited for a packet that was missing.
const suspiciousDelay = time.Millisecond

// withoutReordering returns s, or the time of the read if TCP held packets back because an earlier one was missing:
// then the kernel's timestamp is older than the moment at which the bytes could be read. That is the network's delay
// and not the reader's. Such a read returns several packets at once, so one that is no longer than the read before is
// not suspected. Kernels before 5.4 do not count packets out of order.
func (c *Conn) withoutReordering(s Timestamp, r receipt) Timestamp {
	longer := r.n > c.lastSize+c.lastSize/2
	c.lastSize = r.n
	if s.Delay <= suspiciousDelay || !longer || !r.counted {
		return s
	}
	before := c.outOfOrder
	c.outOfOrder = r.outOfOrder
	if r.outOfOrder == before {
		return s
	}
	return c.clock.reject(r.at)
}

// note keeps the arrival of what was read just now, and numbers it. One arrival that takes several reads has one
// number. The kernel merges packets that wait, so that a read which ends within them may have the timestamp of a later
// one: reads belong together if the second arrival is not after the moment of the first read.
func (c *Conn) note(s Timestamp, full bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	lastRead := c.last.At.Add(c.last.Delay)
	same := c.full && s.Kernel && c.last.Kernel && !s.At.After(lastRead)
	s.Read = c.last.Read
	if !same {
		s.Read++
	}
	c.last = s
	c.full = full
	c.watch.read(s.At.Add(s.Delay))
}

// Watch begins the wait for the answer to a request that was sent at a moment, or is about to be. Until StopWatching,
// reads that wait are interrupted now and then to look at the socket, so that [Timestamp.NotBefore] is recent. The
// first part of the wait, quiet, has no looks. Where the kernel gives no timestamps there are no looks at all.
func (c *Conn) Watch(sent time.Time, quiet time.Duration) {
	c.changeWatch(func(w *watch) { w.start(sent, quiet) })
}

// AnswerBegan ends the wait for an answer to begin. From now on, only reads that wait for unusually long are
// interrupted.
func (c *Conn) AnswerBegan() {
	c.changeWatch(func(w *watch) { w.endFirstWait(time.Now()) })
}

// StopWatching ends what Watch began. A connection that waits for nothing wakes nobody.
func (c *Conn) StopWatching() {
	c.changeWatch(func(w *watch) { *w = watch{} })
}

// changeWatch changes the watch, also for a read that waits already.
func (c *Conn) changeWatch(change func(*watch)) {
	if c.receive == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	change(&c.watch)
	c.setLook(c.watch.nextLook(time.Now()))
}

// planLook decides when a read that begins now is to be interrupted. A look that is planned already stays, although the
// wait has begun anew: it costs less to look once too early than to set a deadline for each read.
func (c *Conn) planLook() {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	if !c.lookAt.After(now) {
		c.setLook(c.watch.nextLook(now))
	}
}

// setLook plans a look; none at the zero time. The caller holds the lock.
func (c *Conn) setLook(at time.Time) {
	c.lookAt = at
	if !c.deadline().Equal(c.setDeadline) {
		_ = c.applyDeadline() // if this fails, so does the next read
	}
}

// SetReadDeadline does what [net.Conn] says. Looks do not change its meaning.
func (c *Conn) SetReadDeadline(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ownerDeadline = t
	return c.applyDeadline()
}

// SetDeadline does what [net.Conn] says.
func (c *Conn) SetDeadline(t time.Time) error {
	return errors.Join(c.SetReadDeadline(t), c.SetWriteDeadline(t))
}

// deadline returns the owner's deadline or the next look, whichever is earlier; zero if there is neither.
func (c *Conn) deadline() time.Time {
	ownerFirst := !c.ownerDeadline.IsZero() && c.ownerDeadline.Before(c.lookAt)
	if c.lookAt.IsZero() || ownerFirst {
		return c.ownerDeadline
	}
	return c.lookAt
}

// applyDeadline sets the deadline of the connection beneath. The caller holds the lock, so that a deadline which is set
// while a read waits is never lost.
func (c *Conn) applyDeadline() error {
	c.setDeadline = c.deadline()
	return c.Conn.SetReadDeadline(c.setDeadline)
}

// expired reports whether the owner's read deadline has passed. If not, a read was interrupted for a look.
func (c *Conn) expired() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return !c.ownerDeadline.IsZero() && !time.Now().Before(c.ownerDeadline)
}

// Last returns the arrival of the bytes that Read returned last; the zero Timestamp before the first.
func (c *Conn) Last() Timestamp {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.last
}

// Rejected returns how many of the kernel's timestamps were not believed so far: see [clock].
func (c *Conn) Rejected() int { return int(c.clock.rejected.Load()) }
