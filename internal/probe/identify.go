package probe

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

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
// does not say). What is configured stays so. Where no model is configured, it is that of [server.UsableModel]; before
// is the model that it was asked for. The error says why API or model are not known; what is most likely of them is
// returned with it. All requests together take no longer than a probe may.
func (t Target) identify(
	ctx context.Context, configured, before string,
) (found server.Identification, models []wire.Model, err error) {
	late := failure(Timeout, ReasonNoAnswerInTime, "no answer within %v", t.Timeout)
	ctx, cancel := context.WithTimeoutCause(ctx, t.Timeout, late)
	defer cancel()

	// The type, and the API by it.
	kind, evidence, err := t.evidence(ctx)
	v, _ := errors.AsType[verdict](err)
	found.Reached = !slices.Contains([]Outcome{Connect, DNS, TLS}, v.outcome)
	found.Type = kind
	found.Model = configured
	found.Dialect = t.dialectOf(kind)
	isAPIKnown := kind.Name != "" || t.Dialect != nil
	if v.reason.isOfPort() || err != nil && !isAPIKnown {
		return found, nil, err
	}

	// The version, and the models where this type of server lists them.
	t.Dialect = found.Dialect // the requests below have its header
	if err == nil || isRejection(err) {
		if kind.VersionPath != "" {
			found.Version = t.versionIn(evidence.Get(kind.VersionPath))
		}
		models, err = t.models(ctx, kind, evidence, err)
	}
	if configured == "" && err != nil {
		return found, nil, err
	}

	// The model, and its limits.
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

// evidence asks for the list of models under each path where it may be. The error is why there is none; a rejection is
// evidence, too. The server's type is the configured one, else the one that the replies show.
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
		_, isList := wire.ParseModels(body)
		if i > 0 && !isList {
			break // what the first path shows of the server counts
		}
		e = wire.Evidence{Header: header, Models: body, Refused: why != nil, Prefix: prefix, Host: host, Get: get}
		err = why
		v, _ := errors.AsType[verdict](why)
		mayBeElsewhere := v.status == http.StatusNotFound || why == nil && !isList
		if !mayBeElsewhere {
			break
		}
	}
	kind = t.Server
	if kind.Name == "" && (err == nil || isRejection(err)) {
		kind, _ = wire.Recognize(e)
	}
	return kind, e, err
}

// models returns the models of the list e.Models, whose error is err. Of a type of server that lists its models
// elsewhere, it asks for that list instead.
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
		v := errorVerdict(said, list, false)
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

// showable returns the models without those whose names repeat credentials. Such a name can neither be shown, because
// it is a label, nor be replaced, because it goes into requests.
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

// versionIn returns the version that a reply names, as it can stand in a label: of at most 64 bytes, without
// credentials and without what does not print.
func (t Target) versionIn(reply []byte) string {
	const longest = 64 // bytes
	const ellipsis = "…"
	version := format.Clean(t.redact(wire.ParseVersion(reply))) // redacted first: a part of a key is not found
	if len(version) > longest {
		version = strings.ToValidUTF8(version[:longest-len(ellipsis)], "") + ellipsis
	}
	return version
}

// isReady reports whether the server can answer: it answers for its models, even if it rejects that request, and its
// health check passes or is rejected. Some servers have a check that costs money: their type names another one. Where
// no model is given, an empty list says that the first one is still loading (Ollama, KServe).
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
