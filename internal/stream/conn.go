package stream

import (
	"errors"
	"net"
	"os"
	"sync"
	"time"
)

// A Conn is a client's connection that notes when the bytes of each read arrived. It uses the kernel's timestamps where
// there are any: then no delay of the process falsifies an arrival. Each Read reads the socket once. Only one goroutine
// may read at a time.
type Conn struct {
	net.Conn
	receive  func(p []byte) (receipt, error)   // reads with the kernel's timestamps; nil where there are none
	transmit func(p []byte) (int, Sent, error) // writes, and knows the last attempt; nil where receive is
	looks    looks
	history  readHistory // only Read changes it

	mu   sync.Mutex
	last Arrival // of the bytes that Read returned last
	full bool    // that read left no room, so that the next one may bring more of the same arrival
	sent Sent    // of the bytes that Write wrote last
}

// A Sent is when the last byte of a request went to the kernel: between the two moments around the attempt to write it
// that succeeded. If the process loses its processor in between, Until is late, but From is not.
type Sent struct {
	From, Until time.Time // zero if nothing was sent
}

// NewConn wraps c. The caller reads from c through the result only.
func NewConn(c net.Conn) *Conn {
	conn := &Conn{Conn: c, looks: looks{conn: c}, history: readHistory{clock: newClock()}}
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
			c.note(Arrival{At: at}, false)
		}
		return n, err
	}
	for {
		c.looks.beforeRead()
		r, err := c.receive(p)
		if r.n > 0 {
			c.note(c.history.arrival(r, len(p)), r.n == len(p))
			c.looks.afterRead(r.at)
		}
		isLook := errors.Is(err, os.ErrDeadlineExceeded) && !c.looks.isExpired()
		if !isLook {
			return r.n, err
		}
		c.history.evidence.foundNothing(r)
	}
}

// note keeps the arrival of what was read just now, and numbers it. One arrival that takes several reads has one
// number. The kernel merges packets that wait, so that a read which ends within them may have the timestamp of a later
// one: reads belong together if the second arrival is not after the moment of the first read.
func (c *Conn) note(a Arrival, isFull bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	lastRead := c.last.At.Add(c.last.Delay)
	isSame := c.full && a.Kernel && c.last.Kernel && !a.At.After(lastRead)
	a.Read = c.last.Read
	if !isSame {
		a.Read++
	}
	c.last = a
	c.full = isFull
}

// Last returns the arrival of the bytes that Read returned last; the zero Arrival before the first.
func (c *Conn) Last() Arrival {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.last
}

// Rejected returns how many of the kernel's timestamps were not believed so far.
func (c *Conn) Rejected() int { return int(c.history.rejected.Load()) }

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

// SetReadDeadline does what [net.Conn] says. Looks do not change its meaning.
func (c *Conn) SetReadDeadline(t time.Time) error { return c.looks.setOwner(t) }

// SetDeadline does what [net.Conn] says.
func (c *Conn) SetDeadline(t time.Time) error {
	return errors.Join(c.SetReadDeadline(t), c.SetWriteDeadline(t))
}
