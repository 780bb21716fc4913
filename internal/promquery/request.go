package promquery

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/common/model"

	"github.com/llm-prober/prober/internal/config"
	"github.com/llm-prober/prober/internal/report"
)

// A Request is what the command line asks for, as it was typed.
type Request struct {
	Prometheus, TokenFile string
	Match                 []string

	From, To, Versus string
	Targets          []string
	Model, Prompt    string
}

// A Query is a valid Request, and what Prometheus answered.
type Query struct {
	Document report.Document // as of [Query.Run]

	reader  reader
	other   *reader // of what to compare with, another range or another target; nil if with nothing
	records []record
}

// labelName is what Prometheus calls a label, without those of UTF-8.
var labelName = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_]*$`)

// Parse reads a request. The problems are all that is wrong with it.
func (r Request) Parse(now time.Time) (*Query, config.Problems) {
	var problems config.Problems
	refuse := func(place, text, hint string) {
		problems = append(problems, config.Problem{Place: place, Text: text, Hint: hint})
	}
	const example = "want the base URL of a Prometheus, for example http://localhost:9090"
	u, err := url.Parse(r.Prometheus)
	switch {
	case r.Prometheus == "":
		refuse("--prometheus", "missing", example)
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.RawQuery != "" || u.Fragment != "":
		refuse("--prometheus", "not a base URL", example)
	case u.User != nil:
		refuse("--prometheus", "user and password in the URL are not taken",
			"other users of this machine can see them: use --prometheus-token-file, or a proxy that knows the password")
	}
	q := &Query{reader: reader{client: &client{base: u}, targets: r.Targets}}
	if r.TokenFile != "" {
		place := fmt.Sprintf("--prometheus-token-file=%q", r.TokenFile)
		token, err := os.ReadFile(r.TokenFile)
		if q.reader.token = strings.TrimSpace(string(token)); err != nil {
			refuse(place, errors.Unwrap(err).Error(), "")
		} else if q.reader.token == "" || strings.ContainsAny(q.reader.token, "\r\n") {
			refuse(place, "not a token", "want one line, the token")
		}
	}
	for _, text := range r.Match {
		label, value, ok := strings.Cut(text, "=")
		if !ok || !labelName.MatchString(label) {
			refuse(fmt.Sprintf("--match=%q", text), "no label and value", "want for example job=prober")
		}
		q.reader.match = append(q.reader.match, label+oneOf(value))
	}
	if r.Model != "" {
		q.reader.match = append(q.reader.match, "model"+oneOf(r.Model))
	}
	if r.Prompt != "" {
		q.reader.match = append(q.reader.match, "prompt"+oneOf(r.Prompt))
	}
	r.parseSpans(q, now, refuse)
	return q, problems
}

// parseSpans reads the range, and what to compare with: a duration, a range, or else the name of a target.
func (r Request) parseSpans(q *Query, now time.Time, refuse func(place, text, hint string)) {
	from, isFrom := parseTime(r.From, now)
	to, isTo := parseTime(r.To, now)
	q.reader.span = timeRange{from, to}
	if !isFrom {
		refuse(fmt.Sprintf("--from=%q", r.From), "no time", "want "+times)
	}
	if !isTo {
		refuse(fmt.Sprintf("--to=%q", r.To), "no time", "want "+times)
	}
	if isFrom && isTo && !from.Before(to) {
		refuse(fmt.Sprintf("--from=%q --to=%q", r.From, r.To), "the range is empty", "--from must be before --to; it is "+q.reader.span.String())
	}
	if r.Versus == "" {
		return
	}
	place := fmt.Sprintf("--vs=%q", r.Versus)
	if len(r.Targets) != 1 {
		refuse(place, fmt.Sprintf("%d targets to compare with it", len(r.Targets)), "say which with one --target")
	}
	other := q.reader
	if back, ok := parseAgo(r.Versus); ok {
		other.span = timeRange{from.Add(-back), to.Add(-back)}
	} else if span, ok := parseRange(r.Versus, now); ok {
		if other.span = span; !span.from.Before(span.to) {
			refuse(place, "the range is empty", "FROM must be before TO; it is "+span.String())
		}
	} else if other.targets = []string{r.Versus}; slices.Contains(r.Targets, r.Versus) {
		refuse(place, "the same target", "want another one, how much earlier (24h, 7d), or a range, FROM/TO")
	}
	q.other = &other
}

// twoRanges reports whether two ranges are compared.
func (q *Query) twoRanges() bool { return q.other != nil && q.other.span != q.reader.span }

// Run asks Prometheus.
func (q *Query) Run(ctx context.Context) (err error) {
	if q.records, err = q.reader.records(ctx); err != nil {
		return err
	}
	d := &q.Document
	d.Source, d.Started = fmt.Sprintf("Prometheus at %s, %s; counts are increases, which it extrapolates to the ends of this range",
		q.reader.base, q.reader.span), q.reader.span.from
	if q.other != nil {
		others, err := q.other.records(ctx)
		if err = errors.Join(err, single(q.records), single(others)); err != nil {
			return err
		}
		comparison, err := q.reader.compare(ctx, q.records[0], others[0])
		if err != nil {
			return err
		}
		q.records, d.Comparisons = append(q.records, others...), []report.Comparison{comparison}
	}
	for _, r := range q.records {
		if q.twoRanges() {
			r.summary.Load = r.span.String()
		}
		d.Summaries = append(d.Summaries, r.summary)
	}
	d.Warnings = q.reader.warnings
	return nil
}

// single says that there is more than one record, and which.
func single(records []record) error {
	var names []string
	for _, r := range records {
		names = append(names, fmt.Sprintf("model %s, prompt %s: %d requests", r.model, r.prompt, r.requests()))
	}
	if len(names) < 2 {
		return nil
	}
	return fmt.Errorf("target %s has several series %s (%s): choose with --model and --prompt", records[0].target, records[0].span, strings.Join(names, "; "))
}

// WriteText writes the answer for a terminal of so many columns. The error is that of w.
func (q *Query) WriteText(w io.Writer, width int) error {
	var text bytes.Buffer // writing to it never fails
	fmt.Fprintln(&text, q.Document.Source)
	for _, s := range q.Document.Summaries {
		fmt.Fprintln(&text)
		_ = report.WriteBlock(&text, s)
	}
	for _, c := range q.Document.Comparisons {
		fmt.Fprintln(&text)
		_ = report.WriteComparison(&text, c, width)
	}
	for _, warning := range q.Document.Warnings {
		fmt.Fprintln(&text, "warning: "+warning)
	}
	_, err := text.WriteTo(w)
	return err
}

// A timeRange is a range of stored time: after from, up to to, both in whole seconds of UTC.
type timeRange struct{ from, to time.Time }

func (r timeRange) length() time.Duration { return r.to.Sub(r.from) }

func (r timeRange) String() string { return "from " + timestamp(r.from) + " to " + timestamp(r.to) }

func timestamp(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") }

// times is how a time may be written, for hints.
const times = `a time (2026-11-01T15:04:05Z), a day (2026-11-01, from midnight UTC), seconds since 1970, "now", or how long ago (24h, 7d)`

// parseTime reads one of [times], to the second.
func parseTime(text string, now time.Time) (t time.Time, ok bool) {
	s, err := strconv.ParseFloat(text, 64)
	switch ago, isAgo := parseAgo(text); {
	case text == "now" || isAgo:
		return now.Add(-ago).UTC().Truncate(time.Second), true
	case err == nil && s >= 1e9 && s < 1e11: // less is a slip: "24" for "24h"
		return time.Unix(int64(s), 0).UTC(), true
	}
	for _, layout := range []string{time.RFC3339, time.DateOnly} {
		if t, err := time.Parse(layout, text); err == nil {
			return t.UTC().Truncate(time.Second), true
		}
	}
	return t, false
}

// parseAgo reads a duration as Prometheus writes them, 90m, 7d, 1h30m or -24h, to the second. It is a second at least.
func parseAgo(text string) (d time.Duration, ok bool) {
	ago, err := model.ParseDuration(strings.TrimPrefix(text, "-"))
	d = time.Duration(ago).Truncate(time.Second)
	return d, err == nil && d > 0
}

// parseRange reads FROM/TO, and says whether it is that at all: a slash between two times.
func parseRange(text string, now time.Time) (r timeRange, ok bool) {
	from, to, _ := strings.Cut(text, "/")
	r.from, ok = parseTime(from, now)
	var isTo bool
	r.to, isTo = parseTime(to, now)
	return r, ok && isTo
}
