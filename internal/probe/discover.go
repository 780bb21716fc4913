package probe

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
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
	Model   string       // that probes ask for
	Models  []wire.Model // that the server has; empty if it does not say
}

// An undiscovered error is why a server could not be asked what it is.
type undiscovered struct{ verdict verdict }

func (u undiscovered) Error() string { return u.verdict.err.Error() }
func (u undiscovered) Unwrap() error { return u.verdict.err }

// Discover asks the server for its models and, where t.Dialect is nil, for the
// dialect it speaks. A model that is given is taken, whatever the server lists.
func (t Target) Discover(ctx context.Context, model string) (Findings, error) {
	found := Findings{Dialect: t.Dialect, Model: model}
	models, err := t.models(ctx)
	if t.Dialect == nil {
		found.Dialect, models, err = t.dialect(ctx, models, err)
	}
	found.Models = models
	if err != nil && (found.Dialect == nil || model == "") {
		return found, err
	}
	if model == "" && len(models) == 0 {
		return found, undiscovered{failed(Rejected, "the server lists no model: name one")}
	}
	if model == "" {
		found.Model = models[0].ID
	}
	return found, nil
}

// dialect tells the dialect, given what the model list said. TGI has a model
// list as well, so /info decides.
func (t Target) dialect(ctx context.Context, models []wire.Model, err error) (wire.Dialect, []wire.Model, error) {
	if u, ok := errors.AsType[undiscovered](err); ok && u.verdict.outcome != Rejected {
		return nil, nil, err
	}
	reply, infoErr := t.ask(ctx, http.MethodGet, wire.InfoPath, nil)
	if infoErr == nil {
		if model, ok := wire.ParseInfo(reply); ok {
			d, err := wire.Lookup("tgi")
			return d, []wire.Model{model}, err
		}
	}
	if err != nil {
		return nil, nil, err
	}
	d, err := wire.Lookup("openai-chat")
	return d, models, err
}

// models asks for the model list.
func (t Target) models(ctx context.Context) ([]wire.Model, error) {
	reply, err := t.ask(ctx, http.MethodGet, wire.ModelsPath, nil)
	if err != nil {
		return nil, err
	}
	models, ok := wire.ParseModels(reply)
	if !ok {
		return nil, undiscovered{failed(Rejected, "%s is no list of models: %s", wire.ModelsPath, wire.Describe(reply))}
	}
	return models, nil
}

// Serves reports whether the server lists the model; it does if it lists none.
func (f Findings) Serves(model string) bool {
	return len(f.Models) == 0 || slices.ContainsFunc(f.Models, func(m wire.Model) bool { return m.ID == model })
}

// Count asks the server how many tokens the prompt has. ok is false if it has no
// route for that.
func (t Target) Count(ctx context.Context, ask wire.Ask) (n int, ok bool, err error) {
	path, body, err := t.Dialect.Count(ask)
	if err != nil {
		return 0, false, err
	}
	reply, err := t.ask(ctx, http.MethodPost, path, body)
	if err != nil {
		if u, ok := errors.AsType[undiscovered](err); ok && u.verdict.outcome == Rejected {
			return 0, false, nil
		}
		return 0, false, err
	}
	n, ok = t.Dialect.Counted(reply)
	return n, ok, nil
}

// ask asks a question that is no probe, and returns the body of a successful
// reply.
func (t Target) ask(ctx context.Context, method, path string, body []byte) ([]byte, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, min(metadataTimeout, t.Timeout), errTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, wire.URL(t.URL, path), bytes.NewReader(body))
	if err != nil {
		return nil, undiscovered{failed(Rejected, "make request: %w", err)}
	}
	if t.Header != nil {
		req.Header = t.Header.Clone()
	}
	req.Header.Set("User-Agent", t.Agent)
	req.Header.Set("Content-Type", "application/json")
	reply, v := t.Transport.exchangeMetadata(ctx, req)
	if v.outcome != OK {
		v.err = scrub(fmt.Errorf("%s: %w", path, v.err), t.Header, "")
		return nil, undiscovered{v}
	}
	return reply, nil
}

// exchangeMetadata sends a request that is no probe, and reads its reply.
func (t *Transport) exchangeMetadata(ctx context.Context, req *http.Request) ([]byte, verdict) {
	tr := newTrace(time.Now())
	resp, done, err := t.send(req.WithContext(withTrace(ctx, tr)))
	if err != nil {
		return nil, noAnswer(ctx, tr, err)
	}
	defer done()
	defer resp.Body.Close()
	if isStream(resp) || resp.StatusCode < http.StatusOK {
		return nil, failed(Rejected, "HTTP %d with %s is no reply", resp.StatusCode, cmp.Or(mediaType(resp), "no content type"))
	}
	reply, err := io.ReadAll(io.LimitReader(resp.Body, maxMetadata))
	if err != nil {
		if v, ok := ended(ctx, "while reading the answer"); ok {
			return nil, v
		}
		return nil, failed(Truncated, "%w", err)
	}
	if resp.StatusCode/100 != 2 {
		return nil, badStatus(resp, wire.Describe(reply))
	}
	return reply, verdict{outcome: OK}
}

// Unreached is the result of a probe whose target could not be asked what it is:
// err is [Target.Discover]'s.
func (t Target) Unreached(start time.Time, model string, err error) *Result {
	r := &Result{
		Target: t.Name, Group: t.Group, Model: model, Prompt: t.Prompt,
		TraceID: randomHex(16), SpanID: randomHex(8),
		Timeline: Timeline{Start: start}, Elapsed: time.Since(start),
		Outcome: ServerError, Err: err, Source: FromNobody,
	}
	if t.Dialect != nil {
		r.API = t.Dialect.Name()
	}
	if u, ok := errors.AsType[undiscovered](err); ok {
		r.Outcome, r.Status = u.verdict.outcome, u.verdict.status
	}
	return r
}
