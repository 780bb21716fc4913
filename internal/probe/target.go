// Package probe asks one inference server one question and times the answer. A probe never fails in the Go sense:
// whatever happens becomes a [Result]. The package knows no metrics, no logger and no configuration.
//
// In comes a [Question], out goes a [Result] with the [timing.Timeline] of its arrivals. Three types stand on each
// other. A [Target] is an endpoint: it sends one request and reads the answer (start reading at exchange.go). A
// [Member] is a target in a group and what is known of its server (see package server): it asks the server what it is,
// and probes it within its slots and its budget. A [Group] asks several members the same questions in turn. How
// arrivals become TTFT, ITL and the rest is in package timing.
package probe

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptrace"
	"slices"
	"strings"
	"time"

	"github.com/llm-prober/prober/internal/wire"
)

// A Target is one endpoint and how to ask it. It is only read, and its methods are safe for concurrent use.
type Target struct {
	Name, Group string
	URL         string // base, see [wire.URL]
	Path        string // of probes, from the host's root on; empty: what URL and Dialect make
	Dialect     *wire.Dialect
	Server      wire.Server  // type; the zero value: detected from its answers
	Key         string       // for the API, in its own header; a secret
	Tokens      *TokenClient // of an access token that requests carry instead of Key; nil: they carry none
	Version     string       // of the API, where it has several; empty for the dialect's default
	Header      http.Header  // sent with every request; its values are secrets
	Session     string       // header with the session; empty: the server type's own
	Priority    *int         // of each request, in the server's own sense; nil for none
	Body        wire.Object  // what the user adds to each request for an answer
	Agent       string       // User-Agent
	Transport   *Transport
	Timeout     time.Duration // of the whole probe
	Stall       time.Duration // longest gap between token frames
	Backoff     time.Duration // longest pause that an overloaded server may ask for; 0 for none
	DayLimit    int           // tokens of a day, prompts and answers; 0 for no limit

	token string // what requests carry now: see [Target.authorized]; a secret
}

// Probe asks one question and times the answer. It returns within t.Timeout, and as soon as ctx is done. Prompt, Due,
// Round and Blocked of the result are not set: see [Group.Turn].
func (t Target) Probe(ctx context.Context, ask wire.Ask) *Result {
	return t.probe(ctx, Question{Ask: ask})
}

// newResult returns the result of a probe that begins, which has no answer yet.
func (t Target) newResult(model string) *Result {
	r := &Result{
		Target: t.Name, Group: t.Group, Model: model, Credentials: t.credentials(),
		TraceID: fmt.Sprintf("%016x%016x", rand.Uint64(), rand.Uint64()), SpanID: fmt.Sprintf("%016x", rand.Uint64()),
		Source: FromNothing, Cache: CacheUnknown,
	}
	if t.Dialect != nil {
		r.API = t.Dialect.Name
	}
	return r
}

// probeRequest returns the probe's POST. The body is freed once it is written: a prompt may be long, and an answer
// slow.
func (t Target) probeRequest(ctx context.Context, ask wire.Ask) (*http.Request, error) {
	body, err := t.Dialect.Body(ask)
	if err != nil {
		return nil, fmt.Errorf("encode request: %w", err)
	}
	url := wire.URL(t.URL, t.Dialect.Path(ask))
	if t.Path != "" {
		url = wire.PathOnHost(t.URL, t.Path, t.Dialect.Path(ask))
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
	req.GetBody = nil // so that net/http cannot send it twice
	session := cmp.Or(t.Session, ask.Server.SessionHeader)
	if session != "" && ask.Session != "" {
		req.Header.Set(session, ask.Session)
	}
	req.Header.Set("Accept", typeSSE+", "+typeJSON)
	req.Header.Set("Accept-Encoding", "identity")
	return req, nil
}

// request returns a request to the target with all its headers. The dialect's headers hold the key. An access token has
// the header of OAuth 2 (RFC 6750) in every dialect: Azure takes keys in another one. Configured headers replace them,
// and a configured Host replaces that of the URL.
func (t Target) request(ctx context.Context, method, url string, body *bytes.Reader) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, method, url, body)
	if err != nil {
		return nil, fmt.Errorf("make request: %w", err)
	}
	for name, value := range cmp.Or(t.Dialect, assumedDialect).Header(t.Key, t.Version) {
		req.Header.Set(name, value)
	}
	if t.token != "" {
		req.Header.Set("Authorization", "Bearer "+t.token)
	}
	for name, values := range t.Header {
		req.Header[name] = slices.Clone(values)
	}
	req.Host = cmp.Or(req.Header.Get("Host"), req.Host)
	req.Header.Set("User-Agent", t.Agent)
	req.Header.Set("Content-Type", typeJSON)
	req.Header.Set("Accept", typeJSON)
	req.Header.Set("Baggage", "user_agent.synthetic.type=test") // OpenTelemetry's mark of synthetic traffic
	return req, nil
}

// credentials returns the kind of credentials that requests carry.
func (t Target) credentials() Credentials {
	switch {
	case cmp.Or(t.Header.Get("Authorization"), t.Header.Get("Api-Key"), t.Header.Get("X-Api-Key")) != "":
		return CredentialsInHeader
	case t.Tokens != nil:
		return CredentialsToken
	case t.Key == "":
		return CredentialsNone
	case strings.HasPrefix(strings.ToLower(t.Key), "bearer "):
		return CredentialsPrefixed
	}
	return CredentialsGiven
}
