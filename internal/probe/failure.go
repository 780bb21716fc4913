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
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/llm-prober/prober/internal/stream"
	"github.com/llm-prober/prober/internal/wire"
)

// A verdict is how a probe or a metadata request ended; err is nil if and only if that is [OK]. It is itself the error of a
// metadata request, and the cause of a context that we end.
type verdict struct {
	outcome Outcome
	err     error
	status  int           // HTTP status, if that was not a success; else 0
	retry   time.Duration // pause that the server asked for; 0 if it did not
	sent    bool          // the request went out, to a server that did not answer in time
}

func (v verdict) Error() string { return v.err.Error() }
func (v verdict) Unwrap() error { return v.err }

func failed(o Outcome, format string, args ...any) verdict {
	return verdict{outcome: o, err: fmt.Errorf(format, args...)}
}

// ended is the verdict on a probe whose context is done; ok is false if it is not.
func ended(ctx context.Context, doing string) (v verdict, ok bool) {
	cause := context.Cause(ctx)
	if ours, ok := errors.AsType[verdict](cause); ok {
		return failed(ours.outcome, "%v %s", cause, doing), true
	}
	return failed(Canceled, "%w", cause), cause != nil
}

func noAnswer(ctx context.Context, t *trace, err error) verdict {
	phases, during, _ := t.state()
	if v, ok := ended(ctx, during.String()); ok {
		v.sent = during == waiting
		return v
	}
	name, unresolved := errors.AsType[*net.DNSError](err)
	switch {
	case unresolved:
		return failed(DNS, "resolve %s: %s", name.Name, name.Err)
	case during == handshaking || isTLS(err):
		return failed(TLS, "TLS handshake: %w", err)
	case during <= writing:
		return failed(Connect, "%w", err)
	case errors.Is(err, io.EOF) && phases.Reused:
		return failed(Connect, "the server closed the reused connection")
	case errors.Is(err, io.EOF):
		return failed(Empty, "connection closed without an answer")
	case strings.Contains(err.Error(), "malformed HTTP"):
		return failed(Malformed, "answer is not HTTP: %w", err)
	}
	return failed(Truncated, "connection broke before the answer: %w", err)
}

// isTLS reports whether TLS failed, also after the client's part of the handshake: crypto/tls returns a "remote error" then.
func isTLS(err error) bool {
	remote, ok := errors.AsType[*net.OpError](err)
	return ok && remote.Op == "remote error" || errors.As(err, new(*tls.CertificateVerificationError)) ||
		errors.As(err, new(tls.RecordHeaderError)) || errors.As(err, new(tls.AlertError)) || errors.As(err, new(x509.UnknownAuthorityError))
}

// badStatus is the verdict on a response whose status is not a success, and on what its body tells.
func badStatus(resp *http.Response, body []byte) verdict {
	detail := wire.Describe(body)
	if to := resp.Header.Get("Location"); resp.StatusCode/100 == 3 && to != "" {
		to, _, _ = strings.Cut(to, "?") // the query may hold a secret
		detail = fmt.Sprintf("redirected to %s; probes do not follow redirects", to)
	}
	if detail != "" {
		detail = ": " + detail
	}
	v := failed(outcomeOf(resp.StatusCode, body), "HTTP %d%s", resp.StatusCode, detail)
	v.status = resp.StatusCode
	if v.outcome == RateLimited || v.outcome == Overloaded {
		v.retry = retryAfter(resp.Header)
	}
	return v
}

// retryAfter is the pause that a server asks for; 0 if it does not: seconds, a date (RFC 9110, section 10.2.3) or milliseconds.
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
	if at, err := http.ParseTime(header.Get("Retry-After")); err == nil {
		return max(0, time.Until(at))
	}
	return 0
}

// outcomeOf is what an answer without success means: by its status, except where its words say that this is misleading.
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

func (x *exchange) broken(ctx context.Context, err error) verdict {
	doing := fmt.Sprintf("after %d token frames", len(x.Tokens))
	if v, ok := ended(ctx, doing); ok {
		return v
	}
	switch {
	case errors.Is(err, wire.ErrMalformed), errors.Is(err, stream.ErrTooLong):
		return failed(Malformed, "%w", err)
	case x.err != nil:
		return x.inStream()
	}
	return failed(Truncated, "stream cut %s: %w", doing, err)
}

// inStream is the verdict on an answer with an error in it. Once a token came, the request was not at fault.
func (x *exchange) inStream() verdict {
	switch {
	case x.err.Overloaded():
		return verdict{outcome: Overloaded, err: x.err}
	case x.err.Invalid() && len(x.Tokens) == 0:
		x.rejected = []byte(x.err.Message)
		return verdict{outcome: Rejected, err: because(x.err, reasonIn(x.rejected))}
	}
	return verdict{outcome: ServerError, err: x.err}
}

func (x *exchange) complete() verdict {
	if x.err != nil {
		return x.inStream()
	}
	ending := wire.EndingOf(x.Finish)
	switch {
	case ending == wire.Filtered || x.refusal:
		return failed(Filtered, "answer filtered or refused (finish reason %q)", x.Finish)
	case ending == wire.Failed:
		return failed(ServerError, "server gave up (finish reason %q)", x.Finish)
	case x.frames == 0:
		return failed(Empty, "%w", ErrNothing)
	case len(x.Tokens) == 0:
		return failed(Empty, "stream ended without a token")
	case x.Finish == "" && !x.target.Dialect.Endless:
		return failed(Truncated, "stream ended after %d token frames %w", len(x.Tokens), ErrNoFinish)
	case x.Finish != "" && ending == wire.Unfinished:
		return failed(Malformed, "unknown finish reason %q", x.Finish)
	}
	if v := x.length(ending); v.outcome != OK {
		return v
	}
	thinking := x.Answer == 0 && ending == wire.AtLimit // the limit cut the reasoning
	if x.Expect.Answer != "" && !thinking && !contains(x.text, x.Expect.Answer) {
		return failed(WrongAnswer, "the answer does not contain the words hidden in the prompt")
	}
	return verdict{outcome: OK}
}

// contains reports whether an answer has the expected words in their order, whatever their case, with at most three
// others between two of them: it may list them, with numbers or an "and".
func contains(answer []byte, expected string) bool {
	words := func(text, between string) string { // letters and digits only, which a pattern need not quote
		return " " + strings.Join(strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
			return !unicode.IsLetter(r) && !unicode.IsDigit(r)
		}), between) + " "
	}
	return regexp.MustCompile(words(expected, `( \S+){0,3} `)).MatchString(words(string(answer), " "))
}

// length is the verdict on how long prompt and answer are. A prompt of unknown length was cut if it has fewer tokens than nine
// tenths of its words: no tokenizer joins more of words in random order.
func (x *exchange) length(ending wire.Ending) verdict {
	prompt, output := x.Usage.Prompt, x.total().Generated()
	expect, maxTokens := x.Expect, x.Ask.MaxTokens
	if ending == wire.CutShort {
		return failed(WrongLength, "prompt of %d tokens, asked %d, and answer of %d, asked %d: the server's context is too short",
			prompt.N, cmp.Or(expect.Length, expect.Words), output.N, maxTokens)
	}
	if expect.cut(prompt) {
		asked := cmp.Or(expect.Length, expect.PromptTokens.N, expect.Words)
		return failed(WrongLength, "prompt of %d tokens, asked %d: the server cut its %d words",
			prompt.N, asked, expect.Words)
	}
	clamped := ending == wire.AtLimit && (expect.ExactLimit || output.N < maxTokens)
	if (expect.ExactOutput || clamped) && output.Known && output.N != maxTokens {
		return failed(WrongLength, "answer of %d tokens, asked %d (finish reason %q)", output.N, maxTokens, x.Finish)
	}
	return verdict{outcome: OK}
}

// scrub removes from an error what must not be shown: credentials (see [Target.secrets]) and the prompt.
func (t Target) scrub(err error, ask wire.Ask) error {
	if err == nil {
		return nil
	}
	clean := err.Error()
	for _, secret := range t.secrets() {
		clean = hide(clean, secret)
	}
	if at, ok := repeat(clean, ask); ok {
		clean = clean[:at] + "… (the rest repeats the prompt)"
	}
	if clean == err.Error() {
		return err
	}
	return reworded(err, clean)
}

// repeat returns where a text begins to repeat a question: every repeat of at least 47 bytes is found, shorter ones may
// be. The question may have megabytes, so only each 16th of its windows is looked for: any 32 + 15 bytes of it have a
// whole one in them.
func repeat(text string, ask wire.Ask) (begin int, ok bool) {
	const window, step = 32, 16 // bytes
	places := map[string]int{}  // of each window in text, the first
	for at := len(text) - window; at >= 0; at-- {
		places[text[at:at+window]] = at
	}
	if len(places) == 0 {
		return 0, false
	}
	begin = len(text)
	search := func(asked string) {
		for from := 0; from+window <= len(asked); from += step {
			at, found := places[asked[from:from+window]]
			if !found {
				continue
			}
			for from := from; at > 0 && from > 0 && text[at-1] == asked[from-1]; from-- {
				at--
			}
			begin = min(begin, at)
		}
	}
	search(ask.Prompt)
	for _, turn := range ask.Turns {
		search(turn.Text)
	}
	return begin, begin < len(text)
}

// hide replaces a secret in a text, and its start where the text was cut within.
func hide(text, secret string) string {
	text = strings.ReplaceAll(text, secret, "***")
	for n := min(len(secret)-1, len(text)); n >= shortestSecret; n-- {
		text = strings.ReplaceAll(text, secret[:n]+wire.Cut, "***"+wire.Cut)
	}
	return text
}
