package stream

import (
	"net"
	"sync"
	"time"
)

// A Stamp is the arrival of some bytes.
type Stamp struct {
	At     time.Time     // when the kernel received them; else right after they were read
	Read   uint64        // number of that arrival on its connection, from 1
	Kernel bool          // At is the kernel's
	Delay  time.Duration // from the kernel's timestamp until they were read; 0 unless Kernel
}

// A Conn is a client's connection that notes when each read's bytes arrived, by the kernel's timestamps where there are any:
// then nothing above delays an arrival. Each Read reads the socket once. One goroutine reads at a time.
type Conn struct {
	net.Conn
	socket *socket // reads with timestamps; nil where there are none
	clock  *clock  // of these timestamps
	usual  int     // bytes of the last read
	full   bool    // the last read left no room, so that the next may find more of the same arrival

	mu   sync.Mutex
	last Stamp // of the bytes that Read returned last
}

// NewConn takes over c.
func NewConn(c net.Conn) *Conn {
	return &Conn{Conn: c, socket: newSocket(c), clock: newClock()}
}

// Read returns bytes of one read of the socket.
func (c *Conn) Read(p []byte) (n int, err error) {
	var kernel int64
	if c.socket == nil || len(p) == 0 {
		n, err = c.Conn.Read(p)
	} else {
		n, kernel, err = c.socket.read(p)
	}
	if at := time.Now(); n > 0 {
		c.note(c.believed(c.clock.stamp(at, kernel), n), n == len(p))
	}
	return n, err
}

// suspect is how long bytes lie unread before the kernel is asked about reordered packets.
const suspect = time.Millisecond

// believed is s, of n bytes, unless packets came out of order: those behind a hole have a timestamp of when they came, but can
// be read only when the hole is filled. That is the network's delay and not the reader's. Such a read returns several packets
// at once: one no longer than the read before is not suspected.
func (c *Conn) believed(s Stamp, n int) Stamp {
	longer := n > c.usual+c.usual/2
	c.usual = n
	if s.Delay > suspect && longer && c.socket.reordered() {
		c.clock.refused.Add(1)
		return Stamp{At: s.At.Add(s.Delay)}
	}
	return s
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
}

// Last is the arrival of the bytes that Read returned last: the zero Stamp before the first.
func (c *Conn) Last() Stamp {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.last
}

// Refused is the number of the kernel's timestamps so far that were not believed: see [clock].
func (c *Conn) Refused() int { return int(c.clock.refused.Load()) }
