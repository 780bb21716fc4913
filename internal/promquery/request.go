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
	base   *url.URL
	token  string // bearer token; none if empty
	filter filter
	span   Range

	other   *Range // to compare with; nil if with another target or with nothing
	another string // target to compare with
}

// Parse reads a request. The problems are all that is wrong with it.
func (r Request) Parse(now time.Time) (Query, config.Problems) {
	q := Query{filter: filter{targets: r.Targets, model: r.Model, prompt: r.Prompt}}
	problems := slices.Concat(r.parseServer(&q), r.parseSpan(&q.span, now), r.parseVersus(&q, now))
	return q, problems
}

func (r Request) parseServer(q *Query) (problems config.Problems) {
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
		refuse("--prometheus", "user and password in the URL are not taken", "other users of this machine can see them: use --prometheus-token-file, or a proxy that knows the password")
	}
	q.base = u
	if r.TokenFile != "" {
		place := fmt.Sprintf("--prometheus-token-file=%q", r.TokenFile)
		token, err := os.ReadFile(r.TokenFile)
		if q.token = strings.TrimSpace(string(token)); err != nil {
			refuse(place, errors.Unwrap(err).Error(), "")
		} else if q.token == "" || strings.ContainsAny(q.token, "\r\n") {
			refuse(place, "not a token", "want one line, the token")
		}
	}
	for _, text := range r.Match {
		label, value, ok := strings.Cut(text, "=")
		if !ok || !labelName.MatchString(label) {
			refuse(fmt.Sprintf("--match=%q", text), "no label and value", "want for example job=prober")
		}
		q.filter.match = append(q.filter.match, label+oneOf(value))
	}
	return problems
}

// labelName is what Prometheus calls a label, without those of UTF-8.
var labelName = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_]*$`)

func (r Request) parseSpan(span *Range, now time.Time) config.Problems {
	var problems config.Problems
	for _, end := range []struct {
		flag, text string
		into       *time.Time
	}{{"from", r.From, &span.From}, {"to", r.To, &span.To}} {
		t, err := ParseTime(end.text, now)
		if err != nil {
			problems = append(problems, config.Problem{Place: fmt.Sprintf("--%s=%q", end.flag, end.text), Text: err.Error(), Hint: "want " + Times})
		}
		*end.into = t
	}
	if problems == nil && !span.From.Before(span.To) {
		problems = config.Problems{{Place: fmt.Sprintf("--from=%q --to=%q", r.From, r.To), Text: "the range is empty", Hint: "--from must be before --to; it is " + span.String()}}
	}
	return problems
}

// parseVersus finds out what to compare with: a duration, a range, or else the name of a
// target.
func (r Request) parseVersus(q *Query, now time.Time) config.Problems {
	if r.Versus == "" {
		return nil
	}
	place, problems := fmt.Sprintf("--vs=%q", r.Versus), config.Problems(nil)
	if len(r.Targets) != 1 {
		problems = append(problems, config.Problem{Place: place, Text: fmt.Sprintf("%d targets to compare with it", len(r.Targets)), Hint: "say which with one --target"})
	}
	if back, err := ParseAgo(strings.TrimPrefix(r.Versus, "-")); err == nil {
		other := q.span.Back(back.Truncate(time.Second))
		q.other = &other
		return problems
	}
	if other, ok := ParseRange(r.Versus, now); ok {
		q.other = &other
		if !other.From.Before(other.To) {
			problems = append(problems, config.Problem{Place: place, Text: "the range is empty", Hint: "FROM must be before TO; it is " + other.String()})
		}
		return problems
	}
	if q.another = r.Versus; slices.Contains(r.Targets, r.Versus) {
		problems = append(problems, config.Problem{Place: place, Text: "the same target", Hint: "want another one, how much earlier (24h, 7d), or a range, FROM/TO"})
	}
	return problems
}

// An Answer is what Prometheus stored of what was asked.
type Answer struct {
	Document report.Document

	query   Query
	client  *client
	records []record
}

// Run asks Prometheus.
func (q Query) Run(ctx context.Context) (*Answer, error) {
	c := &client{base: q.base, token: q.token}
	records, err := q.records(ctx, c)
	if err != nil {
		return nil, err
	}
	d := report.Document{Source: "Prometheus at " + q.base.String() + ", " + q.span.String(), Started: q.span.From}
	for _, r := range records {
		d.Summaries = append(d.Summaries, r.summary)
	}
	if q.compares() {
		comparison, err := q.compare(ctx, c, records[0], records[1])
		if err != nil {
			return nil, err
		}
		d.Comparisons = []report.Comparison{comparison}
	}
	d.Warnings = c.warnings
	return &Answer{Document: d, query: q, client: c, records: records}, nil
}

func (q Query) compares() bool { return q.other != nil || q.another != "" }

// records are those that were asked for: two, if they are to be compared.
func (q Query) records(ctx context.Context, c *client) ([]record, error) {
	r := reader{client: c, filter: q.filter, span: q.span}
	first, err := r.records(ctx)
	if err != nil || !q.compares() {
		return first, err
	}
	if q.other != nil {
		r.span = *q.other
	} else {
		r.filter.targets = []string{q.another}
	}
	second, err := r.records(ctx)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(single(first), single(second)); err != nil {
		return nil, err
	}
	return []record{first[0], second[0]}, nil
}

// single says that there is more than one record, and which.
func single(records []record) error {
	if len(records) == 1 {
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
