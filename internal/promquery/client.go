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

	"github.com/llm-prober/prober/internal/format"
)

const (
	queryTimeout   = 2 * time.Minute // Prometheus' own default
	maxAnswerBytes = 256 << 20
)

// A client asks one Prometheus, up to the first error. It is not safe for concurrent use.
type client struct {
	base     *url.URL // without user and password
	token    string   // bearer token; none if empty
	warnings []string // that came with answers, each once
	err      error    // of the first query that failed: what was asked, of whom, and what to do
}

const shorter = "choose a shorter range (--from, --to, --budget-window) or one target (--target)"

func seconds(t time.Time) string { return strconv.FormatFloat(float64(t.UnixMilli())/1e3, 'f', 3, 64) }

func (c *client) query(ctx context.Context, path string, form url.Values, result any) {
	if c.err != nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	if err := c.post(ctx, c.base.JoinPath("api/v1", path).String(), form, result); err != nil {
		text := format.Shorten(format.Clean(err.Error()), 500)
		if _, tooLong := errors.AsType[*http.MaxBytesError](err); tooLong || errors.Is(err, context.DeadlineExceeded) {
			text += "; " + shorter
		}
		c.err = fmt.Errorf("query %q at Prometheus %s: %s", form.Get("query"), c.base, text)
	}
}

// post sends a form and decodes Prometheus' answer. A redirect is not followed: it would lose the query.
func (c *client) post(ctx context.Context, to string, form url.Values, result any) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, to, strings.NewReader(form.Encode()))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if c.token != "" {
		request.Header.Set("Authorization", "Bearer "+c.token)
	}
	response, err := http.DefaultTransport.RoundTrip(request)
	if err != nil {
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
	default:
		return fmt.Errorf("status %d: the answer is not from a Prometheus: give its URL as in a browser, without /api/v1 or /graph, "+
			"and check whether a login page is in front of it", status)
	}
}
