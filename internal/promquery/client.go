// Package promquery makes of what a Prometheus has stored of probes the summaries and comparisons of a bench.
package promquery

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/prometheus/client_golang/api"
	promv1 "github.com/prometheus/client_golang/api/prometheus/v1"
	"github.com/prometheus/common/model"

	"github.com/llm-prober/prober/internal/format"
)

const (
	queryTimeout   = 2 * time.Minute // Prometheus' own default
	maxAnswerBytes = 256 << 20
	maxErrorLength = 500 // runes of what a server says
)

// A client asks one Prometheus, up to the first error. It is not safe for concurrent use.
type client struct {
	base     string // URL, without user and password
	api      promv1.API
	warnings []string // that came with answers, each once
	err      error    // of the first query that failed: what was asked, of whom, and what to do
}

// newClient returns a client of the Prometheus at a valid base URL.
func newClient(base string, t transport) (*client, error) {
	connection, err := api.NewClient(api.Config{
		Address: base,
		Client: &http.Client{
			Transport: t,
			CheckRedirect: func(*http.Request, []*http.Request) error {
				return http.ErrUseLastResponse // it would lose the query, and leads to a login page
			},
		},
	})
	if err != nil {
		return nil, err //nolint:wrapcheck // the caller says which URL
	}
	return &client{base: base, api: promv1.NewAPI(refusals{connection})}, nil
}

// A transport adds the token and bounds the answers.
type transport struct {
	token    string // bearer token; none if empty
	maxBytes int64  // of an answer
}

// RoundTrip sends a request.
func (t transport) RoundTrip(request *http.Request) (*http.Response, error) {
	if t.token != "" {
		request = request.Clone(request.Context())
		request.Header.Set("Authorization", "Bearer "+t.token)
	}
	response, err := http.DefaultTransport.RoundTrip(request)
	if err != nil {
		return nil, err //nolint:wrapcheck // client.fail says what was asked
	}
	response.Body = http.MaxBytesReader(nil, response.Body, t.maxBytes)
	return response, nil
}

// refusals is a connection on which an answer 401 or 403 is an error. Otherwise the API would ask again with GET, and
// its error would say the status only in its text.
type refusals struct{ api.Client }

// A refusal is the status of an answer to wrong or missing credentials.
type refusal int

// Error says what to do.
func (r refusal) Error() string {
	return fmt.Sprintf("status %d: give a bearer token that may query it with --prometheus-token-file", int(r))
}

// Do sends a request and returns the whole answer.
func (r refusals) Do(ctx context.Context, request *http.Request) (*http.Response, []byte, error) {
	response, body, err := r.Client.Do(ctx, request)
	if err != nil {
		return response, body, err //nolint:wrapcheck // client.fail says what was asked
	}
	switch response.StatusCode {
	case http.StatusUnauthorized, http.StatusForbidden:
		return nil, nil, refusal(response.StatusCode)
	}
	return response, body, nil
}

// vector evaluates an expression at a time; nothing after an error.
func (c *client) vector(ctx context.Context, expr string, at time.Time) model.Vector {
	ask := func(ctx context.Context) (model.Value, promv1.Warnings, promv1.Infos, error) {
		return c.api.Query(ctx, expr, at)
	}
	return query[model.Vector](ctx, c, expr, ask)
}

// matrix evaluates an expression over a range of time; nothing after an error.
func (c *client) matrix(ctx context.Context, expr string, over promv1.Range) model.Matrix {
	ask := func(ctx context.Context) (model.Value, promv1.Warnings, promv1.Infos, error) {
		return c.api.QueryRange(ctx, expr, over)
	}
	return query[model.Matrix](ctx, c, expr, ask)
}

// query asks within the time limit, and keeps the warnings and the error.
func query[V model.Value](ctx context.Context, c *client, expr string,
	ask func(context.Context) (model.Value, promv1.Warnings, promv1.Infos, error),
) (result V) {
	if c.err != nil {
		return result
	}
	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	value, warnings, _, err := ask(ctx)
	c.warn(warnings)
	result, ok := value.(V)
	if err == nil && !ok {
		err = errNoPrometheus
	}
	c.fail(expr, err)
	return result
}

func (c *client) warn(warnings promv1.Warnings) {
	for _, w := range warnings {
		text := "Prometheus says: " + format.Shorten(format.Clean(w), maxErrorLength)
		if !slices.Contains(c.warnings, text) {
			c.warnings = append(c.warnings, text)
		}
	}
}

const (
	shorter = "choose a shorter range (--from, --to, --budget-window) or one target (--target)"

	notFromPrometheus = "the answer is not from a Prometheus: give its URL as in a browser, without /api/v1 or /graph, " +
		"and check whether a login page is in front of it"
)

var errNoPrometheus = errors.New(notFromPrometheus)

// fail keeps the error of a query, if it is one, with what to do. Only what Prometheus says about a query needs the
// query.
func (c *client) fail(expr string, err error) {
	if err == nil {
		return
	}
	at := "Prometheus at " + c.base
	if answer, ok := errors.AsType[*promv1.Error](err); ok {
		c.err = fmt.Errorf("%s, %s", at, explain(expr, answer))
		return
	}
	_, tooLong := errors.AsType[*http.MaxBytesError](err)
	unreached, isURL := errors.AsType[*url.Error](err)
	switch {
	case tooLong || errors.Is(err, context.DeadlineExceeded):
		c.err = fmt.Errorf("%s, query %q: %w; %s", at, expr, err, shorter)
	case isURL && !errors.Is(err, context.Canceled):
		c.err = fmt.Errorf("%s does not answer: %w; check --prometheus, and whether it is running", at, unreached.Err)
	default: // a refusal, or the user broke it off
		c.err = fmt.Errorf("%s: %w", at, err)
	}
}

// explain returns what an answer other than a result says, and what to do. The query is in it if it may be the reason.
func explain(expr string, answer *promv1.Error) string {
	kind, text := answer.Type, answer.Msg
	var detail struct {
		ErrorType promv1.ErrorType `json:"errorType"`
		Error     string           `json:"error"`
	}
	err := json.Unmarshal([]byte(answer.Detail), &detail)
	if err == nil && detail.ErrorType != "" { // as of a query that timed out, whose status is 503
		kind, text = detail.ErrorType, detail.Error
	}
	text = format.Shorten(format.Clean(text), maxErrorLength)
	switch kind {
	case promv1.ErrServer:
		return text + ": try again later, and look at the log of Prometheus or of the proxy in front of it"
	case promv1.ErrBadResponse, promv1.ErrClient:
		return format.Shorten(text, 100) + ": " + notFromPrometheus
	case promv1.ErrTimeout, promv1.ErrExec:
		return fmt.Sprintf("query %q: %s: %s; if that is a limit of the server, %s", expr, kind, text, shorter)
	}
	return fmt.Sprintf("query %q: %s: %s", expr, format.Clean(string(kind)), text)
}
