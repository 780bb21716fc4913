// Package promquery asks a Prometheus, by PromQL, what it has stored of probes, and makes of the
// answers the summaries and comparisons that a bench makes of its own requests. It measures nothing.
package promquery

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/api"
	v1 "github.com/prometheus/client_golang/api/prometheus/v1"
	"github.com/prometheus/common/model"

	"github.com/llm-prober/prober/internal/format"
)

const (
	queryTimeout   = 2 * time.Minute // Prometheus' own default
	maxAnswerBytes = 256 << 20       // the API client holds an answer as a whole
)

// A client asks one Prometheus. It is not safe for concurrent use.
type client struct {
	api      v1.API
	place    string   // URL of the Prometheus, for errors
	warnings []string // that came with its answers, each once
}

// newClient makes a client of the Prometheus at base. The token, if there is one, is sent to that
// host only.
func newClient(base *url.URL, token string) (*client, error) {
	c, err := api.NewClient(api.Config{Address: base.String(), Client: &http.Client{
		Transport:     &transport{token: token, base: base, limit: maxAnswerBytes},
		CheckRedirect: refuseRedirect,
	}})
	if err != nil {
		return nil, fmt.Errorf("open Prometheus at %s: %w", base.Redacted(), err)
	}
	return &client{api: v1.NewAPI(c), place: base.Redacted()}, nil
}

// instant evaluates an expression at one time.
func (c *client) instant(ctx context.Context, expr string, at time.Time) (model.Vector, error) {
	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	value, warnings, _, err := c.api.Query(ctx, expr, at)
	return answer[model.Vector](c, fmt.Sprintf("query %q at %s", expr, at.UTC().Format(time.RFC3339)), value, warnings, err)
}

// steps evaluates an expression at each step of a range.
func (c *client) steps(ctx context.Context, expr string, r v1.Range) (model.Matrix, error) {
	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	value, warnings, _, err := c.api.QueryRange(ctx, expr, r)
	asked := fmt.Sprintf("query %q from %s to %s", expr, r.Start.UTC().Format(time.RFC3339), r.End.UTC().Format(time.RFC3339))
	return answer[model.Matrix](c, asked, value, warnings, err)
}

// answer is the value as the type that the query has, or an error that says what was asked, and what to do.
func answer[T model.Value](c *client, asked string, value model.Value, warnings v1.Warnings, err error) (T, error) {
	for _, w := range warnings {
		if text := "Prometheus says: " + format.Shorten(format.Clean(w), 500); !slices.Contains(c.warnings, text) {
			c.warnings = append(c.warnings, text)
		}
	}
	typed, ok := value.(T)
	if err == nil && ok {
		return typed, nil
	}
	if err == nil {
		err = fmt.Errorf("the answer is a %s, want a %s", value.Type(), typed.Type())
	}
	return typed, fmt.Errorf("%s at Prometheus %s: %w", asked, c.place, &queryError{err: err})
}

// A queryError is the error of a query with a hint.
type queryError struct{ err error }

func (e *queryError) Unwrap() error { return e.err }

func (e *queryError) Error() string {
	err := e.err
	if sent, ok := errors.AsType[*url.Error](err); ok {
		err = sent.Err // without the URL, which may be one of a redirect and hold a secret
	}
	text := format.Shorten(format.Clean(err.Error()), 500)
	if hint := e.hint(); hint != "" {
		text += "; " + hint
	}
	return text
}

const shorter = "choose a shorter range (--from, --to) or one target (--target)"

func (e *queryError) hint() string {
	if _, tooLong := errors.AsType[*http.MaxBytesError](e.err); tooLong || errors.Is(e.err, context.DeadlineExceeded) {
		return shorter
	}
	told, ok := errors.AsType[*v1.Error](e.err)
	if !ok {
		return ""
	}
	for status, hint := range map[string]string{
		": 401": "give a bearer token with --prometheus-token-file",
		": 403": "these credentials may not query it: check --prometheus-token-file",
		": 404": "there is no Prometheus API below that URL: give it as in a browser, without /api/v1 or /graph",
		": 405": "there is no Prometheus API below that URL: give it as in a browser, without /api/v1 or /graph",
	} {
		if strings.HasSuffix(told.Msg, status) {
			return hint
		}
	}
	switch told.Type {
	case v1.ErrBadResponse:
		return "the answer is not from a Prometheus: check the URL, and whether a login page is in front of it"
	case v1.ErrTimeout, v1.ErrExec:
		return "if that is a limit of the server, " + shorter
	}
	return ""
}

// A transport sends the token to the host of base and nowhere else, and bounds answers.
type transport struct {
	token string
	base  *url.URL
	limit int64 // bytes of an answer
}

// RoundTrip implements [http.RoundTripper].
func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	if t.token != "" && r.URL.Host == t.base.Host && r.URL.Scheme == t.base.Scheme {
		r = r.Clone(r.Context())
		r.Header.Set("Authorization", "Bearer "+t.token)
	}
	response, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	response.Body = http.MaxBytesReader(nil, response.Body, t.limit)
	return response, nil
}

// refuseRedirect refuses to go elsewhere: a redirected POST would lose its query.
func refuseRedirect(r *http.Request, _ []*http.Request) error {
	return errors.New("it redirects to " + (&url.URL{Scheme: r.URL.Scheme, Host: r.URL.Host, Path: r.URL.Path}).String() +
		": give the URL of the Prometheus itself")
}
