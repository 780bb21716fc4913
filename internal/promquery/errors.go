package promquery

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	promv1 "github.com/prometheus/client_golang/api/prometheus/v1"

	"github.com/llm-prober/prober/internal/format"
)

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
