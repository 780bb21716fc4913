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

// maxAnswerBytes is the longest answer of Prometheus that is read.
const maxAnswerBytes = 256 << 20

// A client asks one Prometheus. After its first error it asks nothing more. It is not safe for concurrent use.
type client struct {
	base     string // URL, without user and password
	api      promv1.API
	warnings []string // of Prometheus about its answers, each once
	err      error    // of the query that failed: which server, which query, and what to do
}

// newClient returns a client of the Prometheus at base, which must be a valid URL.
func newClient(base string, t transport) (*client, error) {
	connection, err := api.NewClient(api.Config{
		Address: base,
		Client: &http.Client{
			Transport: t,
			CheckRedirect: func(*http.Request, []*http.Request) error {
				return http.ErrUseLastResponse // a redirect drops the query, and mostly leads to a login page
			},
		},
	})
	if err != nil {
		return nil, err //nolint:wrapcheck // the caller says which URL
	}
	return &client{base: base, api: promv1.NewAPI(authClient{connection})}, nil
}

// A transport adds a bearer token to requests, and limits the length of answers.
type transport struct {
	token    string // none if empty
	maxBytes int64  // of an answer
}

// RoundTrip sends a request. Reading more than maxBytes of its answer is an error.
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

// An authClient turns an answer 401 or 403 into an authError. Without it, the API would ask again with GET, and its
// error would have the status only in its text.
type authClient struct{ api.Client }

// An authError is the status of an answer to wrong or missing credentials.
type authError int

// Error returns the status, and what to do.
func (e authError) Error() string {
	return fmt.Sprintf("status %d: give a bearer token that may query it with --prometheus-token-file", int(e))
}

// Do sends a request and returns the whole answer.
func (c authClient) Do(ctx context.Context, request *http.Request) (*http.Response, []byte, error) {
	response, body, err := c.Client.Do(ctx, request)
	if err != nil {
		return response, body, err //nolint:wrapcheck // client.fail says what was asked
	}
	switch response.StatusCode {
	case http.StatusUnauthorized, http.StatusForbidden:
		return nil, nil, authError(response.StatusCode)
	}
	return response, body, nil
}

// vector evaluates an expression at a time. After an error it returns nothing.
func (c *client) vector(ctx context.Context, expr string, at time.Time) model.Vector {
	return query[model.Vector](ctx, c, expr, func(ctx context.Context) (model.Value, promv1.Warnings, error) {
		value, warnings, _, err := c.api.Query(ctx, expr, at)
		return value, warnings, err //nolint:wrapcheck // client.fail says what was asked
	})
}

// matrix evaluates an expression over a range of time. After an error it returns nothing.
func (c *client) matrix(ctx context.Context, expr string, over promv1.Range) model.Matrix {
	return query[model.Matrix](ctx, c, expr, func(ctx context.Context) (model.Value, promv1.Warnings, error) {
		value, warnings, _, err := c.api.QueryRange(ctx, expr, over)
		return value, warnings, err //nolint:wrapcheck // client.fail says what was asked
	})
}

// query calls ask, unless an earlier query failed, and keeps its warnings and its error. It is an error, too, if the
// value is not a V.
func query[V model.Value](
	ctx context.Context, c *client, expr string,
	ask func(context.Context) (model.Value, promv1.Warnings, error),
) (result V) {
	const timeout = 2 * time.Minute // Prometheus' own default
	if c.err != nil {
		return result
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	value, warnings, err := ask(ctx)
	c.addWarnings(warnings)
	result, ok := value.(V)
	if err == nil && !ok {
		err = errNotPrometheus
	}
	c.fail(expr, err)
	return result
}

// addWarnings keeps warnings of Prometheus, each once.
func (c *client) addWarnings(warnings promv1.Warnings) {
	for _, w := range warnings {
		text := "Prometheus says: " + format.Shorten(format.Clean(w), maxErrorLength)
		if !slices.Contains(c.warnings, text) {
			c.warnings = append(c.warnings, text)
		}
	}
}

// The hints that errors end with.
const (
	shorterRangeHint = "choose a shorter range (--from, --to, --budget-window) or one target (--target)"

	notPrometheusHint = "the answer is not from a Prometheus: give its URL as in a browser, without /api/v1 or /graph, " +
		"and check whether a login page is in front of it"
)

// maxErrorLength is how many characters of a server's text are shown.
const maxErrorLength = 500

// errNotPrometheus says that an answer does not belong to Prometheus' API.
var errNotPrometheus = errors.New(notPrometheusHint)

// fail keeps the error of a query, with what to do about it. It does nothing if err is nil.
func (c *client) fail(expr string, err error) {
	if err == nil {
		return
	}
	server := "Prometheus at " + c.base
	answer, ok := errors.AsType[*promv1.Error](err)
	if ok {
		c.err = fmt.Errorf("%s, %s", server, answerError(expr, answer))
		return
	}
	_, tooLong := errors.AsType[*http.MaxBytesError](err)
	connection, isURL := errors.AsType[*url.Error](err)
	switch {
	case tooLong || errors.Is(err, context.DeadlineExceeded):
		c.err = fmt.Errorf("%s, query %q: %w; %s", server, expr, err, shorterRangeHint)
	case isURL && !errors.Is(err, context.Canceled):
		c.err = fmt.Errorf("%s does not answer: %w; check --prometheus, and whether it is running", server, connection.Err)
	default: // wrong credentials, or the user interrupted it
		c.err = fmt.Errorf("%s: %w", server, err)
	}
}

// answerError returns what an answer without a result says, and what to do. It names the query if that may be the
// reason.
func answerError(expr string, answer *promv1.Error) string {
	kind, text := answer.Type, answer.Msg
	var detail struct {
		ErrorType promv1.ErrorType `json:"errorType"`
		Error     string           `json:"error"`
	}
	err := json.Unmarshal([]byte(answer.Detail), &detail)
	if err == nil && detail.ErrorType != "" { // for example of a query that timed out, whose status is 503
		kind, text = detail.ErrorType, detail.Error
	}
	text = format.Shorten(format.Clean(text), maxErrorLength)
	switch kind {
	case promv1.ErrServer:
		return text + ": try again later, and look at the log of Prometheus or of the proxy in front of it"
	case promv1.ErrBadResponse, promv1.ErrClient:
		const maxText = 100 // of a text that is not Prometheus'
		return format.Shorten(text, maxText) + ": " + notPrometheusHint
	case promv1.ErrTimeout, promv1.ErrExec:
		return fmt.Sprintf("query %q: %s: %s; if that is a limit of the server, %s", expr, kind, text, shorterRangeHint)
	}
	return fmt.Sprintf("query %q: %s: %s", expr, format.Clean(string(kind)), text)
}
