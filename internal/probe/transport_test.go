package probe

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"io"
	stdlog "log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/llm-prober/prober/internal/stream"
	"github.com/llm-prober/prober/internal/testing/memconn"
	"github.com/llm-prober/prober/internal/wire"
)

// These tests use real sockets: order and counts only, no times.

// twoTokens is an answer.
var twoTokens = after(ms, counted(1)).then(ms, counted(2), limit, done)

// onSockets starts a server after prepare has changed it, over TLS if secure.
func onSockets(t *testing.T, secure bool, handler http.HandlerFunc, prepare func(*httptest.Server)) *httptest.Server {
	t.Helper()
	server := httptest.NewUnstartedServer(handler)
	if prepare != nil {
		prepare(server)
	}
	if secure {
		server.StartTLS()
	} else {
		server.Start()
	}
	t.Cleanup(func() { server.CloseClientConnections(); server.Close() })
	return server
}

// at is a target of that URL.
func at(url string, route Route) Target {
	target := newTarget(nil)
	target.URL, target.Transport = url, NewTransport(route)
	return target
}

func (t Target) ask(test *testing.T) *Result {
	return t.Probe(test.Context(), wire.Ask{Model: "m", Prompt: "p", MaxTokens: 2})
}

// trusting is the TLS configuration of a client that trusts the server.
func trusting(server *httptest.Server) *tls.Config {
	pool := x509.NewCertPool()
	pool.AddCert(server.Certificate())
	return &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
}

// TestConnections holds that connections are fresh or reused, and which phases each kind has.
func TestConnections(t *testing.T) {
	server := onSockets(t, true, twoTokens.stream, nil)
	for _, reuse := range []bool{false, true} {
		target := at(server.URL, Route{Reuse: reuse, TLS: trusting(server)})
		for n := range 3 {
			r := target.ask(t)
			endsAs(t, r, OK, "")
			p := r.Timeline.Phases
			ttft, _ := r.TTFT()
			write, _ := p.WriteTime()
			wait, _ := p.WaitTime()
			reused := reuse && n > 0
			if p.Reused != reused || (p.Connect <= 0) != reused || (p.TLS <= 0) != reused || write < 0 || wait <= 0 ||
				p.Connect+p.TLS > p.Wrote || p.Wrote > p.Header || p.Header > ttft {
				t.Errorf("reuse %t, probe %d: phases %+v, TTFT %v", reuse, n, p, ttft)
			}
			if !r.CertExpiry.Equal(server.Certificate().NotAfter) {
				t.Errorf("certificate expires at %v", r.CertExpiry)
			}
		}
		target.Transport.Close()
	}
}

// A signer makes certificates for tests.
type signer struct {
	key         *ecdsa.PrivateKey
	certificate *x509.Certificate
}

// certify makes a certificate of key for a name, signed by s, or by key itself if s is empty.
func (s signer) certify(name string, key *ecdsa.PrivateKey, isCA bool, from, to time.Time) signer {
	c := &x509.Certificate{
		SerialNumber: big.NewInt(from.Unix()), Subject: pkix.Name{CommonName: name}, NotBefore: from, NotAfter: to,
		IsCA: isCA, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	if !isCA {
		c.DNSNames = []string{name}
		c.IPAddresses = []net.IP{net.IPv4(127, 0, 0, 1)}
	}
	parent, parentKey := s.certificate, s.key
	if parent == nil {
		parent, parentKey = c, key
	}
	der := must(x509.CreateCertificate(rand.Reader, c, parent, &key.PublicKey, parentKey))
	return signer{key, must(x509.ParseCertificate(der))}
}

// newKey makes a key.
func newKey() *ecdsa.PrivateKey { return must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader)) }

// TestCertificateExpiry holds, for both versions of HTTP, that what clients verify counts, and not what a server sends
// beyond that, and that a certificate which is refused counts.
func TestCertificateExpiry(t *testing.T) {
	now := time.Now().Truncate(time.Second).UTC()
	year, month := 365*24*time.Hour, 30*24*time.Hour
	oldKey, rootKey, leafKey := newKey(), newKey(), newKey()
	old := signer{}.certify("old root", oldKey, true, now.Add(-9*year), now.Add(-2*year))
	otherOld := signer{}.certify("old root", oldKey, true, now.Add(-9*year), now.Add(2*month))
	root := signer{}.certify("root", rootKey, true, now.Add(-5*year), now.Add(10*year))
	cross := old.certify("root", rootKey, true, now.Add(-5*year), now.Add(-2*year))
	otherCross := otherOld.certify("root", rootKey, true, now.Add(-5*year), now.Add(2*month))
	leaf := root.certify("leaf", leafKey, false, now.Add(-month), now.Add(3*month))
	late := root.certify("leaf", leafKey, false, now.Add(-2*month), now.Add(-month))
	for name, test := range map[string]struct {
		sent    []signer
		trusted []signer
		check   bool
		want    Outcome
		expires time.Duration // from now
		name    string        // that it must have; empty: its own
	}{
		"a chain":                             {[]signer{leaf}, []signer{root}, true, OK, 3 * month, ""},
		"an old cross-signed certificate":     {[]signer{leaf, cross}, []signer{root}, true, OK, 3 * month, ""},
		"two chains, the longer one counts":   {[]signer{leaf, otherCross}, []signer{otherOld, root}, true, OK, 3 * month, ""},
		"only the shorter one is trusted":     {[]signer{leaf, otherCross}, []signer{otherOld}, true, OK, 2 * month, ""},
		"nothing is verified":                 {[]signer{leaf, otherCross}, nil, false, OK, 2 * month, ""},
		"nothing is verified, it has expired": {[]signer{late}, nil, false, OK, -month, ""},
		"it has expired":                      {[]signer{late}, []signer{root}, true, TLS, -month, ""},
		"its authority has expired":           {[]signer{leaf, cross}, []signer{old}, true, TLS, -2 * year, ""},
		"nobody knows it":                     {[]signer{leaf}, []signer{otherOld}, true, TLS, 3 * month, ""},
		"it is for another name":              {[]signer{leaf}, []signer{root}, true, TLS, 3 * month, "elsewhere"},
	} {
		chain := tls.Certificate{PrivateKey: leafKey}
		for _, c := range test.sent {
			chain.Certificate = append(chain.Certificate, c.certificate.Raw)
		}
		for _, isTwo := range []bool{false, true} {
			name := fmt.Sprintf("%s, HTTP/2 %t", name, isTwo)
			server := onSockets(t, true, twoTokens.stream, func(server *httptest.Server) {
				server.EnableHTTP2 = isTwo
				server.TLS = &tls.Config{Certificates: []tls.Certificate{chain}, MinVersion: tls.VersionTLS12}
				server.Config.ErrorLog = stdlog.New(io.Discard, "", 0)
			})
			config := &tls.Config{
				RootCAs: x509.NewCertPool(), MinVersion: tls.VersionTLS12,
				InsecureSkipVerify: !test.check, //nolint:gosec // as users do
			}
			for _, c := range test.trusted {
				config.RootCAs.AddCert(c.certificate)
			}
			target := at(server.URL, Route{TLS: config, ServerName: test.name, HTTP2: isTwo})
			r := target.ask(t)
			endsAs(t, r, test.want, "")
			equal(t, name, now.Add(test.expires), r.CertExpiry)
			equal(t, name, test.want == TLS && test.expires < 0, r.Reason == "certificate_expired")

			member := NewMember(target, "", 1) // it asks for the models first
			if test.want == TLS {
				equal(t, name+", unreached", now.Add(test.expires), member.Probe(t.Context(), Question{}).CertExpiry)
			}
		}
	}
}

// TestCertificateExpiryWithoutAnAnswer holds that a handshake shows it, whatever the server does then, and whether the
// request is a probe or one before it.
func TestCertificateExpiryWithoutAnAnswer(t *testing.T) {
	for name, handler := range map[string]http.HandlerFunc{
		"it closes": func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
		"it hangs": func(_ http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			<-r.Context().Done()
		},
	} {
		inBubble(t, name, func(t *testing.T) {
			key := newKey()
			end := time.Now().Add(24 * time.Hour).UTC()
			own := signer{}.certify("t", key, false, time.Now().Add(-time.Hour), end)
			server := &http.Server{Handler: handler, ErrorLog: stdlog.New(io.Discard, "", 0)}
			target := serveTLS(t, server, &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{
				{Certificate: [][]byte{own.certificate.Raw}, PrivateKey: key},
			}})
			target.URL, target.Timeout = "https://t", time.Second
			target.Transport.route.TLS = &tls.Config{RootCAs: x509.NewCertPool(), MinVersion: tls.VersionTLS12}
			target.Transport.route.TLS.RootCAs.AddCert(own.certificate)
			equal(t, "of the probe", end, target.ask(t).CertExpiry)
			equal(t, "of the question before it", end, NewMember(target, "", 1).Probe(t.Context(), Question{}).CertExpiry)
		})
	}
}

// TestTLSFails holds that a certificate that cannot be trusted is a failure of TLS, and so is one that a server wants
// and does not get, also where it says so after the handshake, as by TLS 1.3.
func TestTLSFails(t *testing.T) {
	server := onSockets(t, true, twoTokens.stream, nil)
	wanting := func(version uint16) *httptest.Server {
		return onSockets(t, true, http.NotFound, func(server *httptest.Server) {
			server.TLS = &tls.Config{ClientAuth: tls.RequireAnyClientCert, MinVersion: version, MaxVersion: version}
		})
	}
	of12, of13 := wanting(tls.VersionTLS12), wanting(tls.VersionTLS13)
	other := trusting(server)
	other.ServerName = "another.example"
	for _, test := range []struct {
		url    string
		config *tls.Config
		says   string
		reason Reason
	}{
		{server.URL, nil, "unknown authority", "unknown_certificate_authority"},
		{server.URL, other, "not another.example", "certificate_for_another_name"},
		{"https" + onSockets(t, false, twoTokens.stream, nil).URL[len("http"):], nil, "not look like a TLS handshake",
			"port_without_tls"},
		{server.URL, &tls.Config{ //nolint:gosec // to be refused
			MaxVersion: tls.VersionTLS10, MinVersion: tls.VersionTLS10,
		}, "protocol version", "tls_handshake_failed"},
		{of12.URL, trusting(of12), "handshake failure", "tls_handshake_failed"},
		{of13.URL, trusting(of13), "certificate required", "client_certificate_missing"},
	} {
		r := at(test.url, Route{TLS: test.config}).ask(t)
		endsAs(t, r, TLS, test.says)
		equal(t, "reason", test.reason, r.Reason)
	}
}

// TestAServerOfAnotherHTTPVersion holds that it is told from other failures, over TLS and without.
func TestAServerOfAnotherHTTPVersion(t *testing.T) {
	secure, plain := onSockets(t, true, twoTokens.stream, nil), onSockets(t, false, twoTokens.stream, nil)
	silent := memconn.Listen(memconn.Buffer)
	memconn.ServeOn(t, &http.Server{Handler: http.NotFoundHandler()},
		tls.NewListener(silent, &tls.Config{Certificates: secure.TLS.Certificates, MinVersion: tls.VersionTLS12}))
	config := trusting(secure)
	for _, test := range []struct {
		url   string
		route Route
		want  Outcome
		says  string
	}{
		{secure.URL, Route{HTTP2: true, TLS: config}, TLS, "no application protocol"},
		{"https://example.com", Route{HTTP2: true, TLS: config, Dial: silent.Dial}, TLS, "no h2 in its ALPN"},
		{plain.URL, Route{HTTP2: true}, Malformed, "not valid HTTP"},
	} {
		r := at(test.url, test.route).ask(t)
		endsAs(t, r, test.want, test.says)
		equal(t, test.says, ReasonWrongHTTPVersion, r.Reason)
	}
}

// TestOneOfManyAddresses holds that a transport to an address connects to it and nowhere else, past any proxy, while
// HTTP and TLS go on to speak of the host.
func TestOneOfManyAddresses(t *testing.T) {
	type request struct{ host, name string }
	seen := make(chan request, 1)
	server := onSockets(t, true, func(w http.ResponseWriter, r *http.Request) {
		seen <- request{r.Host, r.TLS.ServerName}
		twoTokens.stream(w, r)
	}, nil)
	_, port, _ := net.SplitHostPort(server.Listener.Addr().String())
	for address, want := range map[string]Outcome{"127.0.0.1": OK, "::ffff:127.0.0.1": OK, "127.0.0.2": Connect} {
		// The host is that of the certificate, and nowhere near.
		target := at("https://example.com:"+port, Route{To: address, TLS: trusting(server)})
		r := target.ask(t)
		endsAs(t, r, want, "")
		if want == OK {
			if got := <-seen; got != (request{"example.com:" + port, "example.com"}) {
				t.Errorf("%s: the server was asked for %q, over TLS for %q", address, got.host, got.name)
			}
		}
		if r.Timeline.Phases.DNS != 0 || target.Transport.route.proxy != nil {
			t.Errorf("%s: a name was resolved in %v, or a proxy could do it", address, r.Timeline.Phases.DNS)
		}
	}
}

// serveCounting returns a target that asks a server in memory by a route, and counts the connections that ended there.
func serveCounting(t *testing.T, handler http.HandlerFunc, route Route) (Target, *atomic.Int32) {
	t.Helper()
	var ended atomic.Int32
	server := &http.Server{Handler: handler, Protocols: new(http.Protocols)}
	server.Protocols.SetHTTP1(!route.HTTP2)
	server.Protocols.SetUnencryptedHTTP2(route.HTTP2)
	server.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateClosed {
			ended.Add(1)
		}
	}
	target := serveTLS(t, server, nil)
	target.Transport.route.HTTP2 = route.HTTP2
	target.Transport.route.Reuse = route.Reuse
	return target, &ended
}

// TestAProbeThatTimesOutLeavesNoConnection holds it before the header and within the answer, by both versions of HTTP,
// and also where connections are kept.
func TestAProbeThatTimesOutLeavesNoConnection(t *testing.T) {
	early := func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // until then a server does not notice that its client has gone
		<-r.Context().Done()
	}
	for name, handler := range map[string]http.HandlerFunc{
		"before the header": early, "within the answer": after(0, counted(1)).hangs().stream,
	} {
		for _, route := range []Route{{}, {Reuse: true}, {HTTP2: true}, {HTTP2: true, Reuse: true}} {
			inBubble(t, fmt.Sprintf("%s, HTTP/2 %t, kept %t", name, route.HTTP2, route.Reuse), func(t *testing.T) {
				target, ended := serveCounting(t, handler, route)
				target.Timeout = 50 * ms
				endsAs(t, target.ask(t), Timeout, "")
				synctest.Wait()
				equal(t, "connections that ended", 1, ended.Load())
			})
		}
	}
}

// TestAClosedTransportKeepsNoConnection holds it for the connection of a probe that was under way.
func TestAClosedTransportKeepsNoConnection(t *testing.T) {
	inBubble(t, "closed", func(t *testing.T) {
		target, ended := serveCounting(t, twoTokens.stream, Route{Reuse: true})
		time.AfterFunc(ms+ms/2, target.Transport.Close) // between the two tokens
		endsAs(t, target.ask(t), OK, "")
		synctest.Wait()
		equal(t, "connections that ended", 1, ended.Load())
	})
}

// TestHTTP2DoesNotGoThroughAProxy: net/http would speak 1.1 there.
func TestHTTP2DoesNotGoThroughAProxy(t *testing.T) {
	target := at("http://t", Route{HTTP2: true})
	target.Transport.route.proxy = http.ProxyURL(&url.URL{Scheme: "http", Host: "127.0.0.1:1"})
	r := target.ask(t)
	endsAs(t, r, Connect, "HTTP/2 through a proxy is not supported")
	equal(t, "reason", ReasonWrongHTTPVersion, r.Reason)
}

// TestTheServersCertificatesCount: not those of a proxy on the way.
func TestTheServersCertificatesCount(t *testing.T) {
	conn, _ := net.Pipe()
	socket := stream.NewConn(conn)
	proxy := tls.Client(socket, &tls.Config{ServerName: "proxy", MinVersion: tls.VersionTLS12})
	server := tls.Client(stream.Track(proxy, socket, false),
		&tls.Config{ServerName: "server", MinVersion: tls.VersionTLS12})
	if got := newResponseConn(server); got.secure != server || got.socket != socket || got.body == nil {
		t.Errorf("%+v", got)
	}
}

// TestTokensComeWithEvidence holds, through TLS and HTTP/2, that each token frame has a moment at which it had not
// arrived: before its arrival, and not before the probe.
func TestTokensComeWithEvidence(t *testing.T) {
	awaitKernelTimestamps(t)
	for _, secure := range []bool{false, true} {
		for _, two := range []bool{false, true} {
			server := onSockets(t, secure, twoTokens.stream, func(server *httptest.Server) {
				server.EnableHTTP2 = two
				server.Config.Protocols = new(http.Protocols)
				server.Config.Protocols.SetHTTP1(!two)
				server.Config.Protocols.SetHTTP2(two)
				server.Config.Protocols.SetUnencryptedHTTP2(two)
			})
			route := Route{HTTP2: two}
			if secure {
				route.TLS = trusting(server)
			}
			r := at(server.URL, route).ask(t)
			endsAs(t, r, OK, "")
			equal(t, "timestamps", ByKernel, r.Timestamps)
			for i, a := range r.Timeline.Frames {
				if a.NotBefore <= 0 || a.NotBefore > a.At {
					t.Errorf("TLS %t, HTTP/2 %t, token %d: %+v", secure, two, i, a)
				}
			}
		}
	}
}
