package sim

import (
	"context"
	"net"
	"time"
)

// Noted returns a listener whose connections note when they are written to, for Config.Log: closer to the write than a
// handler comes, between which and the connection net/http has buffers of its own. The http.Server must have ConnContext
// as its ConnContext.
func Noted(l net.Listener) net.Listener { return notedListener{l} }

// ConnContext lets a Server find the connection of a request.
func ConnContext(ctx context.Context, c net.Conn) context.Context {
	if noted, ok := c.(*notedConn); ok {
		return context.WithValue(ctx, notedKey{}, noted)
	}
	return ctx
}

// notedKey marks the connection of a request.
type notedKey struct{}

type notedListener struct{ net.Listener }

func (l notedListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &notedConn{Conn: c}, nil
}

// notedConn notes the moment of its first Write after it was cleared. Only one goroutine writes.
type notedConn struct {
	net.Conn
	at time.Time // right before it; zero: there was none
}

func (c *notedConn) Write(p []byte) (int, error) {
	if c.at.IsZero() {
		c.at = time.Now()
	}
	return c.Conn.Write(p)
}
