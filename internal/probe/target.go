// Package probe asks one inference server one question and times the answer. A probe never fails in the Go sense:
// whatever happens becomes a [Result]. The package knows no metrics, no logger and no configuration.
package probe

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptrace"
	"slices"
	"strings"
	"time"

	"github.com/llm-prober/prober/internal/stream"
	"github.com/llm-prober/prober/internal/wire"
)

// A Target is one endpoint and how to ask it. It is only read, and its methods are safe for concurrent use.
type Target struct {
	Name, Group string
	Prompt      string // name of the workload
	URL         string // base, see [wire.URL]
	Path        string // of probes, from the host's root on; empty: what URL and Dialect make
	Dialect     *wire.Dialect
	Server      wire.Server // type; the zero value: detected from its answers
	Key         string      // for the API, in its own header; a secret
	Version     string      // of the API, where it has several; empty for the dialect's default
	Header      http.Header // sent with every request; its values are secrets
	Session     string      // header with the session; empty: the server type's own
	Priority    *int        // of each request, in the server's own sense; nil for none
	Agent       string      // User-Agent
	Transport   *Transport
	Timeout     time.Duration // of the whole probe
	Stall       time.Duration // longest gap between token frames
	Backoff     time.Duration // longest pause that an overloaded server may ask for; 0 for none
	DayLimit    int           // tokens of a day, prompts and answers; 0 for no limit
}

// Probe asks and times. It returns within t.Timeout, and as soon as ctx is done. The caller sets Due and Round.
func (t Target) Probe(ctx context.Context, ask wire.Ask) *Result {
	return t.probe(ctx, Question{Ask: ask})
}

func (t Target) probe(ctx context.Context, q Question) *Result {
	ctx, cancel := context.WithTimeoutCause(ctx, t.Timeout, failed(Timeout, "probe limit reached"))
	defer cancel()
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	req, err := t.probeRequest(ctx, q.Ask)
	r := t.newResult(q.Ask.Model)
	r.Tokens = make([]Arrival, 0, max(0, min(q.Ask.MaxTokens, maxExpected))) // so that no token frame waits for memory
	x := &exchange{
		accumulator: &accumulator{Result: r, keeps: q.Expect.Answer != "", estimates: q.Ask.Server.Estimates},
		Question:    q, target: t, trace: &trace{},
		stall: newStallTimer(t.Stall, func() { stop(failed(Stalled, "stall limit reached")) }),
	}
	defer x.stall.end()
	x.trace.quiet, x.trace.looks = t.Transport.lookout.next()
	r.Start = time.Now()
	x.trace.start = r.Start
	if err != nil {
		return x.conclude(failed(Rejected, "%w", err))
	}
	return x.conclude(x.run(ctx, req))
}

type exchange struct {
	*accumulator // of the result
	Question
	target Target
	server wire.Server // type, as it is known by the answer's header; the zero value if it is not
	trace  *trace
	stall  *stallTimer
}

func (t Target) newResult(model string) *Result {
	r := &Result{
		Target: t.Name, Group: t.Group, Model: model, Prompt: t.Prompt, Key: t.key(),
		TraceID: fmt.Sprintf("%016x%016x", rand.Uint64(), rand.Uint64()), SpanID: fmt.Sprintf("%016x", rand.Uint64()),
	}
	if t.Dialect != nil {
		r.API = t.Dialect.Name
	}
	return r
}

func (x *exchange) run(ctx context.Context, req *http.Request) verdict {
	req.Header.Set("Traceparent", "00-"+x.TraceID+"-"+x.SpanID+"-01")
	resp, done, err := x.target.Transport.send(req.WithContext(x.trace.context(req.Context())))
	if err != nil {
		x.trace.abandon()
		return noAnswer(ctx, x.trace, err)
	}
	defer done()
	defer resp.Body.Close()
	defer func() {
		if ctx.Err() != nil { // the rest of the answer is not read
			x.trace.abandon()
		}
	}()
	conn := x.trace.gotHeader()
	x.gateway, _ = wire.Recognize(wire.Evidence{Answer: true, Header: resp.Header})
	x.server = x.Ask.Server
	if x.server.Name == "" {
		x.server = x.gateway
	}
	x.Status, x.CertExpiry = resp.StatusCode, conn.certExpiry()
	if v, ok := x.noStream(ctx, resp); ok {
		return v
	}
	arrivals, size := conn.arrivals(resp)
	if mediaType(resp) == typeNDJSON { // whatever type was asked for
		return x.read(ctx, stream.NewLines(resp.Body, arrivals, size).Next)
	}
	return x.read(ctx, stream.NewSSE(resp.Body, arrivals, size).Next)
}

func (x *exchange) conclude(v verdict) *Result {
	r := x.Result
	r.Elapsed = time.Since(r.Start)
	x.trace.rest()
	r.Server = x.Ask.Server.Name
	r.Outcome, r.Err, r.RetryAfter = v.outcome, x.target.scrub(v.err, x.Ask), v.retry
	x.settle()
	r.Phases, _, r.Refused = x.trace.state()
	r.Taint = r.taint()
	if len(r.Tokens) > 0 {
		x.target.Transport.lookout.probed(r.Tokens[0].At, r.uncertain() != nil)
	}
	r.Cache, r.again = cacheState(r.Usage, x.Expect), x.Expect.Again
	r.OtherLength = x.Expect.otherLength(r.Usage.Prompt)
	r.Warnings = warnings(r, x.Ask.MaxTokens, x.Expect.Length)
	return r
}

// noStream is the verdict on an answer that is not a stream; ok is false if it is one.
func (x *exchange) noStream(ctx context.Context, resp *http.Response) (v verdict, ok bool) {
	if resp.StatusCode < http.StatusOK { // 101: the body is the bare connection, without an end
		return failed(Malformed, "HTTP %d is no answer", resp.StatusCode), true
	}
	success := resp.StatusCode/100 == 2
	coding := resp.Header.Get("Content-Encoding")
	switch {
	case success && coding != "" && coding != "identity":
		return failed(Malformed, "answer is compressed (%s), which was not asked for", coding), true
	case success && isStream(resp):
		return verdict{}, false
	}
	const maxErrorBody = 64 << 10
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxErrorBody))
	if v, ok := ended(ctx, "while reading the answer"); ok && err != nil {
		return v, true
	}
	x.rejected = body
	if !success {
		v := badStatus(resp, body)
		if resp.StatusCode == http.StatusNotFound || resp.StatusCode == http.StatusMethodNotAllowed {
			v.err = fmt.Errorf("%w (%s %s)", v.err, resp.Request.Method, resp.Request.URL.Path)
		}
		v.err = because(v.err, reasonIn(body))
		return v, true
	}
	detail := fmt.Sprintf("%d bytes", len(body)) // which may be the answer, and is not shown
	if e := wire.ParseError(body); e != nil {
		detail = e.Error()
	} else if mediaType(resp) == "text/html" {
		detail = wire.Describe(body)
	}
	return failed(NotStreamed, "HTTP %d with %s instead of a stream: %s",
		resp.StatusCode, cmp.Or(mediaType(resp), "no content type"), detail), true
}

const (
	typeSSE    = "text/event-stream"
	typeNDJSON = "application/x-ndjson"
)

func isStream(resp *http.Response) bool {
	return mediaType(resp) == typeSSE || mediaType(resp) == typeNDJSON
}

// mediaType is the type of the answer's body, without parameters; the first if a proxy made several.
func mediaType(resp *http.Response) string {
	first, _, _ := strings.Cut(resp.Header.Get("Content-Type"), ",")
	name, _, _ := strings.Cut(first, ";")
	return strings.ToLower(strings.TrimSpace(name))
}

// read reads the stream to its end. It closes the connection to a server that would generate without end.
func (x *exchange) read(ctx context.Context, next func() (stream.Frame, error)) verdict {
	const overrun = 3 // tokens beyond those asked: llama-server completes a character of several tokens
	for {
		frame, err := next()
		if errors.Is(err, io.EOF) {
			return x.complete()
		}
		var delta wire.Delta
		if err == nil {
			delta, err = x.decode(frame)
		}
		switch {
		case err != nil:
			return x.broken(ctx, err)
		case len(x.Tokens) == maxTokenFrames:
			return failed(Malformed, "more than %d token frames", maxTokenFrames)
		}
		if !x.add(frame.Stamp, delta) {
			continue
		}
		x.stall.restart()
		if len(x.Tokens) == 1 {
			x.trace.gotToken()
		}
		limit := x.Ask.MaxTokens
		if n := max(len(x.Tokens), x.told, x.counted); limit > 0 && n > limit+overrun && x.Finish == "" { // each token frame has at least one
			x.trace.abandon()
			return failed(WrongLength, "%d tokens and no end, asked %d: %w, and the probe was canceled", n, limit, x.whyLonger())
		}
	}
}

// whyLonger is why an answer goes on after the tokens that were asked for.
func (x *exchange) whyLonger() error {
	piece, asked := x.server.Piece, x.Ask.MaxTokens
	if piece > 0 && asked > piece && asked%piece > 0 {
		return fmt.Errorf("%w of %d tokens", ErrPieces, piece)
	}
	return ErrUnlimited
}

// decode interprets a frame. An event called error is one, whatever its data: Dynamo puts the text into a comment.
func (x *exchange) decode(frame stream.Frame) (wire.Delta, error) {
	delta, err := x.target.Dialect.Decode(frame.Data)
	if frame.Event == "error" && (err != nil || delta.Err == nil) {
		return wire.Delta{Err: &wire.ServerError{Type: "error", Message: wire.Describe(frame.Data)}}, nil
	}
	if x.server.TokenFrames && delta.Choice && delta.Tokens == 0 && delta.Err == nil {
		delta.Tokens, delta.Role = 1, false
	}
	return delta, err
}

// probeRequest is the probe's POST. Without GetBody net/http cannot send it twice. The body is freed once it is written.
func (t Target) probeRequest(ctx context.Context, ask wire.Ask) (*http.Request, error) {
	body, err := t.Dialect.Body(ask)
	if err != nil {
		return nil, fmt.Errorf("encode request: %w", err)
	}
	url := wire.URL(t.URL, t.Dialect.Path(ask))
	if t.Path != "" {
		url = wire.At(t.URL, t.Path, t.Dialect.Path(ask))
	}
	content := bytes.NewReader(body)
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{WroteRequest: func(i httptrace.WroteRequestInfo) {
		if i.Err == nil {
			content.Reset(nil)
		}
	}})
	req, err := t.request(ctx, http.MethodPost, url, content)
	if err != nil {
		return nil, err
	}
	req.GetBody = nil
	if name := cmp.Or(t.Session, ask.Server.Session); name != "" && ask.Session != "" {
		req.Header.Set(name, ask.Session)
	}
	req.Header.Set("Accept", typeSSE)
	req.Header.Set("Accept-Encoding", "identity")
	return req, nil
}

// request is any request to the target. The dialect's headers hold the key; the user's win, a Host among them too.
func (t Target) request(ctx context.Context, method, url string, body *bytes.Reader) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, method, url, body)
	if err != nil {
		return nil, fmt.Errorf("make request: %w", err)
	}
	for name, value := range cmp.Or(t.Dialect, assumed).Header(t.Key, t.Version) {
		req.Header.Set(name, value)
	}
	for name, values := range t.Header {
		req.Header[name] = slices.Clone(values)
	}
	req.Host = cmp.Or(req.Header.Get("Host"), req.Host)
	req.Header.Set("User-Agent", t.Agent)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Baggage", "user_agent.synthetic.type=test") // OpenTelemetry's mark of synthetic traffic
	return req, nil
}

func (t Target) key() Key {
	switch {
	case t.Header.Get("Authorization")+t.Header.Get("Api-Key")+t.Header.Get("X-Api-Key") != "":
		return KeyInHeader
	case t.Key == "":
		return KeyNone
	case strings.HasPrefix(strings.ToLower(t.Key), "bearer "):
		return KeyPrefixed
	}
	return KeyGiven
}
