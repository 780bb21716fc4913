package probe

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/llm-prober/prober/internal/stream"
	"github.com/llm-prober/prober/internal/wire"
)

// A Target is one endpoint and how to ask it. It is only read, and its methods
// are safe for concurrent use.
type Target struct {
	Name, Group string
	Prompt      string // name of the workload
	URL         string // base, see [wire.URL]
	Path        string // of probes, from the host's root on; empty: what URL and Dialect make
	Dialect     wire.Dialect
	Server      wire.Server // kind; the zero value: found out where the server is asked what it is
	Key         string      // for the API, in its own header; a secret
	Version     string      // of the API, where it has several; empty for the dialect's default
	Header      http.Header // sent with every request; its values are secrets
	Session     string      // header for who asks; empty: the one that the kind of server is known for
	Priority    *int        // of each request, in the server's own sense; nil for none
	Agent       string      // User-Agent
	Transport   *Transport
	Timeout     time.Duration // of the whole probe
	Stall       time.Duration // longest silence between token frames
	Backoff     time.Duration // longest pause that a server that turns probes away may ask for; 0 for none
}

// maxTokenFrames bounds the arrivals that one probe keeps.
const maxTokenFrames = 1 << 20

var errTooMany = fmt.Errorf("more than %d token frames", maxTokenFrames)

// maxErrorBody bounds what is read of an answer that is no stream, in bytes.
const maxErrorBody = 64 << 10

// Probe asks and times. It returns within t.Timeout of being called, and as soon
// as ctx is done. Due and Round of the result are the caller's to fill in.
func (t Target) Probe(ctx context.Context, ask wire.Ask) *Result {
	return t.probe(ctx, Question{Ask: ask})
}

// probe is [Target.Probe] that judges prompt and answer.
func (t Target) probe(ctx context.Context, q Question) *Result {
	ctx, cancel := context.WithTimeoutCause(ctx, t.Timeout, errTimeout)
	defer cancel()
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	x := t.newExchange(q)
	x.silence = watch(ctx, t.Stall, stop)
	defer x.silence.end()
	return x.conclude(x.run(ctx))
}

// An exchange is one request and its answer.
type exchange struct {
	target Target
	ask    wire.Ask
	expect Expectation
	trace  *trace
	fold   *fold
	result *Result
	header http.Header // of the answer

	silence *silence // ends the probe when it stalls
}

func (t Target) newExchange(q Question) *exchange {
	return &exchange{
		target: t, ask: q.Ask, expect: q.Expect,
		result: &Result{
			Target: t.Name, Group: t.Group, Model: q.Ask.Model, API: t.Dialect.Name(), Prompt: t.Prompt, Key: t.key(),
			TraceID: randomHex(16), SpanID: randomHex(8),
		},
	}
}

// run asks, reads the answer, and judges it.
func (x *exchange) run(ctx context.Context) verdict {
	req, err := x.target.request(ctx, x.ask)
	if err != nil {
		x.begin()
		return failed(Rejected, "%w", err)
	}
	req.Header.Set("Traceparent", "00-"+x.result.TraceID+"-"+x.result.SpanID+"-01")

	x.begin()
	resp, done, err := x.target.Transport.send(req.WithContext(withTrace(ctx, x.trace)))
	if err != nil {
		x.trace.abandon()
		return noAnswer(ctx, x.trace, err)
	}
	defer done()
	defer resp.Body.Close()
	defer func() {
		if ctx.Err() != nil { // the rest of the answer is nobody's
			x.trace.abandon()
		}
	}()
	x.trace.answered()
	x.note(resp)
	if v, ok := x.refused(ctx, resp); ok {
		return v
	}
	return x.read(ctx, resp)
}

// conclude completes the result with its verdict.
func (x *exchange) conclude(v verdict) *Result {
	r := x.result
	r.Elapsed = time.Since(r.Timeline.Start)
	x.fold.into(r)
	r.Timeline.Phases, _ = x.trace.so()
	r.Stamp, r.Taint, r.Refused = r.Timeline.stamping(), r.Timeline.taint(), x.trace.refused()
	r.gateway, _ = wire.RecognizeAnswer(x.header)
	r.Outcome, r.Err = v.outcome, scrub(v.err, x.target.secrets(), x.ask)
	r.RetryAfter, r.Cache = v.retry, cacheState(r.Usage, x.expect)
	if v.outcome != OK {
		r.Timeline.Open = x.fold.open(r.Elapsed)
	}
	r.Warnings = warnings(r, x.ask.MaxTokens, x.expect.Length)
	return r
}

// begin starts the clock.
func (x *exchange) begin() {
	start := time.Now()
	x.result.Timeline.Start = start
	x.trace, x.fold = newTrace(start), newFold(start, x.ask.MaxTokens, x.expect.Answer != "")
}

// note keeps what the response header says.
func (x *exchange) note(resp *http.Response) {
	x.header = resp.Header
	x.result.Status = resp.StatusCode
	x.result.CertExpiry = x.trace.conn.certExpiry()
}

// refused is the verdict on an answer that is no stream; ok is false if it is
// one.
func (x *exchange) refused(ctx context.Context, resp *http.Response) (v verdict, ok bool) {
	if resp.StatusCode < http.StatusOK { // 101: the body is the bare connection, which nobody ends
		return failed(Malformed, "HTTP %d is no answer", resp.StatusCode), true
	}
	success := resp.StatusCode/100 == 2
	coding := resp.Header.Get("Content-Encoding")
	switch {
	case success && coding != "" && coding != "identity":
		return failed(Malformed, "answer is compressed (%s) although none may be", coding), true
	case success && isStream(resp):
		return verdict{}, false
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxErrorBody))
	if v, ok := ended(ctx, "while reading the answer"); ok && err != nil {
		return v, true
	}
	x.result.rejected = body
	if !success {
		v := badStatus(resp, wire.Describe(body))
		if resp.StatusCode == http.StatusNotFound || resp.StatusCode == http.StatusMethodNotAllowed {
			v.err = fmt.Errorf("%w (%s %s)", v.err, resp.Request.Method, resp.Request.URL.Path)
		}
		return v, true
	}
	return failed(NotStreamed, "HTTP %d with %s instead of a stream: %s",
		resp.StatusCode, cmp.Or(mediaType(resp), "no content type"), unstreamed(resp, body)), true
}

// unstreamed is what to say of a success that is no stream: its error, or a page's
// text. Anything else may be the answer, which nobody is to read.
func unstreamed(resp *http.Response, body []byte) string {
	if e := wire.ParseError(body); e != nil {
		return e.Error()
	}
	if mediaType(resp) == "text/html" {
		return wire.Describe(body)
	}
	return fmt.Sprintf("%d bytes", len(body))
}

// mediaType is the type of the answer's body, without parameters. Of several,
// which proxies make, it is the first.
func mediaType(resp *http.Response) string {
	kind := resp.Header.Get("Content-Type")
	if at := strings.IndexAny(kind, ";,"); at >= 0 {
		kind = kind[:at]
	}
	return strings.ToLower(strings.TrimSpace(kind))
}

// The types of streams.
const (
	typeSSE    = "text/event-stream"
	typeNDJSON = "application/x-ndjson"
)

func isStream(resp *http.Response) bool {
	kind := mediaType(resp)
	return kind == typeSSE || kind == typeNDJSON
}

// nextFrame returns what cuts the answer into frames. The answer's type decides
// how, not what was asked for.
func (x *exchange) nextFrame(resp *http.Response) func() (stream.Frame, error) {
	arrivals, ask := x.trace.conn.stamps(resp)
	if mediaType(resp) == typeNDJSON {
		return stream.NewLines(resp.Body, arrivals, ask).Next
	}
	return stream.NewSSE(resp.Body, arrivals, ask).Next
}

// read reads the stream to its end.
func (x *exchange) read(ctx context.Context, resp *http.Response) verdict {
	next := x.nextFrame(resp)
	for {
		frame, err := next()
		if errors.Is(err, io.EOF) {
			return x.complete()
		}
		if err != nil {
			return broken(ctx, x.fold, err)
		}
		delta, err := x.decode(frame)
		if err == nil && len(x.fold.tokens) == maxTokenFrames {
			err = errTooMany
		}
		if err != nil {
			return broken(ctx, x.fold, err)
		}
		if x.fold.add(frame.Stamp, delta) {
			x.silence.heard(frame.At)
			if x.fold.endless(x.ask) {
				return x.hangUp()
			}
		}
	}
}

// hangUp is the verdict on a server that ignores the limit of an answer's length. It
// breaks the answer off: a server that generates without end would answer nobody else.
func (x *exchange) hangUp() verdict {
	x.trace.abandon()
	return failed(WrongLength, "%d tokens and no end, asked %d: %w, and the probe was canceled",
		x.fold.atLeast(), x.ask.MaxTokens, ErrUnlimited)
}

// decode interprets a frame. One that is called an error is one, whatever it
// says: Dynamo puts the text into a comment.
func (x *exchange) decode(frame stream.Frame) (wire.Delta, error) {
	delta, err := x.target.Dialect.Decode(frame.Data)
	if frame.Event == "error" && (err != nil || delta.Err == nil) {
		return wire.Delta{Err: wire.NamedError(frame.Data)}, nil
	}
	return delta, err
}

// request is the probe's POST. GetBody is nil, so that net/http cannot send it
// twice.
func (t Target) request(ctx context.Context, ask wire.Ask) (*http.Request, error) {
	body, err := t.Dialect.Body(ask)
	if err != nil {
		return nil, fmt.Errorf("encode request: %w", err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, t.endpoint(ask), bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("make request: %w", err)
	}
	req.GetBody = nil
	t.head(req)
	if name := cmp.Or(t.Session, ask.Server.Session); name != "" && ask.Session != "" {
		req.Header.Set(name, ask.Session)
	}
	req.Header.Set("User-Agent", t.Agent)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", typeSSE)
	req.Header.Set("Accept-Encoding", "identity")
	req.Header.Set("Baggage", synthetic)
	return req, nil
}

// endpoint is the URL that a probe is sent to.
func (t Target) endpoint(ask wire.Ask) string {
	path := t.Dialect.Path(ask)
	if t.Path != "" {
		return wire.At(t.URL, t.Path, path)
	}
	return wire.URL(t.URL, path)
}

// secrets are the values that must not be shown.
func (t Target) secrets() http.Header {
	h := http.Header{"": {t.Key}}
	maps.Copy(h, t.Header)
	return h
}

// key is what requests carry to show who asks.
func (t Target) key() Key {
	const prefix = "Bearer "
	switch {
	case t.Header.Get("Authorization")+t.Header.Get("Api-Key")+t.Header.Get("X-Api-Key") != "":
		return KeyInHeader
	case t.Key == "":
		return KeyNone
	case len(t.Key) > len(prefix) && strings.EqualFold(t.Key[:len(prefix)], prefix):
		return KeyPrefixed
	}
	return KeyGiven
}

// synthetic marks a request as no user's, in the words of the OpenTelemetry
// conventions, for whoever traces or counts it behind us.
const synthetic = "user_agent.synthetic.type=test"

// head gives a request the target's header. A Host in it is the request's own:
// net/http sends no other.
func (t Target) head(req *http.Request) {
	req.Header = t.header()
	req.Host = cmp.Or(req.Header.Get("Host"), req.Host)
}

// header is what every request to the target has: the dialect's own, with the
// key, and what the user added, which wins.
func (t Target) header() http.Header {
	h := http.Header{}
	dialect := t.Dialect
	if dialect == nil {
		dialect = assumed
	}
	for name, value := range dialect.Header(t.Key, t.Version) {
		h.Set(name, value)
	}
	for name, values := range t.Header {
		h[name] = slices.Clone(values)
	}
	return h
}

func earliestExpiry(chain []*x509.Certificate) time.Time {
	var earliest time.Time
	for _, certificate := range chain {
		if earliest.IsZero() || certificate.NotAfter.Before(earliest) {
			earliest = certificate.NotAfter
		}
	}
	return earliest
}

func randomHex(n int) string {
	b := make([]byte, n)
	_, _ = rand.Read(b) // never fails: see its documentation
	return hex.EncodeToString(b)
}
