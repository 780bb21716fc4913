package probe

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"sync"
	"time"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"

	"github.com/llm-prober/prober/internal/format"
	"github.com/llm-prober/prober/internal/wire"
)

// A TokenClient is a client that identifies itself to targets by an access token of OAuth 2 (client credentials, RFC
// 6749, section 4.4). Targets with the same client share it, so that they fetch one token together. It is safe for
// concurrent use.
//
// No probe is timed while it waits for a token: one is fetched before the first probe, and renewed after a probe, when
// less than a tenth to a fifth of its lifetime is left. While the token server does not answer, the token that is still
// valid is used. The token server is asked again after pauses that grow from 5 s to 5 min, whatever the number of
// targets and their rate.
type TokenClient struct {
	config    clientcredentials.Config
	transport *Transport
	early     float64       // share of a token's lifetime that is left when it is renewed; random, so that probers differ
	fetching  chan struct{} // holds a value while somebody fetches

	mu        sync.Mutex // guards all below
	token     *oauth2.Token
	renewAt   time.Time // zero: never, because the token server does not say when the token expires
	isRefused bool      // a target did not accept the token
	failure   error     // a [verdict]: why the last fetch failed; nil if it did not
	fruitless int       // fetches in a row that failed, or were for a token that a target had refused
	nextFetch time.Time // not before, if the last fetch was fruitless
}

// TokenOptions describe a client of a token server.
type TokenOptions struct {
	URL        string // of the token endpoint
	ID, Secret string
	Scopes     []string
	InBody     bool        // ID and secret are sent in the body (client_secret_post), else in the header Authorization
	Dial       Dial        // nil: over the network
	TLS        *tls.Config // for the token server; nil: the authorities of the system
}

// NewTokenClient returns a client that has no token yet.
func NewTokenClient(o TokenOptions) *TokenClient {
	style := oauth2.AuthStyleInHeader
	if o.InBody {
		style = oauth2.AuthStyleInParams
	}
	return &TokenClient{
		config: clientcredentials.Config{
			TokenURL: o.URL, ClientID: o.ID, ClientSecret: o.Secret, Scopes: o.Scopes, AuthStyle: style,
		},
		transport: NewTransport(Route{Dial: o.Dial, TLS: o.TLS}),
		early:     0.1 + 0.1*rand.Float64(), //nolint:gosec // spreads load, hides nothing
		fetching:  make(chan struct{}, 1),
	}
}

// ensure makes sure that there is a token to send, and fetches one if there is none, or if a target refused it. The
// error is a [verdict] of the reason [ReasonToken].
func (c *TokenClient) ensure(ctx context.Context) error {
	need, err := c.need()
	if need != tokenMissing {
		return err
	}
	select {
	case c.fetching <- struct{}{}:
		defer func() { <-c.fetching }()
	case <-ctx.Done():
		return failure(Canceled, "", "%w", context.Cause(ctx))
	}
	need, err = c.need() // somebody else may have fetched it meanwhile
	if need != tokenMissing {
		return err
	}
	return c.fetch(ctx)
}

// renew fetches the next token if it is time for that. It does nothing if somebody else is fetching.
func (c *TokenClient) renew(ctx context.Context) {
	need, _ := c.need()
	if need == tokenUsable {
		return
	}
	select {
	case c.fetching <- struct{}{}:
		_ = c.fetch(ctx) // the present token serves on, or the next slot has the error
		<-c.fetching
	default:
	}
}

// tokenNeed says whether a token is to be fetched.
type tokenNeed int

const (
	tokenUsable  tokenNeed = iota // or not to be fetched yet
	tokenAging                    // still valid, and to be renewed
	tokenMissing                  // there is none that a target would accept
)

// need returns whether a token is to be fetched now. The error is that of the last fetch, if there is no valid token
// and it is too early to fetch one again.
func (c *TokenClient) need() (tokenNeed, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	mayFetch := !now.Before(c.nextFetch)
	isValid := c.token.Valid()
	switch {
	case !isValid && c.failure != nil && !mayFetch:
		return tokenUsable, c.failure
	case !isValid, c.isRefused && mayFetch:
		return tokenMissing, nil
	case mayFetch && !c.renewAt.IsZero() && now.After(c.renewAt):
		return tokenAging, nil
	}
	return tokenUsable, nil
}

// fetch asks the token server for a token. One caller at a time.
func (c *TokenClient) fetch(ctx context.Context) error {
	late := failure(Timeout, ReasonToken, "no answer within %v", metadataTimeout)
	ctx, cancel := context.WithTimeoutCause(ctx, metadataTimeout, late)
	defer cancel()
	client := &http.Client{
		Transport:     tokenTransport{c.transport},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	began := time.Now()
	token, err := c.config.Token(context.WithValue(ctx, oauth2.HTTPClient, client))
	if err != nil {
		err = c.verdict(ctx, err)
	}

	c.mu.Lock()
	defer c.mu.Unlock()
	v, _ := errors.AsType[verdict](err)
	if v.outcome == Canceled { // the prober stops
		return err
	}
	c.failure = err
	if err != nil || c.isRefused {
		pause := min(5*time.Minute, 5*time.Second<<min(c.fruitless, 6))
		c.nextFetch = time.Now().Add(pause)
		c.fruitless++
	}
	if err != nil {
		return err
	}
	c.token, c.isRefused = token, false
	c.renewAt = time.Time{}
	if !token.Expiry.IsZero() {
		lifetime := token.Expiry.Sub(began)
		c.renewAt = token.Expiry.Add(-time.Duration(c.early * float64(lifetime)))
	}
	return nil
}

// current returns the token to send; empty if there is none.
func (c *TokenClient) current() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.token == nil {
		return ""
	}
	return c.token.AccessToken
}

// note takes the status of a target's answer to a request with a token. After 401 the next slot has a new one, unless
// that has been fetched already.
func (c *TokenClient) note(token string, status int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.token == nil || token != c.token.AccessToken {
		return
	}
	switch {
	case status == http.StatusUnauthorized:
		c.isRefused = true
	case status/100 == 2 && !c.isRefused && time.Now().After(c.nextFetch): // no target has refused it meanwhile
		c.fruitless = 0
	}
}

// verdict returns the verdict on a fetch that failed. What the token server says is in its text, except for secrets.
func (c *TokenClient) verdict(ctx context.Context, err error) verdict {
	host := c.config.TokenURL
	u, errURL := url.Parse(c.config.TokenURL)
	if errURL == nil {
		host = u.Host
	}
	reply, isReply := errors.AsType[*oauth2.RetrieveError](err)
	unsent, isUnsent := errors.AsType[verdict](err)
	interrupted, isInterrupted := interruption(ctx, "", ReasonToken)
	v := failure(Connect, ReasonToken, "its reply cannot be read: %w", err)
	switch {
	case isReply:
		text := join(reply.ErrorCode, reply.ErrorDescription)
		if text == "" {
			text = wire.Describe(reply.Body, "")
		}
		status := reply.Response.StatusCode
		text = join(fmt.Sprintf("HTTP %d", status), text)
		isRejection := status/100 == 4 || status/100 == 2 // some servers write an error with the status 200
		v = failure(Connect, ReasonToken, "%s", text)
		if isRejection {
			v.outcome = Unauthorized
		}
	case isInterrupted:
		v = interrupted
	case isUnsent:
		v = unsent
	}
	if v.outcome == Canceled {
		return v
	}
	isKept := v.outcome == DNS || v.outcome == TLS || v.outcome == Timeout || v.outcome == Unauthorized
	if !isKept {
		v.outcome = Connect
	}
	v.reason = ReasonToken
	text := fmt.Sprintf("no token from the token server %s: %s", host, v.err)
	v.err = errors.New(format.Shorten(format.Clean(format.Redact(text, c.secrets())), 500))
	return v
}

// secrets returns what the texts of errors must not repeat.
func (c *TokenClient) secrets() []string {
	id, secret := url.QueryEscape(c.config.ClientID), url.QueryEscape(c.config.ClientSecret)
	sent := base64.StdEncoding.EncodeToString([]byte(id + ":" + secret))
	list := []string{c.config.ClientSecret, secret, sent}
	return append(list, secretParts(c.config.ClientSecret)...)
}

// tokenTransport sends the request for a token. Its error is the verdict on that request.
type tokenTransport struct{ *Transport }

// RoundTrip implements [http.RoundTripper].
func (t tokenTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx := req.Context()
	tr := &trace{start: time.Now()}
	resp, done, err := t.send(req.WithContext(tr.context(ctx)))
	if err != nil {
		return nil, noAnswer(ctx, tr, err)
	}
	defer done()
	defer resp.Body.Close()
	body, err := readBody(resp, maxErrorBody)
	if err != nil {
		return nil, fmt.Errorf("read the reply: %w", err)
	}
	resp.Body = io.NopCloser(bytes.NewReader(body))
	return resp, nil
}

// authorized returns t with the token that its requests carry now.
func (t Target) authorized() Target {
	if t.Tokens != nil {
		t.token = t.Tokens.current()
	}
	return t
}

// noteAuthorization tells the client of t what became of a request; status is 0 if there was no answer.
func (t Target) noteAuthorization(status int) {
	if t.Tokens != nil {
		t.Tokens.note(t.token, status)
	}
}

// ensureToken makes sure that requests to m can carry a token, if they need one.
func (m *Member) ensureToken(ctx context.Context) error {
	if m.target.Tokens == nil {
		return nil
	}
	return m.target.Tokens.ensure(ctx)
}
