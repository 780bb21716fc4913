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
	"strings"

	"github.com/llm-prober/prober/internal/stream"
	"github.com/llm-prober/prober/internal/wire"
)

// Why a probe was ended by us: the cause of its context.
var (
	errTimeout = errors.New("probe limit reached")
	errStalled = errors.New("stall limit reached")
)

// A verdict is how a probe ended. Its error is nil if and only if its outcome
// is [OK].
type verdict struct {
	outcome Outcome
	err     error
	status  int // HTTP status that told it; 0 if none did
}

func failed(o Outcome, format string, args ...any) verdict {
	return verdict{outcome: o, err: fmt.Errorf(format, args...)}
}

// ended is the verdict on a probe whose context is done: ok is false if it is
// not.
func ended(ctx context.Context, doing string) (v verdict, ok bool) {
	switch cause := context.Cause(ctx); {
	case cause == nil:
		return verdict{}, false
	case errors.Is(cause, errStalled):
		return failed(Stalled, "%w %s", errStalled, doing), true
	case errors.Is(cause, errTimeout):
		return failed(Timeout, "%w %s", errTimeout, doing), true
	default:
		return failed(Canceled, "%w", cause), true
	}
}

// noAnswer is the verdict on a request that got no response header.
func noAnswer(ctx context.Context, t *trace, err error) verdict {
	phases, during := t.so()
	if v, ok := ended(ctx, during.while()); ok {
		return v
	}
	var name *net.DNSError
	switch {
	case errors.As(err, &name):
		return failed(DNS, "resolve %s: %s", name.Name, name.Err)
	case during == handshaking || isTLS(err):
		return failed(TLS, "TLS handshake: %w", err)
	case during <= writing:
		return failed(Connect, "%w", err)
	case errors.Is(err, io.EOF) && phases.Reused:
		return failed(Connect, "the server closed the connection that was kept")
	case errors.Is(err, io.EOF):
		return failed(Empty, "connection closed without an answer")
	case strings.Contains(err.Error(), "malformed HTTP"):
		return failed(Malformed, "answer is no HTTP: %w", err)
	}
	return failed(Truncated, "connection broke before the answer: %w", err)
}

// while says what a request was doing.
func (s stage) while() string {
	switch s {
	case resolving:
		return "while resolving the name"
	case connecting, dialing:
		return "while connecting"
	case handshaking:
		return "during the TLS handshake"
	case writing:
		return "while sending the request"
	}
	return "while waiting for the response header"
}

func isTLS(err error) bool {
	var certificate *tls.CertificateVerificationError
	var record tls.RecordHeaderError
	var alert tls.AlertError
	var unknown x509.UnknownAuthorityError
	return errors.As(err, &certificate) || errors.As(err, &record) || errors.As(err, &alert) || errors.As(err, &unknown)
}

// badStatus is the verdict on a response whose status is no success. detail is
// what its body says.
func badStatus(resp *http.Response, detail string) verdict {
	if to := resp.Header.Get("Location"); resp.StatusCode/100 == 3 && to != "" {
		detail = fmt.Sprintf("redirected to %s; probes follow no redirect", withoutQuery(to))
	}
	if detail != "" {
		detail = ": " + detail
	}
	v := failed(outcomeOf(resp.StatusCode), "HTTP %d%s", resp.StatusCode, detail)
	v.status = resp.StatusCode
	return v
}

func withoutQuery(url string) string {
	url, _, _ = strings.Cut(url, "?")
	return url
}

// outcomeOf is the outcome that a status alone tells.
func outcomeOf(status int) Outcome {
	switch {
	case status == http.StatusTooManyRequests:
		return RateLimited
	case status == http.StatusServiceUnavailable, status == 529: // 529: Anthropic, overloaded
		return Overloaded
	case status == http.StatusRequestTimeout, status == http.StatusFailedDependency: // Ray Serve; TGI
		return ServerError
	case status >= 500, status == 499:
		return ServerError
	}
	return Rejected
}

// broken is the verdict on a stream that could not be read on.
func broken(ctx context.Context, f *fold, err error) verdict {
	doing := fmt.Sprintf("after %d token frames", len(f.tokens))
	if v, ok := ended(ctx, doing); ok {
		return v
	}
	switch {
	case errors.Is(err, wire.ErrMalformed), errors.Is(err, stream.ErrTooLong), errors.Is(err, errTooMany):
		return failed(Malformed, "%w", err)
	case f.err != nil:
		return inStream(f.err)
	}
	return failed(Truncated, "stream cut %s: %w", doing, err)
}

// inStream is the verdict on an error that the server sent in its stream.
func inStream(e *wire.ServerError) verdict {
	if e.Overloaded() {
		return verdict{outcome: Overloaded, err: e}
	}
	return verdict{outcome: ServerError, err: e}
}

// complete is the verdict on a stream that ended cleanly.
func complete(f *fold, ask wire.Ask) verdict {
	if f.err != nil {
		return inStream(f.err)
	}
	ending := wire.EndingOf(f.finish)
	switch {
	case ending == wire.Filtered || f.refusal:
		return failed(Filtered, "answer filtered or refused (finish reason %q)", f.finish)
	case ending == wire.Failed:
		return failed(ServerError, "server gave up (finish reason %q)", f.finish)
	case len(f.tokens) == 0:
		return failed(Empty, "stream ended without a token")
	case f.finish == "":
		return failed(Truncated, "stream ended after %d token frames without a finish reason", len(f.tokens))
	case ending == wire.Unfinished:
		return failed(Malformed, "finish reason %q means nothing known", f.finish)
	}
	return length(f, ask, ending)
}

// length is the verdict on how long prompt and answer are.
func length(f *fold, ask wire.Ask, ending wire.Ending) verdict {
	prompt, output := f.usage.Prompt, f.usage.Generated()
	if want := ask.PromptTokens; want.Known && prompt.Known && prompt.N != want.N {
		return failed(WrongLength, "prompt of %d tokens, asked %d", prompt.N, want.N)
	}
	held := ask.ExactOutput || ask.ExactLimit && ending == wire.AtLimit
	if held && output.Known && output.N != ask.MaxTokens {
		return failed(WrongLength, "answer of %d tokens, asked %d (finish reason %q)", output.N, ask.MaxTokens, f.finish)
	}
	return verdict{outcome: OK}
}
