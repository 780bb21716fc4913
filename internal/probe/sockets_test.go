package probe

import (
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/llm-prober/prober/internal/wire"
)

// These tests use real sockets: order and counts only, no times.

// onSockets starts a server, over TLS if secure, that answers with two tokens.
func onSockets(t *testing.T, secure bool) *httptest.Server {
	t.Helper()
	s := script{{0, data(counted(1)), goOn}, {ms, data(counted(2)), goOn}, {0, data(limit, done), goOn}}
	server := httptest.NewUnstartedServer(http.HandlerFunc(s.stream))
	server.Config.ErrorLog = nil
	if secure {
		server.StartTLS()
	} else {
		server.Start()
	}
	t.Cleanup(server.Close)
	return server
}

// TestAServerThatWantsACertificate holds that its refusal is one of TLS, also where it comes after the handshake, as
// by TLS 1.3.
func TestAServerThatWantsACertificate(t *testing.T) {
	for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
		server := httptest.NewUnstartedServer(http.NotFoundHandler())
		server.TLS = &tls.Config{ClientAuth: tls.RequireAnyClientCert, MinVersion: version, MaxVersion: version}
		server.StartTLS()
		t.Cleanup(server.Close)
		target := newTarget(nil)
		target.URL, target.Transport = server.URL, NewTransport(Route{TLS: trusting(server)})
		endsAs(t, target.Probe(t.Context(), wire.Ask{Model: "m", Prompt: "Words: time", MaxTokens: 1}), TLS, "")
	}
}

// trusting is the TLS configuration of a client that trusts the server.
func trusting(server *httptest.Server) *tls.Config {
	pool := x509.NewCertPool()
	pool.AddCert(server.Certificate())
	return &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
}

func TestPhasesOnSockets(t *testing.T) {
	server := onSockets(t, true)
	target := newTarget(nil)
	target.URL, target.Transport = server.URL, NewTransport(Route{TLS: trusting(server)})
	r := target.Probe(t.Context(), wire.Ask{Prompt: "p", MaxTokens: 2})
	endsAs(t, r, OK, "")
	p := r.Phases
	ttft, _ := r.TTFT()
	write, _ := p.Write()
	wait, _ := p.Wait()
	if p.Connect <= 0 || p.TLS <= 0 || write < 0 || wait <= 0 || p.Reused {
		t.Errorf("phases %+v", p)
	}
	if p.Connect+p.TLS > p.Wrote || p.Wrote > p.Header || p.Header > ttft {
		t.Errorf("phases %+v are out of order with TTFT %v", p, ttft)
	}
	if !r.CertExpiry.Equal(server.Certificate().NotAfter) {
		t.Errorf("certificate expires at %v", r.CertExpiry)
	}
}

func TestConnectionsAreFreshOrReused(t *testing.T) {
	for _, reuse := range []bool{false, true} {
		server := onSockets(t, false)
		target := newTarget(nil)
		target.URL, target.Transport = server.URL, NewTransport(Route{Reuse: reuse})
		for n := range 3 {
			r := target.Probe(t.Context(), wire.Ask{Prompt: "p", MaxTokens: 2})
			if want := reuse && n > 0; r.Outcome != OK || r.Phases.Reused != want {
				t.Errorf("reuse %t, probe %d: %s, connection reused: %t", reuse, n, r.Outcome, r.Phases.Reused)
			}
		}
		target.Transport.Close()
	}
}

func TestBadCertificates(t *testing.T) {
	server := onSockets(t, true)
	other := trusting(server)
	other.ServerName = "another.example"
	tests := map[string]struct { // by what the error says
		url    string
		config *tls.Config
	}{
		"unknown authority":             {server.URL, nil},
		"not another.example":           {server.URL, other},
		"not look like a TLS handshake": {"https" + onSockets(t, false).URL[len("http"):], nil},
		"protocol version":              {server.URL, &tls.Config{MaxVersion: tls.VersionTLS10, MinVersion: tls.VersionTLS10}}, //nolint:gosec // to be refused
	}
	for says, test := range tests {
		target := newTarget(nil)
		target.URL, target.Transport = test.url, NewTransport(Route{TLS: test.config})
		endsAs(t, target.Probe(t.Context(), wire.Ask{Prompt: "p", MaxTokens: 2}), TLS, says)
	}
}

// TestOneOfManyAddresses holds that a transport to an address connects to it and nowhere else, past any proxy, while
// HTTP and TLS go on to speak of the host.
func TestOneOfManyAddresses(t *testing.T) {
	type request struct{ host, name string }
	seen := make(chan request, 1)
	s := script{{0, data(counted(1)), goOn}, {ms, data(counted(2)), goOn}, {0, data(limit, done), goOn}}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen <- request{r.Host, r.TLS.ServerName}
		s.stream(w, r)
	}))
	server.StartTLS()
	t.Cleanup(server.Close)
	_, port, _ := net.SplitHostPort(server.Listener.Addr().String())

	for address, want := range map[string]Outcome{"127.0.0.1": OK, "::ffff:127.0.0.1": OK, "127.0.0.2": Connect} {
		target := newTarget(nil)
		target.URL = "https://example.com:" + port // of the certificate, and nowhere near
		target.Transport = NewTransport(Route{To: address, TLS: trusting(server)})
		if target.Transport.route.newHTTP().Proxy != nil {
			t.Error("requests may go through a proxy, which connects to whom it likes")
		}
		r := target.Probe(t.Context(), wire.Ask{Prompt: "p", MaxTokens: 2})
		endsAs(t, r, want, "")
		if want == OK {
			if got := <-seen; got != (request{"example.com:" + port, "example.com"}) {
				t.Errorf("%s: the server was asked for %q, over TLS for %q", address, got.host, got.name)
			}
		}
		if r.Phases.DNS != 0 {
			t.Errorf("%s: a name was resolved in %v", address, r.Phases.DNS)
		}
	}
}
