package promquery

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

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

// A Query is a valid Request.
type Query struct {
	client client
	filter filter
	span   timeRange

	other   *timeRange // to compare with; nil if with another target or with nothing
	another string     // target to compare with
}

// Parse reads a request. The problems are all that is wrong with it.
func (r Request) Parse(now time.Time) (q Query, problems config.Problems) {
	refuse := func(place, text, hint string) {
		problems = append(problems, config.Problem{Place: place, Text: text, Hint: hint})
	}
	r.parseServer(&q, refuse)
	r.parseFilter(&q, refuse)
	r.parseSpans(&q, now, refuse)
	return q, problems
}

func (r Request) parseServer(q *Query, refuse func(place, text, hint string)) {
	const example = "want the base URL of a Prometheus, for example http://localhost:9090"
	u, err := url.Parse(r.Prometheus)
	switch {
	case r.Prometheus == "":
		refuse("--prometheus", "missing", example)
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.RawQuery != "" || u.Fragment != "":
		refuse("--prometheus", "not a base URL", example)
	case u.User != nil:
		refuse("--prometheus", "user and password in the URL are not taken", "other users of this machine can see them: use --prometheus-token-file, or a proxy that knows the password")
	}
	q.client.base = u
	if r.TokenFile == "" {
		return
	}
	place := fmt.Sprintf("--prometheus-token-file=%q", r.TokenFile)
	token, err := os.ReadFile(r.TokenFile)
	if q.client.token = strings.TrimSpace(string(token)); err != nil {
		refuse(place, errors.Unwrap(err).Error(), "")
	} else if q.client.token == "" || strings.ContainsAny(q.client.token, "\r\n") {
		refuse(place, "not a token", "want one line, the token")
	}
}

// labelName is what Prometheus calls a label, without those of UTF-8.
var labelName = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_]*$`)

func (r Request) parseFilter(q *Query, refuse func(place, text, hint string)) {
	q.filter.targets = r.Targets
	if r.Model != "" {
		q.filter.match = append(q.filter.match, "model"+oneOf(r.Model))
	}
	if r.Prompt != "" {
		q.filter.match = append(q.filter.match, "prompt"+oneOf(r.Prompt))
	}
	for _, text := range r.Match {
		label, value, ok := strings.Cut(text, "=")
		if !ok || !labelName.MatchString(label) {
			refuse(fmt.Sprintf("--match=%q", text), "no label and value", "want for example job=prober")
		}
		q.filter.match = append(q.filter.match, label+oneOf(value))
	}
}

// parseSpans reads the range, and what to compare with: a duration, a range, or else the name of a target.
func (r Request) parseSpans(q *Query, now time.Time, refuse func(place, text, hint string)) {
	from, isFrom := parseTime(r.From, now)
	to, isTo := parseTime(r.To, now)
	q.span = timeRange{from, to}
	if !isFrom {
		refuse(fmt.Sprintf("--from=%q", r.From), "no time", "want "+times)
	}
	if !isTo {
		refuse(fmt.Sprintf("--to=%q", r.To), "no time", "want "+times)
	}
	if isFrom && isTo && !from.Before(to) {
		refuse(fmt.Sprintf("--from=%q --to=%q", r.From, r.To), "the range is empty", "--from must be before --to; it is "+q.span.String())
	}
	if r.Versus == "" {
		return
	}
	place := fmt.Sprintf("--vs=%q", r.Versus)
	if len(r.Targets) != 1 {
		refuse(place, fmt.Sprintf("%d targets to compare with it", len(r.Targets)), "say which with one --target")
	}
	if back, ok := parseAgo(r.Versus); ok {
		q.other = &timeRange{from.Add(-back), to.Add(-back)}
	} else if other, ok := parseRange(r.Versus, now); ok {
		if q.other = &other; !other.from.Before(other.to) {
			refuse(place, "the range is empty", "FROM must be before TO; it is "+other.String())
		}
	} else if q.another = r.Versus; slices.Contains(r.Targets, r.Versus) {
		refuse(place, "the same target", "want another one, how much earlier (24h, 7d), or a range, FROM/TO")
	}
}

// An Answer is what Prometheus stored of what was asked.
type Answer struct {
	Document report.Document

	query   Query
	records []record
}

// Run asks Prometheus.
func (q Query) Run(ctx context.Context) (*Answer, error) {
	r := reader{client: &q.client, filter: q.filter, span: q.span}
	records, err := r.records(ctx)
	if err != nil {
		return nil, err
	}
	d := report.Document{Source: "Prometheus at " + q.client.base.String() + ", " + q.span.String(), Started: q.span.from}
	if q.other != nil || q.another != "" {
		if q.other != nil {
			r.span = *q.other
		} else {
			r.filter.targets = []string{q.another}
		}
		others, err := r.records(ctx)
		if err = errors.Join(err, single(records), single(others)); err != nil {
			return nil, err
		}
		comparison, err := r.compare(ctx, records[0], others[0])
		if err != nil {
			return nil, err
		}
		records, d.Comparisons = append(records, others...), []report.Comparison{comparison}
	}
	for _, r := range records {
		d.Summaries = append(d.Summaries, r.summary)
	}
	d.Warnings = q.client.warnings
	return &Answer{Document: d, query: q, records: records}, nil
}

// single says that there is more than one record, and which.
func single(records []record) error {
	if len(records) < 2 {
		return nil
	}
	var names []string
	for _, r := range records {
		names = append(names, fmt.Sprintf("model %s, prompt %s: %d requests", r.model, r.prompt, r.requests()))
	}
	return fmt.Errorf("target %s has several series %s (%s): choose with --model and --prompt", records[0].target, records[0].span, strings.Join(names, "; "))
}

// WriteText writes the answer for a terminal of so many columns.
func (a *Answer) WriteText(w io.Writer, width int) error {
	fmt.Fprintln(w, a.Document.Source)
	for i, s := range a.Document.Summaries {
		fmt.Fprintln(w)
		if span := a.records[i].span.String(); a.query.other != nil {
			fmt.Fprintln(w, strings.ToUpper(span[:1])+span[1:])
		}
		if err := report.WriteBlock(w, s); err != nil {
			return err
		}
	}
	for _, c := range a.Document.Comparisons {
		fmt.Fprintln(w)
		if err := report.WriteComparison(w, c, width); err != nil {
			return err
		}
	}
	for _, text := range a.Document.Warnings {
		fmt.Fprintln(w, "warning: "+text)
	}
	return nil
}
