package probe

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"sync"
	"time"

	"golang.org/x/net/http2"

	"github.com/llm-prober/prober/internal/stream"
)

// A Transport reaches one target. Every connection timestamps what it receives, and serves one probe at a time: on a
// shared one of HTTP/2, frames would wait behind other answers. It follows no redirects, keeps no cookies, and never
// asks for compression.
type Transport struct {
	route Route

	mu     sync.Mutex
	closed bool
	kept   []*http.Transport // each with a connection for a next probe; none unless reuse

	lookout *stream.Lookout
	stuck   stuckCount
}

// Dial opens a connection, as [net.Dialer.DialContext] does.
type Dial func(ctx context.Context, network, address string) (net.Conn, error)

// A Route is how a target is reached.
type Route struct {
	Dial Dial // opens connections; nil: a [net.Dialer]

	// To is an address without port: all connections go to it, whatever host a URL names. HTTP and TLS keep the URL's
	// host. No proxy is used, since it would resolve the host itself. Empty: no override.
	To string

	TLS        *tls.Config // defaults if nil
	ServerName string      // for TLS, instead of the URL's host: the certificate must have it; empty: no override
	Reuse      bool        // connections are kept for the next probe; else each has one of its own
	HTTP2      bool        // HTTP/2 and nothing else, on plain connections too; else HTTP/1.1

	UserTimestamps bool // no kernel timestamps

	proxy func(*http.Request) (*url.URL, error)
}

// NewTransport returns a transport for a route.
func NewTransport(r Route) *Transport {
	if r.Dial == nil {
		r.Dial = (&net.Dialer{}).DialContext
	}
	if r.To == "" {
		r.proxy = http.ProxyFromEnvironment
	}
	return &Transport{route: r, lookout: stream.NewLookout()}
}

// newHTTP returns a transport of net/http, through a proxy unless that is nil, that has no connection yet. Its HTTP/2
// is that of golang.org/x/net: two frames of a server make that of net/http wait for itself for ever (Go 1.26,
// http2clientConnReadLoop.processWindowUpdate).
func (r Route) newHTTP(proxy *forwardProxy) *http.Transport {
	var through func(*http.Request) (*url.URL, error)
	first := r // the way to whom a connection leads first
	if proxy != nil {
		through = http.ProxyURL(proxy.url)
		first.ServerName = ""
	}
	protocols := new(http.Protocols)
	protocols.SetHTTP1(!r.HTTP2)
	protocols.SetUnencryptedHTTP2(r.HTTP2) // for net/http; TLS is beneath it, see dialer
	via := &http.Transport{
		Proxy:              through,
		Protocols:          protocols,
		TLSClientConfig:    r.tlsConfig(), // for TLS through a proxy, which does not use dialer
		DisableCompression: true,          // else net/http inflates through a buffer, in bursts
		MaxIdleConns:       16,
		IdleConnTimeout:    5 * time.Minute,

		MaxResponseHeaderBytes: 1 << 20,
		WriteBufferSize:        1 << 10, // a header; what is longer is written past it

		DialContext:    first.dialer(false),
		DialTLSContext: first.dialer(true),

		OnProxyConnectResponse: checkTunnel,
	}
	if r.HTTP2 {
		_, _ = http2.ConfigureTransports(via) //nolint:staticcheck // fails only for the same transport again
	}
	return via
}

// dialer opens connections that timestamp and track answers, with TLS, if secure, between socket and body tracker.
func (r Route) dialer(secure bool) Dial {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		host, port, err := net.SplitHostPort(address)
		if err != nil {
			return nil, err
		}
		conn, err := r.Dial(ctx, network, net.JoinHostPort(cmp.Or(r.To, host), port))
		if err != nil {
			return nil, err
		}
		if r.UserTimestamps {
			conn = struct{ net.Conn }{conn} // hides the socket
		}
		socket := stream.NewConn(conn)
		if !secure {
			return stream.Track(socket, socket, r.HTTP2), nil
		}
		client, err := r.handshake(ctx, socket, host)
		if err != nil {
			_ = socket.Close()
			return nil, err
		}
		return stream.Track(client, socket, r.HTTP2), nil
	}
}

// tlsConfig returns the configuration of TLS with the server. Its name is empty if it is that of the URL's host.
func (r Route) tlsConfig() *tls.Config {
	config := r.TLS.Clone()
	if config == nil {
		config = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	config.ServerName = cmp.Or(r.ServerName, config.ServerName)
	return config
}

// handshake begins TLS with a host, and reports to the request's [trace], as net/http would.
func (r Route) handshake(ctx context.Context, socket net.Conn, host string) (*tls.Conn, error) {
	config := r.tlsConfig()
	config.ServerName = cmp.Or(config.ServerName, host)
	config.NextProtos = []string{"http/1.1"}
	if r.HTTP2 {
		config.NextProtos = []string{"h2"}
	}
	secure := tls.Client(socket, config)
	trace := httptrace.ContextClientTrace(ctx)
	trace.TLSHandshakeStart()
	err := secure.HandshakeContext(ctx)
	if err == nil && r.HTTP2 && secure.ConnectionState().NegotiatedProtocol != "h2" {
		err = errors.New("the server does not support HTTP/2 over TLS (no h2 in its ALPN)")
	}
	trace.TLSHandshakeDone(secure.ConnectionState(), err)
	return secure, err
}

var errHTTP2ThroughProxy = errors.New("HTTP/2 through a proxy is not supported")

// send sends a request. Once its answer has been read, done is to be called; after an error there is nothing to do.
func (t *Transport) send(req *http.Request) (resp *http.Response, done func(), err error) {
	proxy, err := t.route.proxyOf(req)
	switch {
	case err != nil:
		return nil, nil, err
	case proxy != nil && t.route.HTTP2: // net/http would use HTTP/1.1
		return nil, nil, errHTTP2ThroughProxy
	}
	via := t.take(proxy)
	resp, err = via.RoundTrip(req)
	if err != nil {
		via.CloseIdleConnections() // and dials that would outlive the request
		if proxy != nil {
			err = proxyError{*proxy, err}
		}
		return nil, nil, err
	}
	return resp, func() { t.release(via) }, nil
}

// take returns a transport for one request, with a kept connection if there is one. The proxy is always the same.
func (t *Transport) take(proxy *forwardProxy) *http.Transport {
	t.mu.Lock()
	defer t.mu.Unlock()
	last := len(t.kept) - 1
	if last < 0 {
		return t.route.newHTTP(proxy)
	}
	via := t.kept[last]
	t.kept = t.kept[:last]
	return via
}

// release keeps the connection for a next request, if that is wanted.
func (t *Transport) release(via *http.Transport) {
	t.mu.Lock()
	isKept := t.route.Reuse && !t.closed
	if isKept {
		t.kept = append(t.kept, via)
	}
	t.mu.Unlock()
	if !isKept {
		via.CloseIdleConnections() // may hang, see [stuckCount]: not with the lock held
	}
}

// Close closes idle connections, and the others when their probe ends.
func (t *Transport) Close() {
	t.mu.Lock()
	kept := t.kept
	t.kept, t.closed = nil, true
	t.mu.Unlock()
	atOnce, cancel := context.WithCancel(context.Background())
	cancel()
	for _, via := range kept {
		t.stuck.bounded(atOnce, via.CloseIdleConnections)
	}
}
