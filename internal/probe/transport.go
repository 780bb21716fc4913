package probe

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/llm-prober/prober/internal/stream"
)

// A Transport reaches one target. Every connection it makes stamps what it
// receives. It speaks HTTP/1.1 only: on a connection of HTTP/2 a frame's bytes
// wait behind those of other frames, and no arrival could be told. It follows no
// redirects, keeps no cookies, and never asks for compression.
type Transport struct {
	make func() *http.Transport
	kept *http.Transport // serves every probe; nil: each has one of its own
}

// Dial opens a connection, as [net.Dialer.DialContext] does.
type Dial func(ctx context.Context, network, address string) (net.Conn, error)

// NewTransport returns a transport that dials with dial (a [net.Dialer] if nil)
// and speaks TLS as config says (defaults if nil). Connections are kept for the
// next probe if reuse is set; else each probe has one of its own.
func NewTransport(dial Dial, config *tls.Config, reuse bool) *Transport {
	return newTransport(dial, config, http.ProxyFromEnvironment, reuse)
}

// NewTransportTo is NewTransport with all connections to one address, an IP
// address without port, whatever host a URL names. The host stays the one of the
// URL for HTTP and TLS. There is no proxy: it would connect to whom it likes.
func NewTransportTo(address string, dial Dial, config *tls.Config, reuse bool) *Transport {
	if dial == nil {
		dial = (&net.Dialer{}).DialContext
	}
	to := func(ctx context.Context, network, asked string) (net.Conn, error) {
		_, port, err := net.SplitHostPort(asked)
		if err != nil {
			return nil, err
		}
		return dial(ctx, network, net.JoinHostPort(address, port))
	}
	return newTransport(to, config, nil, reuse)
}

// A proxyFor says through which proxy a request goes; nil for none.
type proxyFor = func(*http.Request) (*url.URL, error)

func newTransport(dial Dial, config *tls.Config, proxy proxyFor, reuse bool) *Transport {
	if dial == nil {
		dial = (&net.Dialer{}).DialContext
	}
	t := &Transport{make: func() *http.Transport { return newHTTP(dial, config, proxy) }}
	if reuse {
		t.kept = t.make()
	}
	return t
}

func newHTTP(dial Dial, config *tls.Config, proxy proxyFor) *http.Transport {
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	return &http.Transport{
		Proxy:              proxy,
		Protocols:          protocols,
		TLSClientConfig:    config.Clone(),
		DisableCompression: true, // else net/http inflates through a buffer, in bursts
		MaxIdleConns:       16,
		IdleConnTimeout:    5 * time.Minute,
		WriteBufferSize:    64 << 10,

		MaxResponseHeaderBytes: 1 << 20,

		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := dial(ctx, network, address)
			if err != nil {
				return nil, err
			}
			return stream.NewConn(conn), nil
		},
	}
}

// send sends a request. When its answer has been read, done is to be called; on
// an error there is nothing to do.
func (t *Transport) send(req *http.Request) (resp *http.Response, done func(), err error) {
	via, done := t.kept, func() {}
	if via == nil {
		via = t.make()
		done = via.CloseIdleConnections
	}
	resp, err = via.RoundTrip(req)
	if err != nil {
		via.CloseIdleConnections() // and dials that would outlive the request
	}
	return resp, done, err
}

// Close closes the connections that nobody uses.
func (t *Transport) Close() {
	if t.kept != nil {
		t.kept.CloseIdleConnections()
	}
}
