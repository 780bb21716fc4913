package probe

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/llm-prober/prober/internal/wire"
)

// A verdict is how a probe or a metadata request ended; err is nil if and only if that is [OK]. It is itself the error
// of a metadata request, and the cause of a context that we end.
type verdict struct {
	outcome Outcome
	err     error
	status  int           // HTTP status, if that was not a success; else 0
	retry   time.Duration // pause that the server asked for; 0 if it did not
	limits  wire.Limits   // that the server named; its own words in err are shortened
	sent    bool          // the request went out, to a server that did not answer in time
	expiry  time.Time     // see [Result.CertExpiry]; only of a metadata request
}

func (v verdict) Error() string { return v.err.Error() }
func (v verdict) Unwrap() error { return v.err }

// failure returns the verdict of an outcome that is a failure.
func failure(o Outcome, format string, args ...any) verdict {
	return verdict{outcome: o, err: fmt.Errorf(format, args...)}
}

// interruption returns the verdict on a probe whose context is done; ok is false if it is not.
func interruption(ctx context.Context, doing string) (v verdict, ok bool) {
	cause := context.Cause(ctx)
	ours, ok := errors.AsType[verdict](cause)
	if ok {
		return failure(ours.outcome, "%v %s", cause, doing), true
	}
	return failure(Canceled, "%w", cause), cause != nil
}

// noAnswer returns the verdict on a request that failed with err before its answer began.
func noAnswer(ctx context.Context, t *trace, err error) verdict {
	phases, during, _ := t.state()
	through, isProxied := errors.AsType[proxyError](err)
	doing := during.String()
	if isProxied && during <= connecting {
		doing = "while connecting through " + through.proxy.String()
	}
	v, ok := interruption(ctx, doing)
	if ok {
		v.sent = during == waiting
		if v.outcome == Timeout {
			v.err = withReason(v.err, slowStage(during))
		}
		return v
	}
	if isProxied {
		v, ok = through.proxy.blame(during, err)
		if ok {
			return v
		}
	}
	name, unresolved := errors.AsType[*net.DNSError](err)
	switch {
	case unresolved && name.IsNotFound:
		return verdict{outcome: DNS, err: withReason(fmt.Errorf("resolve %s: %s", name.Name, name.Err), ErrNoSuchName)}
	case unresolved && name.IsTimeout:
		return verdict{outcome: DNS, err: withReason(fmt.Errorf("resolve %s: %s", name.Name, name.Err), ErrSlowLookup)}
	case unresolved:
		return failure(DNS, "resolve %s: %s", name.Name, name.Err)
	case during == handshaking || isTLS(err):
		v = failure(TLS, "TLS handshake: %w", err)
		if noProtocol.MatchString(err.Error()) {
			v.err = withReason(v.err, ErrHTTPVersion)
		}
		return v
	case wantsHTTP1.MatchString(err.Error()):
		return verdict{outcome: Rejected, err: withReason(err, ErrHTTPVersion)}
	case refusesStream.MatchString(err.Error()):
		return verdict{outcome: Overloaded, err: withReason(fmt.Errorf("%w: %w", ErrRefusedStream, err), ErrRefusedStream)}
	case during >= writing && !isBroken(err):
		return invalidHTTP(err)
	case during < writing && !isMade(err):
		return failure(Connect, "%w", err)
	case phases.Reused:
		return failure(Connect, "the server closed the reused connection")
	}
	// A server that closes at once may do so before the request is out or after: that is one outcome.
	v = failure(Truncated, "the connection broke before the answer: %w", err)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		v = failure(Truncated, "the connection was closed before the answer")
	}
	reason := ErrNoAnswer
	if t.isPlain() {
		reason = ErrNoPlainAnswer
	}
	v.err = withReason(v.err, reason)
	return v
}

// slowStage returns the reason of a request that ran out of time in a stage before it was sent; nil after that.
func slowStage(s stage) error {
	switch s {
	case resolving:
		return ErrSlowLookup
	case dialing, connecting:
		return ErrSlowConnect
	case handshaking:
		return ErrSlowHandshake
	case writing:
		return ErrSlowRequest
	}
	return nil
}

// isMade reports whether a connection failed that had been made: HTTP/2 begins to write before a request does.
func isMade(err error) bool {
	failed, ok := errors.AsType[*net.OpError](err)
	return ok && (failed.Op == "write" || failed.Op == "read")
}

// cutBody returns the verdict on an answer whose body could not be read to its end, because of err.
func cutBody(err error, what string) verdict {
	if !isBroken(err) {
		return invalidHTTP(err)
	}
	return failure(Truncated, "%s: %w", what, err)
}

// invalidHTTP returns the verdict on an answer that net/http refuses with err. One that begins as an alert of TLS is
// that of a server which expects a handshake.
func invalidHTTP(err error) verdict {
	cause := strings.TrimPrefix(err.Error(), "net/http: HTTP/1.x transport connection broken: ")
	reason := ErrInvalidHTTP
	switch {
	case strings.Contains(cause, `"\x15\x03`):
		reason = ErrSpeaksTLS
	case otherVersion.MatchString(cause):
		reason = ErrHTTPVersion
	}
	return verdict{outcome: Malformed, err: reasoned{"the answer is not valid HTTP: " + cause, reason}}
}

// isBroken reports whether an answer could not be read because its connection, or its stream of HTTP/2, ended. What
// else can go wrong is that net/http refuses the answer, and that has no common type. Of HTTP/2, which has no types at
// all, the codes say who is at fault.
func isBroken(err error) bool {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.ErrClosedPipe) ||
		errors.Is(err, net.ErrClosed) || errors.As(err, new(net.Error)) || errors.As(err, new(syscall.Errno)) {
		return true
	}
	text := err.Error()
	if isHTTP2.MatchString(text) {
		theirWord := strings.Contains(text, "received from peer") || strings.Contains(text, "GOAWAY")
		return theirWord || !brokenRules.MatchString(text)
	}
	return strings.Contains(text, "closed") // an idle connection, or a body
}

var (
	isHTTP2     = regexp.MustCompile(`http2: |stream error: |connection error: `)
	brokenRules = regexp.MustCompile(`connection error: |(PROTOCOL|COMPRESSION|FRAME_SIZE|FLOW_CONTROL)_ERROR|` +
		`frame too large|header list`)

	// What says that a server speaks another version of HTTP, or wants it: in the handshake, in its first bytes, and in
	// its own words.
	noProtocol   = regexp.MustCompile(`no application protocol|no h2 in its ALPN`)
	otherVersion = regexp.MustCompile(`looked like an HTTP/1\.1 header|malformed HTTP response "\\x00\\x00`)
	wantsHTTP1   = regexp.MustCompile(`HTTP_1_1_REQUIRED`)

	// refusesStream matches the codes with which a server takes no more work.
	refusesStream = regexp.MustCompile(`REFUSED_STREAM|ENHANCE_YOUR_CALM`)
)

// isTLS reports whether TLS failed, also after the client's part of the handshake: crypto/tls returns a "remote error"
// then.
func isTLS(err error) bool {
	remote, ok := errors.AsType[*net.OpError](err)
	switch {
	case ok && remote.Op == "remote error",
		errors.As(err, new(*tls.CertificateVerificationError)),
		errors.As(err, new(tls.RecordHeaderError)),
		errors.As(err, new(tls.AlertError)),
		errors.As(err, new(x509.UnknownAuthorityError)):
		return true
	}
	return false
}

// badStatus returns the verdict on a response whose status is not a success, and on what its body says.
func (t *Transport) badStatus(resp *http.Response, body []byte) verdict {
	proxy, _ := t.route.proxyOf(resp.Request)
	v, ok := proxy.answered(resp)
	if ok {
		return v
	}
	status := resp.StatusCode
	detail := wire.Describe(body, strconv.Itoa(status))
	inHeader := wire.HeaderError(resp.Header)
	if inHeader != nil && (detail == "" || inHeader.Message == "") { // the words of OAuth are those of the body again
		detail = join(inHeader.Error(), detail)
	}
	reason := reasonIn(status, body)
	gateway := gatewayOf(resp, body)
	isAlone := status == http.StatusServiceUnavailable && ownFailure.MatchString(gateway)
	to, isRedirection := redirection(resp)
	dropped := resp.Header.Get("X-Llm-D-Request-Dropped-Reason") // llm-d's router
	if plainName.MatchString(dropped) {
		detail = join(detail, dropped)
		isAlone = isAlone || strings.HasSuffix(dropped, "no-endpoints")
	}
	switch {
	case isRedirection:
		shown := url.URL{Scheme: to.Scheme, Host: to.Host, Path: to.Path} // the rest may hold a secret
		detail = fmt.Sprintf("redirected to %s; probes do not follow redirects", shown.String())
		switch {
		case isLogin(to.Path) && !isLogin(resp.Request.URL.Path):
			reason = ErrLogin
		case isElsewhere(to, resp.Request):
			reason = ErrElsewhere
		}
	case reason == nil && isAlone:
		reason = ErrNoBackend
	case reason == nil && gateway != "":
		reason = ErrGateway
	}
	switch {
	case isServerless(reason):
		detail = join(reason.Error(), detail)
	case errors.Is(reason, ErrGateway):
		gateway = cmp.Or(gateway, "a gateway")
		detail = join(gateway+" answered, not the model server", detail)
	}
	text := join(fmt.Sprintf("HTTP %d", status), detail)
	v = verdict{outcome: outcomeOf(status, body, inHeader, reason), err: withReason(errors.New(text), reason)}
	v.status = status
	isPause := status == http.StatusServiceUnavailable || v.outcome == RateLimited || v.outcome == Overloaded
	if isPause {
		v.retry = retryAfter(resp.Header)
	}
	return v
}

// join returns two parts of a text; one alone if the other is empty.
func join(first, second string) string {
	if first == "" || second == "" {
		return first + second
	}
	return first + ": " + second
}

// gatewayOf returns the name of the gateway that answered in place of the model server: with a page, or with a failure
// without a word. It is empty if the model server may have answered.
func gatewayOf(resp *http.Response, body []byte) string {
	server := resp.Header.Get("Server")
	_, isModelServer := wire.Recognize(wire.Evidence{Answer: true, Header: resp.Header})
	switch {
	case resp.StatusCode < 500 && resp.StatusCode != http.StatusTooManyRequests:
		return "" // a login page, or a wrong path
	case wire.IsPage(body) && wire.PageServer(body) != "":
		return wire.PageServer(body)
	case isModelServer || frameworks.MatchString(server):
		return ""
	case wire.IsPage(body) && plainName.MatchString(server):
		return server
	case wire.IsPage(body):
		return "a gateway"
	case len(body) == 0 && gateways.MatchString(server) && plainName.MatchString(server):
		return server
	case len(body) == 0 && envoys.MatchString(server) && resp.Header.Get("X-Envoy-Upstream-Service-Time") == "":
		return server
	}
	return ""
}

var (
	// frameworks matches the servers that programs are written with, which may answer with pages as well.
	frameworks = regexp.MustCompile(`(?i)uvicorn|hypercorn|gunicorn|granian|werkzeug|aiohttp|python|tornado|cheroot|llama`)
	// gateways matches those that say who they are only of their own answers.
	gateways = regexp.MustCompile(`(?i)^(caddy|awselb|cloudflare|cloudfront)`)
	// envoys matches those that name themselves in all answers, and how long the server took in its answers only.
	envoys = regexp.MustCompile(`(?i)^(istio-)?envoy$`)
	// plainName matches a name in a header that may be shown as it is.
	plainName = regexp.MustCompile(`^[\w./() -]{1,60}$`)
	// ownFailure matches those whose own 503 means that they have no server left to ask.
	ownFailure = regexp.MustCompile(`(?i)^(caddy|awselb)`)
)

// redirection returns where an answer redirects to; ok is false if it does not, or not to a URL.
func redirection(resp *http.Response) (to *url.URL, ok bool) {
	if resp.StatusCode/100 != 3 || resp.Header.Get("Location") == "" {
		return nil, false
	}
	to, err := resp.Location()
	return to, err == nil
}

// isElsewhere reports whether a URL leads to another host than a request asked, by URL or Host header: that is where
// gateways send a client that has to log in. A host and its www are the same.
func isElsewhere(to *url.URL, req *http.Request) bool {
	name := func(host string) string { return strings.TrimPrefix(strings.ToLower(host), "www.") }
	asked := url.URL{Host: req.Host}
	return name(to.Hostname()) != name(req.URL.Hostname()) && name(to.Hostname()) != name(asked.Hostname())
}

// isLogin reports whether a path is that of a page to log in, by one of its parts.
func isLogin(path string) bool { return loginPath.MatchString(path) }

var loginPath = regexp.MustCompile(`(?i)(^|/)(log[_-]?in|sign[_-]?in|sso|saml2?|oidc|oauth2?|authorize|auth)(/|\.|$)`)

// retryAfter returns the pause that a server asks for; 0 if it does not: seconds, a date (RFC 9110, section 10.2.3) or
// milliseconds.
func retryAfter(header http.Header) time.Duration {
	const year = 365 * 24 * time.Hour
	for _, field := range []struct {
		name string
		unit time.Duration
	}{{"Retry-After-Ms", time.Millisecond}, {"Retry-After", time.Second}} {
		n, err := strconv.ParseFloat(strings.TrimSpace(header.Get(field.name)), 64)
		if err == nil && n >= 0 {
			return time.Duration(min(n, float64(year/field.unit)) * float64(field.unit))
		}
	}
	at, err := http.ParseTime(header.Get("Retry-After"))
	if err != nil {
		return 0
	}
	return max(0, time.Until(at))
}

// isServerless reports whether a reason is that no model server can answer, whatever the status says of load.
func isServerless(reason error) bool {
	return errors.Is(reason, ErrNoBackend) || errors.Is(reason, ErrLoading)
}

// outcomeOf returns what an answer without success means: by its status, except where its words or those in its header
// say that this is misleading.
func outcomeOf(status int, body []byte, inHeader *wire.ServerError, reason error) Outcome {
	class := wire.OtherError
	e := wire.ParseError(body)
	if e == nil {
		e = inHeader
	}
	if e != nil && status != http.StatusPaymentRequired {
		class = e.ClassOfWords()
	}
	switch {
	case wire.BadKey(body), errors.Is(reason, ErrLogin):
		return Unauthorized
	case isServerless(reason), wire.BrokenBackend(body):
		return ServerError
	case class == wire.ContentFilter:
		return Filtered
	case status == http.StatusServiceUnavailable, status == 529: // 529: Anthropic, overloaded
		return Overloaded
	case class == wire.RateLimit:
		return RateLimited
	case class == wire.BadCredentials, status == http.StatusUnauthorized, status == http.StatusForbidden:
		return Unauthorized
	case class == wire.Overload: // Moonshot, with 429
		return Overloaded
	case status == http.StatusTooManyRequests:
		return RateLimited
	case status == http.StatusRequestTimeout, status == http.StatusFailedDependency, // Ray Serve; TGI
		status == 499, status >= 500:
		return ServerError
	}
	return Rejected
}

// reported returns the verdict on an error that a server wrote although its status is a success: within a stream, or in
// place of an answer; whole is all that the server wrote, if that may be longer than its words in e. Once a token came,
// the request was not at fault.
func reported(e *wire.ServerError, whole []byte, hasTokens bool) verdict {
	words := whole
	if words == nil {
		words = []byte(e.Error())
	}
	reason := reasonIn(http.StatusOK, words)
	class := e.Class()
	switch {
	case errors.Is(reason, ErrTooLong) && class == wire.OtherError:
		class = wire.InvalidRequest
	case isServerless(reason):
		return verdict{outcome: ServerError, err: withReason(fmt.Errorf("%w: %w", reason, e), reason)}
	case e.Code == strconv.Itoa(http.StatusPaymentRequired): // as with that status
		return verdict{outcome: Rejected, err: withReason(e, ErrNoCredit)}
	case wire.BadKey(words):
		class = wire.BadCredentials
	}
	switch class {
	case wire.RateLimit:
		if !errors.Is(reason, ErrNoCredit) {
			reason = nil
		}
		return verdict{outcome: RateLimited, err: withReason(e, reason)}
	case wire.BadCredentials:
		return verdict{outcome: Unauthorized, err: e}
	case wire.ContentFilter:
		return verdict{outcome: Filtered, err: e}
	case wire.Overload:
		return verdict{outcome: Overloaded, err: e}
	case wire.InvalidRequest:
		if !hasTokens {
			return verdict{outcome: Rejected, err: withReason(e, reason)}
		}
	}
	return verdict{outcome: ServerError, err: e}
}
