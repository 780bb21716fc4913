package probe

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"sync"
	"time"
)

// A Transport reaches one target. Every connection it makes stamps what it
// receives, and serves one probe at a time: on a connection of HTTP/2 that others
// share, a frame's bytes would wait behind those of other answers. It follows no
// redirects, keeps no cookies, and never asks for compression.
type Transport struct {
	make  func() *http.Transport
	reuse bool
	http2 bool
	proxy proxyFor

	mu     sync.Mutex
	closed bool
	kept   []*http.Transport // each with a connection for a next probe; none unless reuse
}

// A Route is how a target is reached.
type Route struct {
	Dial Dial // opens connections; nil: a [net.Dialer]

	// To is an address without port: all connections go to it, whatever host a URL
	// names. The host stays the one of the URL for HTTP and TLS. There is no proxy then:
	// it would connect to whom it likes. Empty: where the URL says.
	To    string
	TLS   *tls.Config // defaults if nil
	Reuse bool        // connections are kept for the next probe; else each has one of its own
	HTTP2 bool        // HTTP/2 and nothing else, on plain connections too; else HTTP/1.1

	UserStamps bool // the kernel is not asked when bytes arrived
}

// NewTransport returns a transport for a route.
func NewTransport(r Route) *Transport {
	return newTransport(r, http.ProxyFromEnvironment)
}

// A proxyFor says through which proxy a request goes; nil for none.
type proxyFor = func(*http.Request) (*url.URL, error)

func newTransport(r Route, proxy proxyFor) *Transport {
	if r.Dial == nil {
		r.Dial = (&net.Dialer{}).DialContext
	}
	if r.To != "" {
		r.Dial, proxy = dialTo(r.To, r.Dial), nil
	}
	return &Transport{
		make:  func() *http.Transport { return newHTTP(r, proxy) },
		reuse: r.Reuse, http2: r.HTTP2, proxy: proxy,
	}
}

// dialTo dials an address instead of the one asked for, at the same port.
func dialTo(address string, dial Dial) Dial {
	return func(ctx context.Context, network, asked string) (net.Conn, error) {
		_, port, err := net.SplitHostPort(asked)
		if err != nil {
			return nil, err
		}
		return dial(ctx, network, net.JoinHostPort(address, port))
	}
}

func newHTTP(r Route, proxy proxyFor) *http.Transport {
	protocols := new(http.Protocols)
	protocols.SetHTTP1(!r.HTTP2)
	protocols.SetUnencryptedHTTP2(r.HTTP2) // beneath net/http, that is: see dialTLS
	return &http.Transport{
		Proxy:              proxy,
		Protocols:          protocols,
		TLSClientConfig:    r.TLS.Clone(), // for what dialTLS has no part in: TLS through a proxy
		DisableCompression: true,          // else net/http inflates through a buffer, in bursts
		MaxIdleConns:       16,
		IdleConnTimeout:    5 * time.Minute,

		MaxResponseHeaderBytes: 1 << 20,
		WriteBufferSize:        1 << 10, // a header; what is longer is written past it

		DialContext:    r.dialPlain,
		DialTLSContext: r.dialTLS,
	}
}

// send sends a request. When its answer has been read, done is to be called; on
// an error there is nothing to do.
func (t *Transport) send(req *http.Request) (resp *http.Response, done func(), err error) {
	if err := t.allows(req); err != nil {
		return nil, nil, err
	}
	via := t.take()
	resp, err = via.RoundTrip(req)
	if err != nil {
		via.CloseIdleConnections() // and dials that would outlive the request
		return nil, nil, err
	}
	return resp, func() { t.give(via) }, nil
}

// errProxied refuses what net/http would do in another version of HTTP than was asked for.
var errProxied = errors.New("HTTP/2 does not go through a proxy: set PROBER_HTTP_VERSION=1.1, or name the host in NO_PROXY")

// allows refuses HTTP/2 through a proxy.
func (t *Transport) allows(req *http.Request) error {
	if !t.http2 || t.proxy == nil {
		return nil
	}
	proxy, err := t.proxy(req)
	if err != nil {
		return fmt.Errorf("find the proxy: %w", err)
	}
	if proxy != nil {
		return errProxied
	}
	return nil
}

// take returns the transport that was used last, or a new one.
func (t *Transport) take() *http.Transport {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.kept) == 0 {
		return t.make()
	}
	last := len(t.kept) - 1
	via := t.kept[last]
	t.kept = t.kept[:last]
	return via
}

// give takes a transport back, for the next probe or to be closed.
func (t *Transport) give(via *http.Transport) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.reuse || t.closed {
		via.CloseIdleConnections()
		return
	}
	t.kept = append(t.kept, via)
}

// Close closes the connections that nobody uses, and the others when their probe ends.
func (t *Transport) Close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, via := range t.kept {
		via.CloseIdleConnections()
	}
	t.kept, t.closed = nil, true
}
