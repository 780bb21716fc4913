package promquery

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/common/model"

	"github.com/llm-prober/prober/internal/usage"
)

// A Request is the flags of the command line, as they were typed.
type Request struct {
	Prometheus string   // base URL
	TokenFile  string   // with a bearer token; empty if there is none
	Match      []string // label=value

	From, To     string   // see timeFormats
	Targets      []string // nil for all
	Versus       string   // how much earlier, FROM/TO, or a target; empty if nothing is compared
	BudgetWindow string   // 30d
}

// Parse checks a request, and returns its query. The problems are all that is wrong with it.
func (r Request) Parse(now time.Time) (*Query, usage.Problems) {
	var problems usage.Problems
	now = now.UTC().Truncate(time.Second)
	q := &Query{
		reader: reader{
			client: r.parseClient(&problems),
			window: r.parseWindow(&problems),
		},
		selection: selection{
			targets:  r.Targets,
			matchers: r.parseMatch(&problems),
			span:     r.parseSpan(now, &problems),
		},
	}
	if r.Versus != "" {
		q.other = r.parseVersus(q.selection, now, &problems)
	}
	return q, problems
}

// parseClient reads the URL and the token, and returns a client for them. It is nil if there is a problem.
func (r Request) parseClient(problems *usage.Problems) *client {
	before := len(*problems)
	const example = "want the base URL of a Prometheus, for example http://localhost:9090"
	u, err := url.Parse(r.Prometheus)
	switch {
	case r.Prometheus == "":
		problems.Add("--prometheus", "missing", example)
	case err != nil || !isBaseURL(u):
		problems.Add("--prometheus", "not a base URL", example)
	case u.User != nil:
		problems.Add("--prometheus", "user and password in the URL are not taken",
			"other users of this machine can see them: use --prometheus-token-file, or a proxy that knows the password")
	}
	token := r.readToken(problems)
	if len(*problems) > before {
		return nil
	}
	c, err := newClient(u.String(), transport{token: token, maxBytes: maxAnswerBytes})
	if err != nil {
		problems.Add("--prometheus", "not a base URL", example)
	}
	return c
}

// isBaseURL reports whether paths of an API may be appended to u.
func isBaseURL(u *url.URL) bool {
	isHTTP := u.Scheme == "http" || u.Scheme == "https"
	return isHTTP && u.Host != "" && u.RawQuery == "" && u.Fragment == ""
}

// readToken reads the file with the token. It returns an empty token if no file is named.
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

// parseMatch reads the matchers of series, and returns them in PromQL.
func (r Request) parseMatch(problems *usage.Problems) (matchers []string) {
	for _, text := range r.Match {
		label, value, ok := strings.Cut(text, "=")
		if !ok || !model.LegacyValidation.IsValidLabelName(label) {
			problems.Add(fmt.Sprintf("--match=%q", text), "not a label and its value", "want for example job=prober")
		}
		matchers = append(matchers, label+equals(value))
	}
	return matchers
}

// maxWindow is the longest window of error budgets. It is read hour by hour, and Prometheus answers with no more than
// 11,000 values of a series (https://github.com/prometheus/prometheus/blob/main/web/api/v1/api.go).
const maxWindow = 11_000 * time.Hour

// parseWindow reads the window of error budgets.
func (r Request) parseWindow(problems *usage.Problems) time.Duration {
	place := usage.FlagPlace("budget-window", r.BudgetWindow)
	parsed, err := model.ParseDuration(r.BudgetWindow)
	window := time.Duration(parsed)
	switch {
	case err != nil || window < time.Hour || window%time.Hour != 0:
		problems.Add(place, "not in whole hours", "want for example 12h or 30d")
	case window > maxWindow:
		problems.Add(place, "too long", "Prometheus answers with at most 11,000 hours: want 1y or less")
	}
	return window
}

// parseSpan reads the range of time.
func (r Request) parseSpan(now time.Time, problems *usage.Problems) timeRange {
	span, fromOK, toOK := parseRange(r.From, r.To, now)
	placeOfFrom := usage.FlagPlace("from", r.From)
	placeOfTo := usage.FlagPlace("to", r.To)
	if !fromOK {
		problems.Add(placeOfFrom, "not a time", "want "+timeFormats)
	}
	if !toOK {
		problems.Add(placeOfTo, "not a time", "want "+timeFormats)
	}
	if fromOK && toOK && span.length() <= 0 {
		problems.Add(placeOfFrom+" "+placeOfTo, "the range is empty", "--from must be before --to; it is "+span.String())
	}
	return span
}

// parseVersus returns the other side of a comparison with a selection. The flag says how much earlier it is, or another
// range, or else the name of another target.
func (r Request) parseVersus(reference selection, now time.Time, problems *usage.Problems) *selection {
	place := usage.FlagPlace("vs", r.Versus)
	if len(r.Targets) != 1 {
		problems.Add(place, fmt.Sprintf("needs exactly one --target, not %d", len(r.Targets)), "say what to compare with it")
	}
	other := selection{targets: reference.targets, matchers: reference.matchers, span: reference.span}
	back, err := model.ParseDuration(r.Versus)
	from, to, _ := strings.Cut(r.Versus, "/")
	span, fromOK, toOK := parseRange(from, to, now)
	switch {
	case err == nil:
		other.span = reference.span.earlier(time.Duration(back))
	case fromOK && toOK:
		other.span = span
		if span.length() <= 0 {
			problems.Add(place, "the range is empty", "FROM must be before TO; it is "+span.String())
		}
	default:
		other.targets = []string{r.Versus}
	}
	if other.span == reference.span && slices.Equal(other.targets, r.Targets) {
		problems.Add(place, "the same target and range",
			"want another target, how much earlier (24h, 7d), or a range, FROM/TO")
	}
	return &other
}

// A timeRange is a range of stored time. It begins after from and ends with to.
type timeRange struct{ from, to time.Time }

// length returns the length of r.
func (r timeRange) length() time.Duration { return r.to.Sub(r.from) }

// earlier returns r moved back by some time.
func (r timeRange) earlier(by time.Duration) timeRange {
	return timeRange{from: r.from.Add(-by), to: r.to.Add(-by)}
}

// String returns r as part of a sentence: "from 2026-11-01 00:00:00 UTC to 2026-11-02 00:00:00 UTC".
func (r timeRange) String() string { return "from " + timestamp(r.from) + " to " + timestamp(r.to) }

// timestamp writes a time in UTC.
func timestamp(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") }

// duration writes a duration as Prometheus does: 7d, 1h12m.
func duration(d time.Duration) string { return model.Duration(d.Round(time.Second)).String() }

// timeFormats says in hints how a time may be written.
const timeFormats = `a time (2026-11-01T15:04:05Z), a day (2026-11-01, from midnight UTC), "now", ` +
	`or how long ago (24h, 7d)`

// parseTime reads a time in one of the formats of [timeFormats].
func parseTime(text string, now time.Time) (t time.Time, ok bool) {
	if text == "now" {
		return now, true
	}
	ago, err := model.ParseDuration(text)
	if err == nil {
		return now.Add(-time.Duration(ago)), true
	}
	for _, layout := range []string{time.RFC3339, time.DateOnly} {
		t, err := time.Parse(layout, text)
		if err == nil {
			return t.UTC(), true
		}
	}
	return t, false
}

// parseRange reads both ends of a range, and reports which of them are times.
func parseRange(from, to string, now time.Time) (r timeRange, fromOK, toOK bool) {
	r.from, fromOK = parseTime(from, now)
	r.to, toOK = parseTime(to, now)
	return r, fromOK, toOK
}
