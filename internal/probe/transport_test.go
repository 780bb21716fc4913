package probe

import (
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"
	"time"

	"github.com/llm-prober/prober/internal/stream"
	"github.com/llm-prober/prober/internal/wire"
)

// watched is a server of either version that tells when a connection of its has ended.
func watched(t *testing.T, two bool, handler http.HandlerFunc) (url string, ended <-chan net.Conn) {
	t.Helper()
	gone := make(chan net.Conn, 10)
	server := httptest.NewUnstartedServer(handler)
	server.Config.Protocols = new(http.Protocols)
	server.Config.Protocols.SetHTTP1(!two)
	server.Config.Protocols.SetUnencryptedHTTP2(two)
	server.Config.ConnState = func(c net.Conn, state http.ConnState) {
		if state == http.StateClosed {
			gone <- c
		}
	}
	server.Start()
	t.Cleanup(server.CloseClientConnections)
	return server.URL, gone
}

// TestAProbeThatTimesOutLeavesNoConnection: neither before the header nor within the answer, kept or not. A
// connection that stays makes the test wait for ever.
func TestAProbeThatTimesOutLeavesNoConnection(t *testing.T) {
	early := func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // until then a server does not notice that its client has gone
		<-r.Context().Done()
	}
	within := func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = w.Write([]byte(data(counted(1))))
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}
	for _, handler := range []http.HandlerFunc{early, within} {
		for _, route := range []Route{{}, {Reuse: true}, {HTTP2: true}, {HTTP2: true, Reuse: true}} {
			url, ended := watched(t, route.HTTP2, handler)
			target := newTarget(nil)
			target.URL, target.Timeout, target.Transport = url, 50*time.Millisecond, NewTransport(route)
			endsAs(t, target.Probe(t.Context(), wire.Ask{Prompt: "p", MaxTokens: 2}), Timeout, "")
			target.Transport.Close()
			<-ended
		}
	}
}

// TestAClosedTransportKeepsNoConnection: also not that of a probe that was under way.
func TestAClosedTransportKeepsNoConnection(t *testing.T) {
	begun, goOn := make(chan bool), make(chan bool)
	url, ended := watched(t, false, func(w http.ResponseWriter, _ *http.Request) {
		begun <- true
		<-goOn
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = w.Write([]byte(data(counted(1)) + data(limit, done)))
	})
	target := newTarget(nil)
	target.URL, target.Transport = url, NewTransport(Route{Reuse: true})
	result := make(chan *Result)
	go func() { result <- target.Probe(t.Context(), wire.Ask{Prompt: "p", MaxTokens: 1}) }()
	<-begun
	target.Transport.Close()
	goOn <- true
	endsAs(t, <-result, OK, "")
	<-ended
}

// TestHTTP2DoesNotGoThroughAProxy: net/http would speak 1.1 there.
func TestHTTP2DoesNotGoThroughAProxy(t *testing.T) {
	target := newTarget(nil)
	target.Transport = NewTransport(Route{HTTP2: true})
	target.Transport.route.proxy = http.ProxyURL(&url.URL{Scheme: "http", Host: "127.0.0.1:1"})
	r := target.Probe(t.Context(), wire.Ask{Prompt: "p", MaxTokens: 1})
	endsAs(t, r, Connect, "set PROBER_HTTP_VERSION=1.1")
}

// TestTheServersCertificatesCount: not those of a proxy on the way.
func TestTheServersCertificatesCount(t *testing.T) {
	conn, _ := net.Pipe()
	socket := stream.NewConn(conn)
	proxy := tls.Client(socket, &tls.Config{ServerName: "proxy", MinVersion: tls.VersionTLS12})
	server := tls.Client(stream.Track(proxy, socket, false), &tls.Config{ServerName: "server", MinVersion: tls.VersionTLS12})
	if got := newResponseConn(server); got.secure != server || got.socket != socket || got.body == nil {
		t.Errorf("%+v", got)
	}
}
