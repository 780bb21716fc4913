// Package promquery asks a Prometheus, by PromQL, what it has stored of probes, and makes of the answers the summaries
// and comparisons that a bench makes of its own requests. It measures nothing.
package promquery

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/common/model"

	"github.com/llm-prober/prober/internal/format"
)

const (
	queryTimeout   = 2 * time.Minute // Prometheus' own default
	maxAnswerBytes = 256 << 20
)

// A client asks one Prometheus. It is not safe for concurrent use.
type client struct {
	base     *url.URL // without user and password
	token    string   // bearer token; none if empty
	warnings []string // that came with answers, each once
}

// instant evaluates an expression at one time.
func (c *client) instant(ctx context.Context, expr string, at time.Time) (v model.Vector, err error) {
	err = c.query(ctx, "query", url.Values{"query": {expr}, "time": {seconds(at)}}, &v)
	return v, err
}

// steps evaluates an expression in n steps of so long, the last of them at an end.
func (c *client) steps(ctx context.Context, expr string, n int, step time.Duration, end time.Time) (m model.Matrix, err error) {
	err = c.query(ctx, "query_range", url.Values{
		"query": {expr}, "start": {seconds(end.Add(-time.Duration(n-1) * step))}, "end": {seconds(end)},
		"step": {strconv.FormatFloat(step.Seconds(), 'f', -1, 64)},
	}, &m)
	return m, err
}

func seconds(t time.Time) string { return strconv.FormatFloat(float64(t.UnixMilli())/1e3, 'f', 3, 64) }

// shorter is what to do about too much data.
const shorter = "choose a shorter range (--from, --to) or one target (--target)"

// query decodes the result of a query into a vector or matrix. An error says what was asked, of whom, and what to do.
func (c *client) query(ctx context.Context, path string, form url.Values, result any) error {
	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	err := c.post(ctx, c.base.JoinPath("api/v1", path).String(), form, result)
	if err == nil {
		return nil
	}
	text := format.Shorten(format.Clean(err.Error()), 500)
	if _, tooLong := errors.AsType[*http.MaxBytesError](err); tooLong || errors.Is(err, context.DeadlineExceeded) {
		text += "; " + shorter
	}
	return fmt.Errorf("query %q at Prometheus %s: %s", form.Get("query"), c.base.Redacted(), text)
}

// post sends a form and decodes Prometheus' answer, see https://prometheus.io/docs/prometheus/latest/querying/api/.
func (c *client) post(ctx context.Context, to string, form url.Values, result any) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, to, strings.NewReader(form.Encode()))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if c.token != "" {
		request.Header.Set("Authorization", "Bearer "+c.token)
	}
	response, err := (&http.Client{CheckRedirect: refuseRedirect}).Do(request)
	if sent, ok := errors.AsType[*url.Error](err); ok {
		return sent.Err // without the URL, which may be one of a redirect and hold a secret
	} else if err != nil {
		return err
	}
	defer response.Body.Close()
	var answer struct {
		Status, ErrorType, Error string
		Warnings                 []string
		Data                     struct{ Result json.RawMessage }
	}
	err = json.NewDecoder(http.MaxBytesReader(nil, response.Body, maxAnswerBytes)).Decode(&answer)
	for _, w := range answer.Warnings {
		if text := "Prometheus says: " + format.Shorten(format.Clean(w), 500); !slices.Contains(c.warnings, text) {
			c.warnings = append(c.warnings, text)
		}
	}
	_, tooLong := errors.AsType[*http.MaxBytesError](err)
	switch status, kind := response.StatusCode, answer.ErrorType; {
	case tooLong || ctx.Err() != nil:
		return errors.Join(err, ctx.Err())
	case answer.Status == "success" && json.Unmarshal(answer.Data.Result, result) == nil:
		return nil
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		return fmt.Errorf("status %d: give a bearer token that may query it with --prometheus-token-file", status)
	case kind == "timeout" || kind == "execution":
		return fmt.Errorf("%s: %s; if that is a limit of the server, %s", kind, answer.Error, shorter)
	case kind != "":
		return fmt.Errorf("%s: %s", kind, answer.Error)
	case status == http.StatusNotFound || status == http.StatusMethodNotAllowed:
		return fmt.Errorf("status %d: there is no Prometheus API below that URL: give it as in a browser, without /api/v1 or /graph", status)
	default:
		return fmt.Errorf("status %d: the answer is not from a Prometheus: check the URL, and whether a login page is in front of it", status)
	}
}

// refuseRedirect refuses to go elsewhere: a redirected POST would lose its query.
func refuseRedirect(r *http.Request, _ []*http.Request) error {
	return errors.New("it redirects to " + (&url.URL{Scheme: r.URL.Scheme, Host: r.URL.Host, Path: r.URL.Path}).String() +
		": give the URL of the Prometheus itself")
}
