package promquery

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/common/model"

	"github.com/llm-prober/prober/internal/report"
	"github.com/llm-prober/prober/internal/usage"
)

// A Request is what the command line asks for, as it was typed.
type Request struct {
	Prometheus, TokenFile string
	Match                 []string

	From, To, Versus string
	Targets          []string
	BudgetWindow     string
}

// A Query is a valid Request, and what Prometheus answered.
type Query struct {
	Document report.Document // as of [Query.Run]

	reader reader
	other  *reader // of what to compare with, another range or another target; nil if with nothing
}

// Parse reads a request. The problems are all that is wrong with it.
func (r Request) Parse(now time.Time) (*Query, usage.Problems) {
	var problems usage.Problems
	q := &Query{reader: reader{client: r.parseClient(&problems), targets: r.Targets}}
	for _, text := range r.Match {
		label, value, ok := strings.Cut(text, "=")
		if !ok || !model.LegacyValidation.IsValidLabelName(label) {
			problems.Add(fmt.Sprintf("--match=%q", text), "no label and value", "want for example job=prober")
		}
		q.reader.match = append(q.reader.match, label+oneOf(value))
	}
	window, err := model.ParseDuration(r.BudgetWindow)
	if q.reader.window = time.Duration(window); err != nil || q.reader.window < time.Hour || q.reader.window%time.Hour != 0 {
		problems.Add(usage.FlagPlace("budget-window", r.BudgetWindow), "not in whole hours", "want for example 12h or 30d")
	}
	r.parseSpans(q, now.UTC().Truncate(time.Second), &problems)
	return q, problems
}

// parseClient reads the URL and the token, and makes a client of them. It is nil if there is a problem.
func (r Request) parseClient(problems *usage.Problems) *client {
	before := len(*problems)
	const example = "want the base URL of a Prometheus, for example http://localhost:9090"
	u, err := url.Parse(r.Prometheus)
	switch {
	case r.Prometheus == "":
		problems.Add("--prometheus", "missing", example)
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.RawQuery != "" || u.Fragment != "":
		problems.Add("--prometheus", "not a base URL", example)
	case u.User != nil:
		problems.Add("--prometheus", "user and password in the URL are not taken",
			"other users of this machine can see them: use --prometheus-token-file, or a proxy that knows the password")
	}
	token := r.readToken(problems)
	if len(*problems) > before {
		return nil
	}
	c, err := newClient(u.String(), transport{token, maxAnswerBytes})
	if err != nil {
		problems.Add("--prometheus", "not a base URL", example)
	}
	return c
}

// readToken reads the file with the token, which is empty if there is none.
func (r Request) readToken(problems *usage.Problems) string {
	if r.TokenFile == "" {
		return ""
	}
	place := usage.FlagPlace("prometheus-token-file", r.TokenFile)
	content, err := os.ReadFile(r.TokenFile)
	if err != nil {
		problems.Add(place, errors.Unwrap(err).Error(), "want a file with one line, the token")
		return ""
	}
	token := strings.TrimSpace(string(content))
	if token == "" || strings.ContainsAny(token, "\r\n") {
		problems.Add(place, "not a token", "want one line, the token")
	}
	return token
}

// parseSpans reads the range, and what to compare with: a duration, a range, or else the name of a target.
func (r Request) parseSpans(q *Query, now time.Time, problems *usage.Problems) {
	span, isFrom, isTo := parseRange(r.From, r.To, now)
	q.reader.span = span
	if !isFrom {
		problems.Add(usage.FlagPlace("from", r.From), "no time", "want "+times)
	}
	if !isTo {
		problems.Add(usage.FlagPlace("to", r.To), "no time", "want "+times)
	}
	if isFrom && isTo && span.length() <= 0 {
		problems.Add(usage.FlagPlace("from", r.From)+" "+usage.FlagPlace("to", r.To),
			"the range is empty", "--from must be before --to; it is "+span.String())
	}
	if r.Versus == "" {
		return
	}
	place := usage.FlagPlace("vs", r.Versus)
	if len(r.Targets) != 1 {
		problems.Add(place, fmt.Sprintf("%d targets to compare with it", len(r.Targets)), "say which with one --target")
	}
	other := q.reader
	from, to, _ := strings.Cut(r.Versus, "/")
	if back, err := model.ParseDuration(r.Versus); err == nil {
		other.span = timeRange{span.from.Add(-time.Duration(back)), span.to.Add(-time.Duration(back))}
	} else if earlier, isFrom, isTo := parseRange(from, to, now); isFrom && isTo {
		if other.span = earlier; earlier.length() <= 0 {
			problems.Add(place, "the range is empty", "FROM must be before TO; it is "+earlier.String())
		}
	} else {
		other.targets = []string{r.Versus}
	}
	if other.span == span && slices.Equal(other.targets, r.Targets) {
		problems.Add(place, "the same target and range", "want another target, how much earlier (24h, 7d), or a range, FROM/TO")
	}
	q.other = &other
}

func (q *Query) twoRanges() bool { return q.other != nil && q.other.span != q.reader.span }

// Run asks Prometheus.
func (q *Query) Run(ctx context.Context) error {
	records, err := q.reader.records(ctx)
	if err != nil {
		return err
	}
	d := &q.Document
	d.Source, d.Started = fmt.Sprintf("Prometheus at %s, %s; counts are increases, which it extrapolates to the ends of this range",
		q.reader.base, q.reader.span), q.reader.span.from
	if q.other != nil {
		others, err := q.other.records(ctx)
		if err != nil {
			return err
		}
		for _, side := range [][]*record{records, others} {
			if len(side) > 1 {
				return fmt.Errorf("%s and %s have data %s: choose one with --match model=… or --match prompt=…",
					side[0].summary.Target, side[1].summary.Target, side[0].span)
			}
		}
		records = append(records, others...)
		if others[0].span.from.Before(records[0].span.from) { // differences are new − old
			slices.Reverse(records)
		}
		d.Comparisons = []report.Comparison{q.reader.compare(ctx, records[0], records[1])}
	}
	for _, r := range records {
		if q.twoRanges() {
			r.summary.Load = r.span.String()
		}
		d.Summaries = append(d.Summaries, r.summary)
	}
	d.Warnings = q.reader.warnings
	return q.reader.err
}

// A timeRange is a range of stored time: after from, up to to.
type timeRange struct{ from, to time.Time }

func (r timeRange) length() time.Duration { return r.to.Sub(r.from) }

func (r timeRange) String() string { return "from " + timestamp(r.from) + " to " + timestamp(r.to) }

func timestamp(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") }

// times is how a time may be written, for hints.
const times = `a time (2026-11-01T15:04:05Z), a day (2026-11-01, from midnight UTC), "now", or how long ago (24h, 7d)`

func parseTime(text string, now time.Time) (t time.Time, ok bool) {
	if ago, err := model.ParseDuration(text); err == nil || text == "now" {
		return now.Add(-time.Duration(ago)), true
	}
	for _, layout := range []string{time.RFC3339, time.DateOnly} {
		if t, err := time.Parse(layout, text); err == nil {
			return t.UTC(), true
		}
	}
	return t, false
}

func parseRange(from, to string, now time.Time) (r timeRange, isFrom, isTo bool) {
	r.from, isFrom = parseTime(from, now)
	r.to, isTo = parseTime(to, now)
	return r, isFrom, isTo
}
