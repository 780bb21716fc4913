package probe

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
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
	sent    bool          // the request went out, to a server that did not answer in time
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
	v, ok := interruption(ctx, during.String())
	if ok {
		v.sent = during == waiting
		return v
	}
	name, unresolved := errors.AsType[*net.DNSError](err)
	switch {
	case unresolved:
		return failure(DNS, "resolve %s: %s", name.Name, name.Err)
	case during == handshaking || isTLS(err):
		return failure(TLS, "TLS handshake: %w", err)
	case during <= writing:
		return failure(Connect, "%w", err)
	case errors.Is(err, io.EOF) && phases.Reused:
		return failure(Connect, "the server closed the reused connection")
	case errors.Is(err, io.EOF):
		return failure(Empty, "connection closed without an answer")
	case strings.Contains(err.Error(), "malformed HTTP"):
		return failure(Malformed, "answer is not HTTP: %w", err)
	}
	return failure(Truncated, "connection broke before the answer: %w", err)
}

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
func badStatus(resp *http.Response, body []byte) verdict {
	detail := wire.Describe(body)
	location := resp.Header.Get("Location")
	if resp.StatusCode/100 == 3 && location != "" {
		to, _, _ := strings.Cut(location, "?") // the query may hold a secret
		detail = fmt.Sprintf("redirected to %s; probes do not follow redirects", to)
	}
	if detail != "" {
		detail = ": " + detail
	}
	v := failure(outcomeOf(resp.StatusCode, body), "HTTP %d%s", resp.StatusCode, detail)
	v.status = resp.StatusCode
	if v.outcome == RateLimited || v.outcome == Overloaded {
		v.retry = retryAfter(resp.Header)
	}
	return v
}

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

// outcomeOf returns what an answer without success means: by its status, except where its words say that this is
// misleading.
func outcomeOf(status int, body []byte) Outcome {
	switch {
	case wire.BadKey(body):
		return Unauthorized
	case wire.NoBackend(body):
		return Overloaded
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		return Unauthorized
	case status == http.StatusTooManyRequests:
		return RateLimited
	case status == http.StatusServiceUnavailable, status == 529: // 529: Anthropic, overloaded
		return Overloaded
	case status == http.StatusRequestTimeout, status == http.StatusFailedDependency, // Ray Serve; TGI
		status == 499, status >= 500:
		return ServerError
	}
	return Rejected
}
