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
	"strings"
	"time"

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
	status  int           // HTTP status that told it; 0 if none did
	retry   time.Duration // that the server asked for; 0 if it did not
	sent    bool          // the request went out; known only of one that is no probe
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
		return failed(Timeout, "%w %s", cause, doing), true
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

// isTLS reports whether TLS failed. By TLS 1.3 a server refuses a client's
// certificate, or that there is none, after the client's part of the handshake is
// done: its alert comes in place of the answer.
func isTLS(err error) bool {
	if alert, ok := errors.AsType[*net.OpError](err); ok && alert.Op == "remote error" { // what crypto/tls calls it
		return true
	}
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
	v.status, v.retry = resp.StatusCode, retryAfter(resp)
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

// complete is the verdict on a stream that ended cleanly. Where the dialect has finish reasons,
// an answer without one is truncated.
func (x *exchange) complete() verdict {
	f := x.fold
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
	case f.finish == "" && x.target.Dialect.Finishes():
		return failed(Truncated, "stream ended after %d token frames without a finish reason", len(f.tokens))
	case f.finish != "" && ending == wire.Unfinished:
		return failed(Malformed, "finish reason %q means nothing known", f.finish)
	}
	if v := x.length(ending); v.outcome != OK {
		return v
	}
	thinking := f.answered == 0 && ending == wire.AtLimit // it never came to its answer
	if x.expect.Answer != "" && !thinking && !says(f.said, x.expect.Answer) {
		return failed(WrongAnswer, "the answer does not hold what was hidden in the prompt")
	}
	return verdict{outcome: OK}
}

// length is the verdict on how long prompt and answer are.
func (x *exchange) length(ending wire.Ending) verdict {
	prompt, output := x.fold.usage.Prompt, x.fold.generated().Generated()
	expect, maxTokens := x.expect, x.ask.MaxTokens
	if want := expect.PromptTokens; want.Known && prompt.Known && prompt.N != want.N {
		return failed(WrongLength, "prompt of %d tokens, asked %d", prompt.N, want.N)
	}
	if ending == wire.CutShort {
		return failed(WrongLength, "prompt of %d tokens, asked %d, and answer of %d, asked %d: the server's context is too short",
			prompt.N, cmp.Or(expect.Length, expect.Words), output.N, maxTokens)
	}
	if shortened(prompt, expect) {
		return failed(WrongLength, "prompt of %d tokens, asked %d: the server cut its %d words", prompt.N, cmp.Or(expect.Length, expect.Words), expect.Words)
	}
	clamped := ending == wire.AtLimit && (expect.ExactLimit || output.N < maxTokens)
	if (expect.ExactOutput || clamped) && output.Known && output.N != maxTokens {
		return failed(WrongLength, "answer of %d tokens, asked %d (finish reason %q)", output.N, maxTokens, x.fold.finish)
	}
	return verdict{outcome: OK}
}

// The counts that show that a prompt was cut, where nothing else is known of its
// length: no context is as short as the least of them, so that a smaller count is
// a server's that does not count, and no tokenizer joins more than a tenth of
// words in no order.
const (
	shortestContext = 512
	joined          = 10
)

// shortened reports whether a server counted fewer tokens than the prompt can have.
func shortened(prompt wire.Count, expect Expectation) bool {
	return !expect.PromptTokens.Known && prompt.Known &&
		prompt.N >= shortestContext && prompt.N < expect.Words-expect.Words/joined
}
