package stream

import (
	"net"
	"sync"
	"time"
)

// maxPending bounds the received bytes that nobody has read yet. Beyond it the
// socket is left alone until they are, as it would be without a [Conn].
const maxPending = 1 << 20

// A Conn is a client's connection that stamps what it receives. A goroutine of
// its own reads the socket all the time, so that nothing above (TLS, HTTP,
// decoding, garbage collection of their allocations) delays a stamp, and reads
// that arrive while something above is busy stay apart.
//
// Read returns bytes of one socket read only. Reads cannot have deadlines:
// cancel the request instead.
type Conn struct {
	net.Conn
	done chan struct{} // closed when the reading goroutine has ended

	mu      sync.Mutex
	changed sync.Cond // pending, err or closed changed
	pending []byte    // received, not yet read
	head    int       // start of the unread part of pending
	reads   []arrived // what pending is made of, oldest first
	oldest  int       // index in reads of the read that head lies in
	last    Stamp     // of the bytes that Read returned last
	err     error     // why no more will be received
	closed  bool
}

// arrived is one socket read.
type arrived struct {
	stamp Stamp
	end   int // its last byte's index in pending, plus one
}

// NewConn takes over c. Close the Conn to end its goroutine.
func NewConn(c net.Conn) *Conn {
	s := &Conn{Conn: c, done: make(chan struct{})}
	s.changed.L = &s.mu
	go s.receive()
	return s
}

// receive reads the socket until it fails or is closed.
func (c *Conn) receive() {
	defer close(c.done)
	buf := make([]byte, 32<<10)
	for number := uint64(1); ; number++ {
		n, err := c.Conn.Read(buf)
		at := time.Now()
		if !c.keep(buf[:n], Stamp{At: at, Read: number}, err) {
			return
		}
	}
}

// keep appends what one socket read gave. It reports whether to go on.
func (c *Conn) keep(data []byte, stamp Stamp, err error) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(data) > 0 {
		c.compact()
		c.pending = append(c.pending, data...)
		c.reads = append(c.reads, arrived{stamp: stamp, end: len(c.pending)})
	}
	c.err = err
	c.changed.Broadcast()
	for err == nil && !c.closed && len(c.pending)-c.head > maxPending {
		c.changed.Wait()
	}
	return err == nil && !c.closed
}

// compact drops the bytes that were read once they are most of what is held, so
// that a server which never pauses does not make it grow.
func (c *Conn) compact() {
	if c.head <= len(c.pending)/2 || c.head < 64<<10 {
		return
	}
	c.pending = c.pending[:copy(c.pending, c.pending[c.head:])]
	c.reads = c.reads[:copy(c.reads, c.reads[c.oldest:])]
	for i := range c.reads {
		c.reads[i].end -= c.head
	}
	c.head, c.oldest = 0, 0
}

// Read returns bytes of the oldest socket read that has some left, and waits
// for one if there is none.
func (c *Conn) Read(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.head == len(c.pending) {
		if c.closed {
			return 0, net.ErrClosed
		}
		if c.err != nil {
			return 0, c.err
		}
		c.changed.Wait()
	}
	if len(p) == 0 {
		return 0, nil
	}
	return c.take(p), nil
}

// take copies unread bytes of one socket read to p.
func (c *Conn) take(p []byte) int {
	from := c.reads[c.oldest]
	n := copy(p, c.pending[c.head:from.end])
	c.last = from.stamp
	c.head += n
	if c.head == from.end {
		c.oldest++
	}
	if c.head == len(c.pending) {
		c.pending, c.reads = c.pending[:0], c.reads[:0]
		c.head, c.oldest = 0, 0
	}
	c.changed.Broadcast()
	return n
}

// Last is the stamp of the bytes that Read returned last: the zero Stamp before
// the first.
func (c *Conn) Last() Stamp {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.last
}

// Close closes the connection and waits until its goroutine has ended.
func (c *Conn) Close() error {
	c.mu.Lock()
	c.closed = true
	c.changed.Broadcast()
	c.mu.Unlock()
	err := c.Conn.Close()
	<-c.done
	return err
}
