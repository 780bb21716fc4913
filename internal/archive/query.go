package archive

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

// patience is how long one question may take; Prometheus' own limit is the same.
const patience = 2 * time.Minute

// Options say which Prometheus to read.
type Options struct {
	URL   *url.URL // base URL, without user and password
	Token string   // bearer token; none if empty. It is sent to URL's host alone and is in no error
	Match []Match  // further labels that a series must have
}

// A Match is a label that a series must have.
type Match struct{ Label, Value string }

// An Archive is what a Prometheus has stored. It is not safe for concurrent use.
type Archive struct {
	api   v1.API
	place string // of it, for errors
	match []Match
	said  []string // warnings, each once
}

// Open makes an archive. It asks nothing yet.
func Open(o Options) (*Archive, error) {
	client, err := api.NewClient(api.Config{Address: o.URL.String(), Client: &http.Client{
		Transport:     &transport{token: o.Token, base: o.URL, most: mostBytes},
		CheckRedirect: redirected,
	}})
	if err != nil {
		return nil, fmt.Errorf("open Prometheus at %s: %w", o.URL.Redacted(), err)
	}
	return &Archive{api: v1.NewAPI(client), place: o.URL.Redacted(), match: o.Match}, nil
}

// Warnings are what Prometheus said of its own answers, each once.
func (a *Archive) Warnings() []string { return slices.Clone(a.said) }

// instant evaluates an expression at one moment.
func (a *Archive) instant(ctx context.Context, expr string, at time.Time) (model.Value, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	value, warnings, _, err := a.api.Query(ctx, expr, at)
	a.warn(warnings)
	if err != nil {
		return nil, a.failed(fmt.Sprintf("query %q at %s", expr, at.UTC().Format(time.RFC3339Nano)), err)
	}
	return value, nil
}

// steps evaluates an expression again and again.
func (a *Archive) steps(ctx context.Context, expr string, r v1.Range) (model.Matrix, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	value, warnings, _, err := a.api.QueryRange(ctx, expr, r)
	a.warn(warnings)
	matrix, ok := value.(model.Matrix)
	if err == nil && !ok {
		err = fmt.Errorf("the answer is a %s, want a matrix", value.Type())
	}
	if err != nil {
		return nil, a.failed(fmt.Sprintf("query %q from %s to %s", expr, r.Start.UTC().Format(time.RFC3339), r.End.UTC().Format(time.RFC3339)), err)
	}
	return matrix, nil
}

// series are the labels of the series that a selector finds in a range. Some may
// have no sample in it: an index is coarser than samples.
func (a *Archive) series(ctx context.Context, selector string, r Range) ([]model.LabelSet, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	sets, warnings, _, err := a.api.Series(ctx, []string{selector}, r.From, r.To)
	a.warn(warnings)
	if err != nil {
		return nil, a.failed(fmt.Sprintf("list the series %q", selector), err)
	}
	return sets, nil
}

func (a *Archive) warn(warnings []string) {
	for _, w := range warnings {
		if text := "Prometheus says: " + format.Shorten(format.Clean(w), 500); !slices.Contains(a.said, text) {
			a.said = append(a.said, text)
		}
	}
}

// failed says what was asked, of whom, what came of it, and what to do.
func (a *Archive) failed(asked string, err error) error {
	// The text of the client's own error has the whole URL, also of where it was redirected to.
	if sent, ok := errors.AsType[*url.Error](err); ok {
		err = sent.Err
	}
	return fmt.Errorf("%s at Prometheus %s: %w", asked, a.place, &askError{err: err})
}

// An askError is an error of a question with a hint.
type askError struct{ err error }

func (e *askError) Unwrap() error { return e.err }

func (e *askError) Error() string {
	text := format.Shorten(format.Clean(e.err.Error()), 500)
	if hint := e.hint(); hint != "" {
		text += "; " + hint
	}
	return text
}

func (e *askError) hint() string {
	if errors.Is(e.err, errTooLong) || errors.Is(e.err, context.DeadlineExceeded) {
		return "choose a shorter range (--from, --to) or one target (--target)"
	}
	told, ok := errors.AsType[*v1.Error](e.err)
	if !ok {
		return ""
	}
	for words, hint := range hints {
		if strings.HasSuffix(told.Msg, words) {
			return hint
		}
	}
	switch told.Type {
	case v1.ErrBadResponse:
		return "the answer is not from a Prometheus: check the URL, and whether a login page is in front of it"
	case v1.ErrTimeout, v1.ErrExec:
		return "if that is a limit of the server, choose a shorter range (--from, --to) or one target (--target)"
	}
	return ""
}

// hints are for the statuses that the client tells in words.
var hints = map[string]string{
	": 401": "it wants credentials: give a bearer token with --prometheus-token-file",
	": 403": "these credentials are not allowed to query it: check --prometheus-token-file",
	": 404": "there is no Prometheus API below that URL: give it as in a browser, without /api/v1 or /graph",
	": 405": "there is no Prometheus API below that URL: give it as in a browser, without /api/v1 or /graph",
}
