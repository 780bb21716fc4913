package probe

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"

	"github.com/llm-prober/prober/internal/format"
)

// A forwardProxy is the proxy that the environment names for a target. Its URL may hold a password.
type forwardProxy struct {
	url      *url.URL
	variable string // of the environment
}

// String returns how errors name the proxy.
func (p forwardProxy) String() string {
	return fmt.Sprintf("the proxy %s (%s)", p.url.Host, p.variable)
}

// proxyOf returns the proxy of a request; nil if it needs none.
func (r Route) proxyOf(req *http.Request) (*forwardProxy, error) {
	if r.proxy == nil {
		return nil, nil
	}
	variable := strings.ToUpper(req.URL.Scheme) + "_PROXY"
	if os.Getenv(variable) == "" && os.Getenv(strings.ToLower(variable)) != "" {
		variable = strings.ToLower(variable)
	}
	found, err := r.proxy(req)
	switch {
	case err != nil: // its text has the URL
		return nil, fmt.Errorf("%s is not the URL of a proxy", variable)
	case found == nil:
		return nil, nil
	}
	return &forwardProxy{found, variable}, nil
}

// secrets returns what errors must not repeat of a proxy's URL: the password, and how it is sent.
func (p *forwardProxy) secrets() []string {
	if p == nil || p.url.User == nil {
		return nil
	}
	password, _ := p.url.User.Password()
	sent := base64.StdEncoding.EncodeToString([]byte(p.url.User.Username() + ":" + password))
	return append(secretParts(password), sent)
}

// A proxyError is the error of a request through a proxy. Whether the proxy is at fault is seen by what it wraps.
type proxyError struct {
	proxy forwardProxy
	cause error
}

func (e proxyError) Error() string { return e.cause.Error() }
func (e proxyError) Unwrap() error { return e.cause }

// A refusedTunnel is the answer of a proxy that does not connect to the server.
type refusedTunnel struct {
	to     string // host and port
	status int
	words  string
}

func (e refusedTunnel) Error() string {
	return strings.TrimSpace(fmt.Sprintf("answered %d to CONNECT %s %s", e.status, e.to, e.words))
}

// checkTunnel returns an error if a proxy does not connect to the server: see [http.Transport.OnProxyConnectResponse].
func checkTunnel(_ context.Context, _ *url.URL, req *http.Request, resp *http.Response) error {
	if resp.StatusCode == http.StatusOK {
		return nil
	}
	return refusedTunnel{req.Host, resp.StatusCode, proxyWords(resp)}
}

// proxyWords returns what the header of a proxy's answer says of an error: its status line, Squid's code, and
// Proxy-Status (RFC 9209). A body is not waited for.
func proxyWords(resp *http.Response) string {
	var words []string
	_, reason, _ := strings.Cut(resp.Status, " ")
	for _, text := range []string{
		reason, resp.Header.Get("X-Squid-Error"), resp.Header.Get("Proxy-Status"),
		strings.Join(resp.Header.Values("Proxy-Authenticate"), ", "),
	} {
		text = format.Clean(text)
		if text != "" {
			words = append(words, format.Shorten(text, 200))
		}
	}
	if len(words) == 0 {
		return ""
	}
	return "(" + strings.Join(words, ", ") + ")"
}

// blame returns the verdict on a request that failed before the server was reached, because of the proxy; ok is false
// if the proxy is not at fault.
func (p forwardProxy) blame(during stage, err error) (v verdict, ok bool) {
	refused, isRefused := errors.AsType[refusedTunnel](err)
	op, isOp := errors.AsType[*net.OpError](err)
	unreached := isOp && op.Op == "proxyconnect"
	switch {
	case isRefused && refused.status == http.StatusProxyAuthRequired:
		return failure(Connect, ReasonProxyWantsCredentials, "%v %v", p, refused), true
	case isRefused:
		return failure(Connect, ReasonProxyFailed, "%v %v", p, refused), true
	case errors.Is(err, context.DeadlineExceeded): // net/http has a limit of its own
		return failure(Connect, ReasonProxyFailed, "%v did not answer within a minute", p), true
	case unreached, during <= connecting:
		return failure(Connect, ReasonProxyFailed, "%v does not work: %v", p, err), true
	}
	return verdict{}, false
}

// answered returns the verdict on an answer to a request without TLS that came from the proxy and not from the server;
// ok is false if it did not, as far as its header shows.
func (p *forwardProxy) answered(resp *http.Response) (v verdict, ok bool) {
	if p == nil || resp.Request.URL.Scheme != "http" {
		return verdict{}, false
	}
	reason := ReasonProxyFailed
	named := cmp.Or(resp.Header.Get("X-Squid-Error"), resp.Header.Get("Proxy-Status"))
	switch {
	case resp.StatusCode == http.StatusProxyAuthRequired:
		reason = ReasonProxyWantsCredentials
	case resp.StatusCode < http.StatusBadRequest || named == "":
		return verdict{}, false
	}
	text := fmt.Sprintf("%v answered %d instead of the server %s", *p, resp.StatusCode, proxyWords(resp))
	v = failure(Connect, reason, "%s", strings.TrimSpace(text))
	v.status = resp.StatusCode
	return v, true
}
