package sim

import (
	"context"
	"net"
	"sync"
	"syscall"
)

// Listener is a net.Listener without a network: each Dial makes a net.Pipe, whose other end Accept returns. It works
// inside a testing/synctest bubble. It is safe for concurrent use.
type Listener struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

// NewListener returns an open listener.
func NewListener() *Listener {
	return &Listener{conns: make(chan net.Conn), closed: make(chan struct{})}
}

// Accept waits for the next Dial. After Close its error is net.ErrClosed.
func (l *Listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, &net.OpError{Op: "accept", Net: "mem", Addr: l.Addr(), Err: net.ErrClosed}
	}
}

// Dial connects: it waits until an Accept takes the other end. Its error is ctx's, or the refusal that a closed port
// gives (syscall.ECONNREFUSED) after Close. The connection is the caller's to close.
func (l *Listener) Dial(ctx context.Context) (net.Conn, error) {
	near, far := net.Pipe()
	var err error
	select {
	case l.conns <- far:
		return near, nil
	case <-l.closed:
		err = syscall.ECONNREFUSED
	case <-ctx.Done():
		err = ctx.Err()
	}
	near.Close()
	far.Close()
	return nil, &net.OpError{Op: "dial", Net: "mem", Addr: l.Addr(), Err: err}
}

// Close ends every waiting Accept and Dial, and all later ones. Connections live on. A second Close does nothing.
func (l *Listener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

// Addr is the same for every listener: network and address are both "mem".
func (l *Listener) Addr() net.Addr { return &net.UnixAddr{Net: "mem", Name: "mem"} }
