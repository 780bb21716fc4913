package probe

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"regexp"
	"strings"
	"syscall"
	"time"

	"github.com/llm-prober/prober/internal/wire"
)

// A verdict is how a probe or a metadata request ended; err is nil if and only if that is [OK]. It is itself the error
// of a metadata request, and the cause of a context that we end.
type verdict struct {
	outcome Outcome
	reason  Reason // empty if and only if the outcome is [OK] or [Canceled]
	err     error
	status  int           // HTTP status, if that was not a success; else 0
	retry   time.Duration // pause that the server asked for; 0 if it did not
	limits  wire.Limits   // that the server named; its own words in err are shortened
	expiry  time.Time     // see [Result.CertExpiry]; only of a metadata request
}

func (v verdict) Error() string { return v.err.Error() }
func (v verdict) Unwrap() error { return v.err }

// failure returns the verdict of an outcome that is a failure. The text is for people.
func failure(o Outcome, why Reason, text string, args ...any) verdict {
	return verdict{outcome: o, reason: why, err: fmt.Errorf(text, args...)}
}

// interruption returns the verdict on a request whose context is done; ok is false if it is not. Late is the reason if
// its time was over.
func interruption(ctx context.Context, doing string, late Reason) (v verdict, ok bool) {
	cause := context.Cause(ctx)
	ours, isOurs := errors.AsType[verdict](cause)
	switch {
	case cause == nil:
		return verdict{}, false
	case !isOurs:
		return failure(Canceled, "", "%w", cause), true
	case ours.outcome == Timeout:
		return failure(Timeout, late, "%v %s", cause, doing), true
	}
	return failure(ours.outcome, ours.reason, "%v %s", cause, doing), true
}

// noAnswer returns the verdict on a request that failed with err before its answer began.
func noAnswer(ctx context.Context, t *trace, err error) verdict {
	phases, during, _ := t.state()
	through, isProxied := errors.AsType[proxyError](err)
	doing := during.String()
	if isProxied && during <= connecting {
		doing = "while connecting through " + through.proxy.String()
	}
	v, ok := interruption(ctx, doing, slowStageReason(during))
	if ok {
		return v
	}
	if isProxied {
		v, ok = through.proxy.blame(during, err)
		if ok {
			return v
		}
	}
	name, isUnresolved := errors.AsType[*net.DNSError](err)
	switch {
	case isUnresolved:
		return failure(DNS, lookupReason(name), "resolve %s: %s", name.Name, name.Err)
	case during == handshaking || isTLS(err):
		return failure(TLS, handshakeReason(err), "TLS handshake: %w", err)
	case wantsHTTP1.MatchString(err.Error()):
		return failure(Rejected, ReasonWrongHTTPVersion, "%w", err)
	case refusesStream.MatchString(err.Error()):
		return failure(Overloaded, ReasonStreamRefused, "the server refuses the stream of HTTP/2: %w", err)
	case during >= writing && !isBroken(err):
		return invalidHTTP(err)
	case during < writing && !wasConnected(err):
		return failure(Connect, connectReason(err), "%w", err)
	case phases.Reused:
		return failure(Connect, ReasonConnectionFailed, "the server closed the reused connection")
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return failure(Truncated, ReasonClosedBeforeAnswer, "the connection was closed before the answer")
	}
	// A server that closes at once may do so before the request is out or after: that is one outcome.
	return failure(Truncated, ReasonClosedBeforeAnswer, "the connection broke before the answer: %w", err)
}

// wasConnected reports whether a connection failed that had been made: HTTP/2 begins to write before a request does.
func wasConnected(err error) bool {
	failed, ok := errors.AsType[*net.OpError](err)
	return ok && (failed.Op == "write" || failed.Op == "read")
}

// cutBody returns the verdict on an answer whose body could not be read to its end, because of err.
func cutBody(err error, what string) verdict {
	if !isBroken(err) {
		return invalidHTTP(err)
	}
	return failure(Truncated, ReasonStreamBrokenOff, "%s: %w", what, err)
}

// invalidHTTP returns the verdict on an answer that net/http refuses with err. One that begins as an alert of TLS is
// that of a server which expects a handshake.
func invalidHTTP(err error) verdict {
	cause := strings.TrimPrefix(err.Error(), "net/http: HTTP/1.x transport connection broken: ")
	reason := ReasonInvalidHTTP
	switch {
	case strings.Contains(cause, `"\x15\x03`):
		reason = ReasonPortSpeaksTLS
	case wrongVersionInAnswer.MatchString(cause):
		reason = ReasonWrongHTTPVersion
	}
	return failure(Malformed, reason, "the answer is not valid HTTP: %s", cause)
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
		isOfPeer := strings.Contains(text, "received from peer") || strings.Contains(text, "GOAWAY")
		return isOfPeer || !brokenRules.MatchString(text)
	}
	return strings.Contains(text, "closed") // an idle connection, or a body
}

var (
	isHTTP2     = regexp.MustCompile(`http2: |stream error: |connection error: `)
	brokenRules = regexp.MustCompile(`connection error: |(PROTOCOL|COMPRESSION|FRAME_SIZE|FLOW_CONTROL)_ERROR|` +
		`frame too large|header list`)

	// What says that a server speaks another version of HTTP, or wants it: in the handshake, in its first bytes, and in
	// its own words.
	wrongVersionInHandshake = regexp.MustCompile(`no application protocol|no h2 in its ALPN`)
	wrongVersionInAnswer    = regexp.MustCompile(`looked like an HTTP/1\.1 header|malformed HTTP response "\\x00\\x00`)
	wantsHTTP1              = regexp.MustCompile(`HTTP_1_1_REQUIRED`)

	// refusesStream matches the codes with which a server takes no more work.
	refusesStream = regexp.MustCompile(`REFUSED_STREAM|ENHANCE_YOUR_CALM`)
)

// isTLS reports whether TLS failed. After the client's part of the handshake, crypto/tls returns a "remote error".
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

// slowStageReason returns the reason of a request whose time was over in a stage.
func slowStageReason(s stage) Reason {
	switch s {
	case resolving:
		return ReasonNameLookupTimeout
	case dialing, connecting:
		return ReasonConnectTimeout
	case handshaking:
		return ReasonTLSHandshakeTimeout
	case writing:
		return ReasonRequestNotSentInTime
	}
	return ReasonNoAnswerInTime
}

func lookupReason(err *net.DNSError) Reason {
	switch {
	case err.IsNotFound:
		return ReasonHostNameNotFound
	case err.IsTimeout:
		return ReasonNameLookupTimeout
	}
	return ReasonNameLookupFailed
}

func connectReason(err error) Reason {
	timeout, ok := errors.AsType[net.Error](err)
	switch {
	case errors.Is(err, errHTTP2ThroughProxy):
		return ReasonWrongHTTPVersion
	case errors.Is(err, syscall.ECONNREFUSED):
		return ReasonConnectionRefused
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
		return ReasonHostUnreachable
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return ReasonConnectionReset
	case ok && timeout.Timeout():
		return ReasonConnectTimeout
	}
	return ReasonConnectionFailed
}

func handshakeReason(err error) Reason {
	text := err.Error()
	invalid, isInvalid := errors.AsType[x509.CertificateInvalidError](err)
	isOutOfDate := isInvalid && invalid.Reason == x509.Expired
	switch {
	case wrongVersionInHandshake.MatchString(text):
		return ReasonWrongHTTPVersion
	case isOutOfDate && strings.Contains(invalid.Detail, " is before "): // package x509 says it only in words
		return ReasonCertificateNotYetValid
	case isOutOfDate:
		return ReasonCertificateExpired
	case errors.As(err, new(x509.UnknownAuthorityError)):
		return ReasonUnknownAuthority
	case errors.As(err, new(x509.HostnameError)):
		return ReasonCertificateForAnotherName
	case errors.As(err, new(*tls.CertificateVerificationError)):
		return ReasonCertificateInvalid
	case errors.As(err, new(tls.RecordHeaderError)):
		return ReasonPortWithoutTLS
	case strings.Contains(text, "tls: certificate required"):
		return ReasonClientCertificateMissing
	}
	return ReasonTLSHandshakeFailed
}
