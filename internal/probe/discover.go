package probe

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/llm-prober/prober/internal/wire"
)

// metadataTimeout bounds each question that is no probe.
const metadataTimeout = 5 * time.Second

// maxMetadata bounds the reply to such a question, in bytes: a tokenizer's holds
// every token of the prompt.
const maxMetadata = 8 << 20

// Findings are what a server tells of itself.
type Findings struct {
	Dialect wire.Dialect
	Server  wire.Server  // the zero value if its kind is not known
	Version string       // that it says it is; empty if it does not
	Model   string       // that probes ask for
	Models  []wire.Model // that the server has; empty if it does not say
	Reached bool         // it could be connected to, whatever came of that
}

// Context is how many tokens prompt and answer may have together; 0 if the server does
// not say.
func (f Findings) Context() int {
	for _, m := range f.Models {
		if m.ID == f.Model {
			return m.MaxLen
		}
	}
	return 0
}

// An undiscovered error is why a server could not be asked what it is.
type undiscovered struct{ verdict verdict }

func (u undiscovered) Error() string { return u.verdict.err.Error() }
func (u undiscovered) Unwrap() error { return u.verdict.err }

// Undiscovered reports whether no probe was sent, because the server could not be
// asked what it is, and whether that question was sent.
func (r *Result) Undiscovered() (sent, ok bool) {
	u, ok := errors.AsType[undiscovered](r.Err)
	return u.verdict.sent, ok
}

// assumed is what a server speaks that answers, but does not tell.
var assumed, _ = wire.Lookup("openai-chat")

// Discover asks the server for its models, for its kind where t.Server does not
// tell it, and, where t.Dialect is nil, takes the dialect that this kind speaks
// best. A model that is given is taken, whatever the server lists.
func (t Target) Discover(ctx context.Context, model string) (Findings, error) {
	found := Findings{Dialect: t.Dialect, Server: t.Server, Model: model}
	evidence, err := t.evidence(ctx)
	found.Reached = !unreachable(err)
	if answered := err == nil || refusal(err); answered && found.Server.Name == "" {
		found.Server, _ = wire.Recognize(evidence)
	}
	if err != nil && found.Server.Name == "" && found.Dialect == nil {
		return found, err
	}
	if found.Dialect == nil {
		var unknown error
		if found.Dialect, unknown = wire.Lookup(cmp.Or(found.Server.Dialect, assumed.Name())); unknown != nil {
			return found, unknown
		}
		t.Dialect = found.Dialect
	}
	if err == nil || refusal(err) {
		if path := found.Server.Version; path != "" {
			found.Version = wire.ParseVersion(evidence.Get(path))
		}
		found.Models, err = t.models(ctx, found.Server, evidence, err)
	}
	switch {
	case model != "":
		return found, nil
	case err != nil:
		return found, err
	case len(found.Models) == 0:
		return found, undiscovered{failed(Rejected, "the server lists no model: name one")}
	}
	found.Model = found.Models[0].ID
	return found, nil
}

// refusal reports whether err is a server's answer that refuses a question.
func refusal(err error) bool {
	u, ok := errors.AsType[undiscovered](err)
	return ok && u.verdict.outcome == Rejected
}

// unreachable reports whether a server could not be connected to.
func unreachable(err error) bool {
	u, ok := errors.AsType[undiscovered](err)
	return ok && (u.verdict.outcome == Connect || u.verdict.outcome == DNS || u.verdict.outcome == TLS)
}

// evidence asks for the list of models, under each path where it may be: KServe
// has lists of another form under the first. The error is why there is none; a
// server that refused it has shown something of itself all the same.
func (t Target) evidence(ctx context.Context) (e wire.Evidence, err error) {
	asked := map[string][]byte{}
	get := func(path string) []byte { // a path that several marks are looked for in is asked for once
		if _, ok := asked[path]; !ok {
			asked[path] = t.get(ctx, path)
		}
		return asked[path]
	}
	for i, prefix := range wire.Prefixes() {
		reply, why := t.ask(ctx, http.MethodGet, prefix+wire.ModelsPath, nil)
		_, listed := wire.ParseModels(reply.body)
		if i > 0 && !listed {
			break
		}
		e = wire.Evidence{
			Header: reply.header, Models: reply.body, Refused: why != nil, Prefix: prefix,
			Host: hostOf(t.URL), Get: get,
		}
		err = why
		if u, ok := errors.AsType[undiscovered](why); ok && u.verdict.status == http.StatusNotFound {
			continue
		}
		if listed || why != nil {
			break
		}
	}
	return e, err
}

// hostOf is the host in a URL, without its port.
func hostOf(base string) string {
	u, err := url.Parse(base)
	if err != nil {
		return ""
	}
	return u.Hostname()
}

// models are what the list says, or what this kind of server tells elsewhere, or
// in answer to its own dialect's header.
func (t Target) models(ctx context.Context, s wire.Server, e wire.Evidence, err error) ([]wire.Model, error) {
	if s.List.Path != "" && (err != nil || s.List.Path != wire.ModelsPath) {
		reply, why := t.ask(ctx, s.List.Method, s.List.Path, nil)
		if why != nil {
			return nil, why
		}
		models, _ := s.List.Parse(reply.body)
		return models, nil
	}
	if err != nil {
		return nil, err
	}
	models, ok := wire.ParseModels(e.Models)
	if !ok {
		return nil, undiscovered{failed(Rejected, "%s is no list of models: %s", wire.ModelsPath, wire.Describe(e.Models))}
	}
	return models, nil
}

// Serves reports whether the server lists the model; it does if it lists none.
func (f Findings) Serves(model string) bool {
	return len(f.Models) == 0 || slices.ContainsFunc(f.Models, func(m wire.Model) bool { return m.ID == model })
}

// ErrTooLong is wrapped by what [Target.Tokenize] returns for a prompt that is longer
// than the server's context.
var ErrTooLong = errors.New("longer than the server's context")

// Tokenize asks the server for the tokens of a question. None means that it has
// no route for that.
func (t Target) Tokenize(ctx context.Context, ask wire.Ask) (wire.Tokenized, error) {
	tokenizer, ok := t.Dialect.Tokenizer(ask.Server)
	if !ok {
		return wire.Tokenized{}, nil
	}
	body, err := tokenizer.Body(ask)
	if err != nil {
		return wire.Tokenized{}, err
	}
	reply, err := t.question(ctx, http.MethodPost, ask.Server.Prefix+tokenizer.Path, body, ask)
	if _, long := wire.TooLong(reply.body); long && err != nil {
		return wire.Tokenized{}, fmt.Errorf("%w: %w", ErrTooLong, err)
	}
	if refusal(err) {
		return wire.Tokenized{}, nil
	}
	if err != nil {
		return wire.Tokenized{}, err
	}
	return tokenizer.Read(reply.body), nil
}

// An answerLimit is the timeout of a question that is no probe, when it is over.
type answerLimit time.Duration

func (l answerLimit) Error() string { return fmt.Sprintf("no answer within %v", time.Duration(l)) }
func (l answerLimit) Unwrap() error { return errTimeout }

// A reply is an answer to a question that is no probe.
type reply struct {
	header http.Header
	body   []byte
}

// get is the body of a path's successful reply, or nil.
func (t Target) get(ctx context.Context, path string) []byte {
	reply, err := t.ask(ctx, http.MethodGet, path, nil)
	if err != nil {
		return nil
	}
	return reply.body
}

// ask asks a question that is no probe. What refuses it is returned with the
// error.
func (t Target) ask(ctx context.Context, method, path string, body []byte) (reply, error) {
	return t.question(ctx, method, path, body, wire.Ask{})
}

// question is ask with a body made of a prompt, which no error repeats.
func (t Target) question(ctx context.Context, method, path string, body []byte, about wire.Ask) (reply, error) {
	limit := min(metadataTimeout, t.Timeout)
	ctx, cancel := context.WithTimeoutCause(ctx, limit, answerLimit(limit))
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, wire.URL(t.URL, path), bytes.NewReader(body))
	if err != nil {
		return reply{}, undiscovered{failed(Rejected, "make request: %w", err)}
	}
	t.head(req)
	req.Header.Set("User-Agent", t.Agent)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Baggage", synthetic)
	reply, v := t.Transport.exchangeMetadata(ctx, req)
	if v.outcome != OK {
		v.err = scrub(fmt.Errorf("%s: %w", req.URL.Path, v.err), t.secrets(), about)
		return reply, undiscovered{v}
	}
	return reply, nil
}

// exchangeMetadata sends a request that is no probe, and reads its reply.
func (t *Transport) exchangeMetadata(ctx context.Context, req *http.Request) (reply, verdict) {
	tr := newTrace(time.Now())
	resp, done, err := t.send(req.WithContext(withTrace(ctx, tr)))
	if err != nil {
		v := noAnswer(ctx, tr, err)
		_, during := tr.so()
		v.sent = during == waiting
		return reply{}, v
	}
	defer done()
	defer resp.Body.Close()
	if isStream(resp) || resp.StatusCode < http.StatusOK {
		return reply{}, failed(Rejected, "HTTP %d with %s is no reply", resp.StatusCode, cmp.Or(mediaType(resp), "no content type"))
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxMetadata))
	if err != nil {
		if v, ok := ended(ctx, "while reading the answer"); ok {
			v.sent = true
			return reply{}, v
		}
		return reply{}, failed(Truncated, "%w", err)
	}
	r := reply{header: resp.Header, body: body}
	if resp.StatusCode/100 != 2 {
		return r, badStatus(resp, wire.Describe(body))
	}
	return r, verdict{outcome: OK}
}

// Unreached is the result of a probe whose target could not be asked what it is:
// err is [Target.Discover]'s.
func (t Target) Unreached(start time.Time, model string, err error) *Result {
	r := &Result{
		Target: t.Name, Group: t.Group, Model: model, Prompt: t.Prompt, Key: t.key(),
		TraceID: randomHex(16), SpanID: randomHex(8),
		Timeline: Timeline{Start: start}, Elapsed: time.Since(start),
		Outcome: ServerError, Err: err, Source: FromNobody, Cache: CacheUnknown,
	}
	if t.Dialect != nil {
		r.API = t.Dialect.Name()
	}
	if u, ok := errors.AsType[undiscovered](err); ok {
		r.Outcome, r.Status, r.RetryAfter = u.verdict.outcome, u.verdict.status, u.verdict.retry
	}
	return r
}
