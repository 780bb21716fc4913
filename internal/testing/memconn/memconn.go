// Package memconn connects the HTTP clients and servers of tests in memory, so that they run in virtual time
// (testing/synctest). Only tests import it.
//
// It exists because google.golang.org/grpc/test/bufconn starts timers of zero length, for each connection and for each
// deadline that has passed. In Go 1.26 two goroutines of one synctest bubble that start such timers at the same time
// crash the race detector: they share its state, the field raceCtx of the bubble's timers (runtime/time.go). Here a
// deadline that has passed needs no timer.
package memconn

import (
	"context"
	"io"
	"net"
	"os"
	"sync"
	"time"
)

// Listener accepts the connections that Dial makes. It implements net.Listener.
type Listener struct {
	buffer   int
	accepted chan net.Conn
	closed   chan struct{}
	close    func()
}

// Listen returns a listener. A writer of its connections waits while the reader is more than buffer bytes behind.
func Listen(buffer int) *Listener {
	l := &Listener{buffer: buffer, accepted: make(chan net.Conn), closed: make(chan struct{})}
	l.close = sync.OnceFunc(func() { close(l.closed) })
	return l
}

// Accept waits for the next connection. It returns net.ErrClosed after Close.
func (l *Listener) Accept() (net.Conn, error) {
	select {
	case <-l.closed:
		return nil, net.ErrClosed
	case conn := <-l.accepted:
		return conn, nil
	}
}

// Close ends the listener. Its connections stay open.
func (l *Listener) Close() error {
	l.close()
	return nil
}

// Addr returns a name that is the same for every listener.
func (*Listener) Addr() net.Addr { return address{} }

// Dial connects to the listener, whatever the address. It waits until the connection is accepted.
// Its signature is that of http.Transport.DialContext.
func (l *Listener) Dial(ctx context.Context, _, _ string) (net.Conn, error) {
	toServer, toClient := newPipe(l.buffer), newPipe(l.buffer)
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-l.closed:
		return nil, net.ErrClosed
	case l.accepted <- &conn{in: toServer, out: toClient}:
		return &conn{in: toClient, out: toServer}, nil
	}
}

// conn is one end of a connection.
type conn struct{ in, out *pipe }

func (c *conn) Read(b []byte) (int, error)  { return c.in.read(b) }
func (c *conn) Write(b []byte) (int, error) { return c.out.write(b) }
func (*conn) LocalAddr() net.Addr           { return address{} }
func (*conn) RemoteAddr() net.Addr          { return address{} }

// Close ends both directions. The other end can still read what was written before.
func (c *conn) Close() error {
	c.in.change(func(p *pipe) { p.readerClosed = true })
	c.out.change(func(p *pipe) { p.writerClosed = true })
	return nil
}

func (c *conn) SetDeadline(t time.Time) error {
	_ = c.SetReadDeadline(t)
	return c.SetWriteDeadline(t)
}

func (c *conn) SetReadDeadline(t time.Time) error {
	c.in.change(func(p *pipe) { p.readDeadline = t; p.wakeAt(t) })
	return nil
}

func (c *conn) SetWriteDeadline(t time.Time) error {
	c.out.change(func(p *pipe) { p.writeDeadline = t; p.wakeAt(t) })
	return nil
}

// pipe is one direction of a connection: bytes that were written and not read yet.
type pipe struct {
	limit int // of bytes in the buffer

	mu                          sync.Mutex
	changed                     *sync.Cond // any field below
	buffer                      []byte
	readerClosed, writerClosed  bool
	readDeadline, writeDeadline time.Time // zero: none
}

func newPipe(limit int) *pipe {
	p := &pipe{limit: limit}
	p.changed = sync.NewCond(&p.mu)
	return p
}

// change changes the pipe and wakes what waits in read or write.
func (p *pipe) change(f func(*pipe)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f(p)
	p.changed.Broadcast()
}

// wakeAt wakes what waits in read or write once a deadline has passed. A deadline that was replaced meanwhile wakes
// them too: they look again and wait on.
func (p *pipe) wakeAt(deadline time.Time) {
	if left := time.Until(deadline); !deadline.IsZero() && left > 0 {
		time.AfterFunc(left, func() { p.change(func(*pipe) {}) })
	}
}

func (p *pipe) read(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for {
		switch {
		case p.readerClosed:
			return 0, io.ErrClosedPipe
		case passed(p.readDeadline):
			return 0, os.ErrDeadlineExceeded
		case len(p.buffer) > 0:
			n := copy(b, p.buffer)
			p.buffer = p.buffer[n:]
			p.changed.Broadcast()
			return n, nil
		case p.writerClosed:
			return 0, io.EOF
		case len(b) == 0:
			return 0, nil
		}
		p.changed.Wait()
	}
}

func (p *pipe) write(b []byte) (written int, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(b) > 0 {
		switch {
		case p.readerClosed || p.writerClosed:
			return written, io.ErrClosedPipe
		case passed(p.writeDeadline):
			return written, os.ErrDeadlineExceeded
		case len(p.buffer) >= p.limit:
			p.changed.Wait()
			continue
		}
		n := min(len(b), p.limit-len(p.buffer))
		p.buffer = append(p.buffer, b[:n]...)
		b, written = b[n:], written+n
		p.changed.Broadcast()
	}
	return written, nil
}

// passed reports whether a deadline is over.
func passed(deadline time.Time) bool { return !deadline.IsZero() && !time.Now().Before(deadline) }

// address is that of every end of a connection.
type address struct{}

func (address) Network() string { return "memory" }
func (address) String() string  { return "memory" }
