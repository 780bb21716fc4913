package probe

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	stdlog "log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/llm-prober/prober/internal/wire"
)

// TestFaultsOfAProxy holds that a proxy which fails is named, with its words and the variable that configures it, by
// probes and by other requests, and that its password is not.
func TestFaultsOfAProxy(t *testing.T) {
	refused := &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
	fails := func(err error) Dial {
		return func(context.Context, string, string) (net.Conn, error) { return nil, err }
	}
	says := func(text string) Dial { return answering(text, io.EOF) }
	const https, http1 = "https://gw.test:21999", "http://gw.test"
	const squid = "HTTP/1.1 503 Service Unavailable\r\nX-Squid-Error: ERR_CONNECT_FAIL 111\r\nContent-Length: 4\r\n\r\n" +
		"oops"
	for name, test := range map[string]struct {
		url    string
		dial   Dial
		want   Outcome
		reason Reason
		says   string
	}{
		"nothing listens, TLS": {https, fails(refused), Connect, ReasonProxyFailed,
			"the proxy squid:3128 (HTTPS_PROXY) does not work: proxyconnect tcp: dial tcp: connection refused"},
		"nothing listens": {http1, fails(refused),
			Connect, ReasonProxyFailed, "the proxy squid:3128 (HTTP_PROXY) does not work"},
		"an unknown name": {https, fails(&net.DNSError{Err: "no such host", Name: "squid"}), Connect, ReasonProxyFailed,
			"the proxy squid:3128 (HTTPS_PROXY) does not work"},
		"no way to the server": {https, says(squid), Connect, ReasonProxyFailed,
			"the proxy squid:3128 (HTTPS_PROXY) answered 503 to CONNECT gw.test:21999 (Service Unavailable, " +
				"ERR_CONNECT_FAIL 111)"},
		"a status of its own": {https, says("HTTP/1.1 502 Bad\r\nProxy-Status: p; error=dns_error\r\n\r\n"), Connect,
			ReasonProxyFailed, "(Bad, p; error=dns_error)"},
		"no words": {https, says("HTTP/1.1 403\r\n\r\n"),
			Connect, ReasonProxyFailed, "answered 403 to CONNECT gw.test:21999"},
		"it wants a password": {https, says("HTTP/1.1 407 No\r\nProxy-Authenticate: Basic realm=\"x\"\r\n\r\n"), Connect,
			ReasonProxyWantsCredentials, `answered 407 to CONNECT gw.test:21999 (No, Basic realm="x")`},
		"it closes": {https, says(""), Connect, ReasonProxyFailed, "the proxy squid:3128 (HTTPS_PROXY) does not work: "},
		"no HTTP": {https, says("SSH-2.0-x\r\n"),
			Connect, ReasonProxyFailed, "the proxy squid:3128 (HTTPS_PROXY) does not work: "},
		"it repeats the password": {https, says("HTTP/1.1 403 c2VjcmV0LXVzZXI6c2VjcmV0LXdvcmQ= secret-word\r\n\r\n"), Connect,
			ReasonProxyFailed, "answered 403"},
		"silence": {https, func(context.Context, string, string) (net.Conn, error) {
			near, far := net.Pipe()
			go io.Copy(io.Discard, far) //nolint:errcheck // it says nothing
			return near, nil
		}, Timeout, ReasonConnectTimeout, "while connecting through the proxy squid:3128 (HTTPS_PROXY)"},

		"its own answer": {http1, says(squid), Connect, ReasonProxyFailed,
			"the proxy squid:3128 (HTTP_PROXY) answered 503 instead of the server (Service Unavailable, " +
				"ERR_CONNECT_FAIL 111)"},
		"its own answer, it wants a password": {http1, says("HTTP/1.1 407 No\r\nContent-Length: 0\r\n\r\n"), Connect,
			ReasonProxyWantsCredentials, "answered 407 instead of the server"},
		"the server's answer": {http1, says("HTTP/1.1 503 Busy\r\nContent-Length: 4\r\n\r\noops"),
			Overloaded, ReasonServerOverloaded, "oops"},
	} {
		inBubble(t, name, func(t *testing.T) {
			target := newTarget(test.dial)
			target.URL = test.url
			target.Timeout = 10 * time.Second
			target.Transport.route.proxy = http.ProxyURL(must(url.Parse("http://secret-user:secret-word@squid:3128")))
			r := target.Probe(t.Context(), wire.Ask{Prompt: "p", MaxTokens: 1})
			_, _, err := target.metadata(t.Context(), http.MethodGet, "/", nil, wire.Ask{})
			v, _ := errors.AsType[verdict](err)
			other := &Result{Outcome: v.outcome, Reason: v.reason, Err: err}
			for _, r := range []*Result{r, other} {
				endsAs(t, r, test.want, test.says)
				if r.Reason != test.reason {
					t.Errorf("%v: not because %v", r.Err, test.reason)
				}
				if strings.Contains(r.Err.Error(), "secret") || strings.Contains(r.Err.Error(), "c2VjcmV0") {
					t.Errorf("a secret is shown: %v", r.Err)
				}
			}
		})
	}
}

// TestFaultsBehindAProxy holds that the server's own TLS is not the proxy's fault, and that a proxy with TLS has its
// own name there.
func TestFaultsBehindAProxy(t *testing.T) {
	names := make(chan string, 2)
	asked := func(server *httptest.Server) {
		server.TLS = &tls.Config{MinVersion: tls.VersionTLS12,
			GetConfigForClient: func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
				names <- hello.ServerName
				return nil, nil
			}}
		server.Config.ErrorLog = stdlog.New(io.Discard, "", 0)
	}
	server := onSockets(t, true, twoTokens.stream, asked)
	proxy := onSockets(t, true, func(w http.ResponseWriter, _ *http.Request) {
		far := must(net.Dial("tcp", server.Listener.Addr().String()))
		near, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			panic(err)
		}
		_, _ = io.WriteString(near, "HTTP/1.1 200 Connected\r\n\r\n")
		go func() {
			_, _ = io.Copy(far, near)
			_ = far.Close()
		}()
		_, _ = io.Copy(near, far)
		_ = near.Close()
	}, asked)
	through := must(url.Parse(proxy.URL))
	through.Host = "localhost:" + through.Port()

	config := trusting(server)
	target := at("https://192.0.2.1", Route{TLS: config, ServerName: "example.com"})
	target.Transport.route.proxy = http.ProxyURL(through)
	// httptest's certificate is not for localhost: the proxy fails first, under its own name.
	r := target.ask(t)
	endsAs(t, r, Connect, "(HTTPS_PROXY) does not work")
	equal(t, "the expiry, which is not the proxy's", time.Time{}, r.CertExpiry)
	equal(t, "the proxy's name", "localhost", <-names)

	through.Host = must(url.Parse(proxy.URL)).Host
	r = target.ask(t)
	endsAs(t, r, OK, "")
	equal(t, "the expiry", server.Certificate().NotAfter, r.CertExpiry)
	equal(t, "the proxy's name, by its address", "", <-names)
	equal(t, "the server's name", "example.com", <-names)

	plain := onSockets(t, false, proxy.Config.Handler.ServeHTTP, nil)
	target = at("https://192.0.2.1", Route{TLS: &tls.Config{RootCAs: x509.NewCertPool(), MinVersion: tls.VersionTLS12}})
	target.Transport.route.proxy = http.ProxyURL(must(url.Parse(plain.URL)))
	r = target.ask(t)
	endsAs(t, r, TLS, "certificate")
	equal(t, "the expiry of a certificate that is refused", server.Certificate().NotAfter, r.CertExpiry)
}
