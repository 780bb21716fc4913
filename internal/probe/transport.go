package probe

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
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
	if dial == nil {
		dial = (&net.Dialer{}).DialContext
	}
	t := &Transport{make: func() *http.Transport { return newHTTP(dial, config) }}
	if reuse {
		t.kept = t.make()
	}
	return t
}

func newHTTP(dial Dial, config *tls.Config) *http.Transport {
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	return &http.Transport{
		Proxy:              http.ProxyFromEnvironment,
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
