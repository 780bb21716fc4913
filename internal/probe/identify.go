package probe

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/llm-prober/prober/internal/format"
	"github.com/llm-prober/prober/internal/server"
	"github.com/llm-prober/prober/internal/wire"
)

// assumedDialect is the dialect of a server of unknown type.
var assumedDialect, _ = wire.Lookup("openai-chat")

// dialectOf returns the API by which a server of a type is asked: the configured one, else the one that fits it best.
func (t Target) dialectOf(kind wire.Server) *wire.Dialect {
	return cmp.Or(t.Dialect, kind.Dialect, assumedDialect)
}

// identify asks the server what it is: for its type, its version, the API that fits it best, and its models (none if it
// does not say). What is configured is not asked for. The model is the configured one, else the one it was asked for
// before if it is still listed, else the first that is usable. The error says why API or model are not known; what is
// most likely of them is returned with it. All requests together take no longer than a probe may.
func (t Target) identify(
	ctx context.Context, configured, before string,
) (found server.Identification, models []wire.Model, err error) {
	late := failure(Timeout, ReasonNoAnswerInTime, "no answer within %v", t.Timeout)
	ctx, cancel := context.WithTimeoutCause(ctx, t.Timeout, late)
	defer cancel()

	kind, evidence, err := t.evidence(ctx)
	v, _ := errors.AsType[verdict](err)
	found.Reached = !slices.Contains([]Outcome{Connect, DNS, TLS}, v.outcome)
	found.Type = kind
	found.Model = configured
	found.Dialect = t.dialectOf(kind)
	isUnknown := kind.Name == "" && t.Dialect == nil
	if v.reason.isOfPort() || err != nil && isUnknown {
		return found, nil, err
	}

	t.Dialect = found.Dialect // the requests below have its header
	if err == nil || isRejection(err) {
		if kind.VersionPath != "" {
			found.Version = format.Clean(t.redact(wire.ParseVersion(evidence.Get(kind.VersionPath))))
		}
		models, err = t.models(ctx, kind, evidence, err)
	}
	if configured == "" && err != nil {
		return found, nil, err
	}

	found.NoModel = err == nil && len(models) == 0
	if configured == "" && found.NoModel {
		const text = "the server serves no model: its list of models is empty"
		return found, nil, failure(Rejected, ReasonNoModelLoaded, text)
	}
	if configured == "" {
		found.Model = server.UsableModel(models, before)
	}
	found.OnDemand = slices.ContainsFunc(models, func(m wire.Model) bool { return m.Unloaded })
	i := slices.IndexFunc(models, func(m wire.Model) bool { return m.ID == found.Model })
	if i >= 0 {
		found.Limits = models[i].Limits
	}
	if found.Limits.Context == 0 {
		found.Limits.Context = t.context(ctx, kind, found.Model, evidence)
	}
	return found, models, nil
}

// evidence asks for the list of models, under each path where it may be. The error is why there is none; a rejection is
// evidence, too. The server's type is the configured one, or what they show.
func (t Target) evidence(ctx context.Context) (kind wire.Server, e wire.Evidence, err error) {
	replies := map[string][]byte{}
	get := func(path string) []byte { // nil if it fails; each path is asked for once
		reply, asked := replies[path]
		if asked {
			return reply
		}
		_, body, err := t.metadata(ctx, http.MethodGet, path, nil, wire.Ask{})
		if err != nil {
			body = nil
		}
		replies[path] = body
		return body
	}
	host := ""
	base, err := url.Parse(t.URL)
	if err == nil {
		host = base.Hostname()
	}
	for i, prefix := range wire.Prefixes() {
		header, body, why := t.metadata(ctx, http.MethodGet, prefix+wire.ModelsPath, nil, wire.Ask{})
		_, listed := wire.ParseModels(body)
		if i > 0 && !listed {
			break
		}
		e = wire.Evidence{Header: header, Models: body, Refused: why != nil, Prefix: prefix, Host: host, Get: get}
		err = why
		v, _ := errors.AsType[verdict](why)
		if v.status != http.StatusNotFound && (listed || why != nil) {
			break
		}
	}
	kind = t.Server
	if kind.Name == "" && (err == nil || isRejection(err)) {
		kind, _ = wire.Recognize(e)
	}
	return kind, e, err
}

// models returns those of the list e.Models, whose error is err, or those that this type of server lists elsewhere.
func (t Target) models(ctx context.Context, s wire.Server, e wire.Evidence, err error) ([]wire.Model, error) {
	list := e.Models
	elsewhere := s.List.Path != "" && (err != nil || s.List.Path != wire.ModelsPath)
	if elsewhere {
		_, list, err = t.metadata(ctx, s.List.Method, s.List.Path, nil, wire.Ask{})
	}
	if err != nil {
		return nil, err
	}
	models, ok := wire.ParseModels(list)
	said := wire.ParseError(list)
	switch {
	case !ok && said != nil:
		v := reported(said, list, false)
		v.err = t.scrub(fmt.Errorf("a list of models: %w", v.err), wire.Ask{})
		return nil, v
	case !ok && !elsewhere:
		const text = "%s is not a list of models: %s"
		v := failure(Rejected, ReasonNoListOfModels, text, wire.ModelsPath, wire.Describe(e.Models, ""))
		v.err = t.scrub(v.err, wire.Ask{})
		return nil, v
	}
	shown := t.showable(models)
	if len(shown) == 0 && len(models) > 0 {
		const text = "the models' names repeat credentials of the request: no probe would show them"
		return nil, failure(Rejected, ReasonNoListOfModels, text)
	}
	return shown, nil
}

// showable returns the models without those whose names repeat credentials. A name is a label and goes into requests,
// so it can neither be shown nor be replaced.
func (t Target) showable(models []wire.Model) []wire.Model {
	return slices.DeleteFunc(models, func(m wire.Model) bool {
		name := m.ID + "/" // so that a name is no secret that was cut
		return t.redact(name) != name
	})
}

// context asks for the context of a model where the list of models does not have it: the one that it was loaded with,
// else the longest that it can have. 0 if the server does not say.
func (t Target) context(ctx context.Context, s wire.Server, model string, e wire.Evidence) int {
	if s.LoadedPath != "" {
		loaded := wire.ParseLoaded(e.Get(s.LoadedPath), model)
		if loaded > 0 {
			return loaded
		}
	}
	if s.ShowPath == "" {
		return 0
	}
	question, err := json.Marshal(map[string]string{"model": model})
	if err != nil {
		return 0
	}
	_, reply, err := t.metadata(ctx, http.MethodPost, s.ShowPath, question, wire.Ask{})
	if err != nil {
		return 0
	}
	return wire.ParseDescription(reply)
}

// isReady reports whether the server can answer: it answers for its models, if only by rejecting that, and its health
// check passes, if it has one that we may ask: some cost money. Where no model is given, an empty list says that the
// first one is still loading (Ollama, KServe).
func (t Target) isReady(ctx context.Context, model string) bool {
	kind, e, err := t.evidence(ctx)
	if err != nil && !isRejection(err) {
		return false
	}
	_, _, sick := t.metadata(ctx, http.MethodGet, cmp.Or(kind.HealthPath, "/health"), nil, wire.Ask{})
	if sick != nil && !isRejection(sick) {
		return false
	}
	models, err := t.models(ctx, kind, e, err)
	return model != "" || err != nil || len(models) > 0
}

// Tokenize asks the server for the tokens of a prompt; none if it has no route for that. The reason of the
// error for a prompt that is longer than the server's context, or than a request may be, is [ReasonLongerThanContext].
func (t Target) Tokenize(ctx context.Context, ask wire.Ask) (wire.Count, error) {
	tokenizer, ok := t.Dialect.Tokenizer(ask.Server)
	if !ok {
		return wire.Count{}, nil
	}
	body, err := tokenizer.Body(ask)
	if err != nil {
		return wire.Count{}, err
	}
	_, reply, err := t.metadata(ctx, http.MethodPost, ask.Server.Prefix+tokenizer.Path, body, ask)
	if err == nil {
		return tokenizer.Read(reply), nil
	}
	v, _ := errors.AsType[verdict](err)
	limits, long := wire.TooLong(reply)
	switch {
	case long || v.status == http.StatusRequestEntityTooLarge:
		v.limits, v.reason = limits, ReasonLongerThanContext
		v.err = fmt.Errorf("longer than the server takes: %w", v.err)
		return wire.Count{}, v
	case isRejection(err):
		return wire.Count{}, nil
	}
	return wire.Count{}, err
}

const (
	metadataTimeout = 5 * time.Second
	maxMetadata     = 8 << 20 // bytes: a tokenizer's reply holds every token of the prompt
)

// metadata sends a request that is not a probe, and returns the header and the body of the reply. A rejection is
// returned with the error, which does not repeat about.
func (t Target) metadata(
	ctx context.Context, method, path string, body []byte, about wire.Ask,
) (http.Header, []byte, error) {
	limit := min(metadataTimeout, t.Timeout)
	late := failure(Timeout, ReasonNoAnswerInTime, "no answer within %v", limit)
	ctx, cancel := context.WithTimeoutCause(ctx, limit, late)
	defer cancel()
	req, err := t.request(ctx, method, wire.URL(t.URL, path), bytes.NewReader(body))
	if err != nil {
		return nil, nil, failure(Rejected, ReasonRequestRejected, "%w", err)
	}
	var header http.Header
	var reply []byte
	var v verdict
	returned := t.Transport.stuck.bounded(ctx, func() { header, reply, v = t.Transport.reply(ctx, req) })
	if !returned {
		const text = "%s: the HTTP request did not return at its limit"
		return nil, nil, failure(Timeout, ReasonHTTPClientStuck, text, req.URL.Path)
	}
	if v.outcome != OK {
		v.err = t.scrub(fmt.Errorf("%s: %w", req.URL.Path, v.err), about)
		return header, reply, v
	}
	return header, reply, nil
}

// reply returns the answer to a request that is not a probe, and how it ended.
func (t *Transport) reply(ctx context.Context, req *http.Request) (header http.Header, body []byte, v verdict) {
	tr := &trace{start: time.Now()}
	defer func() { v.expiry = cmp.Or(tr.certExpiry(), refusedExpiry(v.err)) }()
	resp, done, err := t.send(req.WithContext(tr.context(ctx)))
	if err != nil {
		return nil, nil, noAnswer(ctx, tr, err)
	}
	defer done()
	defer resp.Body.Close()
	success := resp.StatusCode/100 == 2
	isStream := framingOfType(resp) != notFramed && resp.ContentLength < 0 // its end may never come
	if success && isStream || resp.StatusCode < http.StatusOK {
		kind := cmp.Or(mediaType(resp), "no content type")
		return nil, nil, failure(Rejected, ReasonRequestRejected, "HTTP %d with %s is no reply", resp.StatusCode, kind)
	}
	body, err = readBody(resp, maxMetadata)
	if err != nil {
		v, ok := interruption(ctx, "while reading the answer", ReasonNoAnswerInTime)
		if ok {
			return nil, nil, v
		}
		return nil, nil, cutBody(err, "the reply was cut")
	}
	if !success {
		return resp.Header, body, t.badStatus(resp, body)
	}
	return resp.Header, body, verdict{outcome: OK}
}

// isRejection reports whether a metadata request failed because the server answered that it does not want it, or not
// from us.
func isRejection(err error) bool {
	v, _ := errors.AsType[verdict](err)
	return v.outcome == Rejected || v.outcome == Unauthorized
}
