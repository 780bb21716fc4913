package probe

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http/httptrace"

	"github.com/llm-prober/prober/internal/stream"
)

// Dial opens a connection, as [net.Dialer.DialContext] does.
type Dial func(ctx context.Context, network, address string) (net.Conn, error)

var errNoHTTP2 = errors.New("the server does not speak HTTP/2 over TLS (no h2 in its ALPN)")

// dialPlain opens a connection that stamps, and is followed.
func (r Route) dialPlain(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := r.Dial(ctx, network, address)
	if err != nil {
		return nil, err
	}
	socket := r.stamping(conn)
	return stream.Track(socket, socket, r.HTTP2), nil
}

// dialTLS opens a connection that stamps, with TLS upon it, and what is followed
// upon that: net/http would leave no room between TLS and itself.
func (r Route) dialTLS(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := r.Dial(ctx, network, address)
	if err != nil {
		return nil, err
	}
	socket := r.stamping(conn)
	secure := tls.Client(socket, r.security(address))
	if err := r.handshake(ctx, secure); err != nil {
		_ = socket.Close()
		return nil, err
	}
	return stream.Track(secure, socket, r.HTTP2), nil
}

// stamping is a connection that stamps.
func (r Route) stamping(conn net.Conn) *stream.Conn {
	if r.UserStamps {
		conn = struct{ net.Conn }{conn} // which shows no socket
	}
	return stream.NewConn(conn)
}

// security is how TLS is spoken with the server of an address.
func (r Route) security(address string) *tls.Config {
	config := r.TLS.Clone()
	if config == nil {
		config = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	if host, _, err := net.SplitHostPort(address); err == nil && config.ServerName == "" {
		config.ServerName = host
	}
	config.NextProtos = []string{"http/1.1"}
	if r.HTTP2 {
		config.NextProtos = []string{"h2"}
	}
	return config
}

// handshake shakes hands, in the sight of whoever traces the request.
func (r Route) handshake(ctx context.Context, secure *tls.Conn) error {
	trace := httptrace.ContextClientTrace(ctx)
	if trace != nil && trace.TLSHandshakeStart != nil {
		trace.TLSHandshakeStart()
	}
	err := secure.HandshakeContext(ctx)
	if err == nil && r.HTTP2 && secure.ConnectionState().NegotiatedProtocol != "h2" {
		err = errNoHTTP2
	}
	if trace != nil && trace.TLSHandshakeDone != nil {
		trace.TLSHandshakeDone(secure.ConnectionState(), err)
	}
	return err
}
