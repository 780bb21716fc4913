package main

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

	"github.com/spf13/cobra"

	"github.com/llm-prober/prober/internal/archive"
	"github.com/llm-prober/prober/internal/config"
	"github.com/llm-prober/prober/internal/report"
)

// An inquiry is what the report verb is asked, as it was typed.
type inquiry struct {
	prometheus, tokenFile string
	match                 []string

	from, to, vs  string
	targets       []string
	model, prompt string

	format, plot string
}

func newReport() *cobra.Command {
	var q inquiry
	cmd := &cobra.Command{
		Use:   "report --prometheus URL",
		Short: "Tell from what Prometheus stored what a bench tells: blocks and comparisons",
		Long: `Report reads from a Prometheus what probers told it, and writes for each target the block
that "prober bench" writes of its own requests. Counts are exact, over restarts of the
prober too; quantiles are those of the stored buckets. With --vs it compares a target with
another one, or with itself in another range of time.

A time is an RFC 3339 time, a day (from midnight UTC), seconds since 1970, "now", or how
long ago: 24h, 7d. Times are told in UTC.

Exit code: 0 if there was something to tell, 1 if not, 2 for usage.`,
		Example: `  prober report --prometheus http://localhost:9090
  prober report --prometheus http://localhost:9090 --from 7d --target vllm-a --vs vllm-b
  prober report --prometheus http://localhost:9090 --target vllm-a --vs 7d --plot week.html
  prober report --prometheus http://localhost:9090 --from 2026-11-01 --to 2026-11-08 --format json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			i, err := q.parse(time.Now())
			if err != nil {
				return err
			}
			return i.run(cmd.Context(), cmd.OutOrStdout())
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&q.prometheus, "prometheus", "", "base URL of the Prometheus, or of what has its API")
	flags.StringVar(&q.tokenFile, "prometheus-token-file", "", "file with a bearer token for it")
	flags.StringArrayVar(&q.match, "match", nil, "label=value that series must have, for example job=prober; may be given more than once")
	flags.StringVar(&q.from, "from", "24h", "begin of the range")
	flags.StringVar(&q.to, "to", "now", "end of the range")
	flags.StringArrayVar(&q.targets, "target", nil, "target to tell of; may be given more than once; all if none is")
	flags.StringVar(&q.vs, "vs", "", "what to compare the target with: the name of another; how much earlier (24h, 7d); or another range, FROM/TO")
	flags.StringVar(&q.model, "model", "", "model to tell of, where a target had several")
	flags.StringVar(&q.prompt, "prompt", "", "workload to tell of, where a target had several")
	flags.StringVar(&q.format, "format", "text", "text, json, csv or markdown")
	flags.StringVar(&q.plot, "plot", "", "file for the charts, .svg or .html")
	return cmd
}

// An investigation is an inquiry that makes sense.
type investigation struct {
	options archive.Options
	filter  archive.Filter
	span    archive.Range

	other   *archive.Range // to compare with; nil if with another target or with nothing
	another string         // target to compare with
	format  string
	plot    string
}

// parse reads an inquiry. The error holds all that is wrong with it.
func (q inquiry) parse(now time.Time) (investigation, error) {
	i := investigation{
		format: q.format, plot: q.plot,
		filter: archive.Filter{Targets: q.targets, Model: q.model, Prompt: q.prompt},
	}
	problems := slices.Concat(q.parseServer(&i.options), q.parseSpan(&i.span, now), q.parseVersus(&i, now), judgeFormat(q.format), judgePlot(q.plot))
	if problems != nil {
		return i, problems
	}
	return i, nil
}

func (q inquiry) parseServer(o *archive.Options) config.Problems {
	var problems config.Problems
	u, err := url.Parse(q.prometheus)
	switch {
	case q.prometheus == "":
		problems = append(problems, config.Problem{Place: "--prometheus", Text: "missing", Hint: "want the URL of a Prometheus, for example http://localhost:9090"})
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		problems = append(problems, config.Problem{Place: "--prometheus", Text: "no URL", Hint: "want for example http://localhost:9090"})
	case u.User != nil:
		problems = append(problems, config.Problem{Place: "--prometheus", Text: "user and password in the URL are not taken", Hint: "what is typed here is seen by others: use --prometheus-token-file, or a proxy that knows the password"})
	case u.RawQuery != "" || u.Fragment != "":
		problems = append(problems, config.Problem{Place: "--prometheus", Text: "a query or fragment in the URL", Hint: "want the base URL, for example http://localhost:9090"})
	}
	o.URL = u
	if q.tokenFile != "" {
		token, err := os.ReadFile(q.tokenFile)
		if o.Token = strings.TrimSpace(string(token)); err != nil {
			problems = append(problems, config.Problem{Place: fmt.Sprintf("--prometheus-token-file=%q", q.tokenFile), Text: errors.Unwrap(err).Error()})
		} else if o.Token == "" || strings.ContainsAny(o.Token, "\r\n") {
			problems = append(problems, config.Problem{Place: fmt.Sprintf("--prometheus-token-file=%q", q.tokenFile), Text: "not a token", Hint: "want one line, the token"})
		}
	}
	for _, text := range q.match {
		label, value, ok := strings.Cut(text, "=")
		if ok = ok && labelName.MatchString(label); !ok {
			problems = append(problems, config.Problem{Place: fmt.Sprintf("--match=%q", text), Text: "no label and value", Hint: "want for example job=prober"})
		}
		o.Match = append(o.Match, archive.Match{Label: label, Value: value})
	}
	return problems
}

// labelName is what Prometheus calls a label, without those of UTF-8.
var labelName = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_]*$`)

func (q inquiry) parseSpan(span *archive.Range, now time.Time) config.Problems {
	var problems config.Problems
	for _, end := range []struct {
		flag, text string
		into       *time.Time
	}{{"from", q.from, &span.From}, {"to", q.to, &span.To}} {
		t, err := archive.ParseTime(end.text, now)
		if err != nil {
			problems = append(problems, config.Problem{Place: fmt.Sprintf("--%s=%q", end.flag, end.text), Text: err.Error(), Hint: "want " + archive.Times})
		}
		*end.into = t
	}
	if problems == nil && !span.From.Before(span.To) {
		problems = config.Problems{{Place: fmt.Sprintf("--from=%q --to=%q", q.from, q.to), Text: "the range is empty", Hint: "--from must be before --to; it is " + span.String()}}
	}
	return problems
}

// parseVersus finds out what to compare with. What is neither a length of time
// nor a range is a target.
func (q inquiry) parseVersus(i *investigation, now time.Time) config.Problems {
	if q.vs == "" {
		return nil
	}
	place, problems := fmt.Sprintf("--vs=%q", q.vs), config.Problems(nil)
	if len(q.targets) != 1 {
		problems = append(problems, config.Problem{Place: place, Text: fmt.Sprintf("%d targets to compare with it", len(q.targets)), Hint: "say which with one --target"})
	}
	if back, err := archive.ParseAgo(strings.TrimPrefix(q.vs, "-")); err == nil {
		other := i.span.Back(back.Truncate(time.Second))
		i.other = &other
		return problems
	}
	if other, ok := archive.ParseRange(q.vs, now); ok {
		i.other = &other
		if !other.From.Before(other.To) {
			problems = append(problems, config.Problem{Place: place, Text: "the range is empty", Hint: "FROM must be before TO; it is " + other.String()})
		}
		return problems
	}
	if i.another = q.vs; slices.Contains(q.targets, q.vs) {
		problems = append(problems, config.Problem{Place: place, Text: "the same target", Hint: "want another one, how much earlier (24h, 7d), or a range, FROM/TO"})
	}
	return problems
}

// run reads, writes, and draws.
func (i investigation) run(ctx context.Context, w io.Writer) error {
	a, err := archive.Open(i.options)
	if err != nil {
		return err
	}
	records, err := i.records(ctx, a)
	if err != nil {
		return err
	}
	d := report.Document{Source: "Prometheus at " + i.options.URL.String() + ", " + i.span.String(), Started: i.span.From}
	for _, r := range records {
		d.Summaries = append(d.Summaries, r.Summary)
	}
	if i.compares() {
		c, err := a.Compare(ctx, records[0], records[1])
		if err != nil {
			return err
		}
		d.Comparisons = []report.Comparison{c}
	}
	d.Warnings = a.Warnings()
	if err := i.write(w, d, records); err != nil {
		return err
	}
	return i.draw(ctx, a, d, records)
}

func (i investigation) compares() bool { return i.other != nil || i.another != "" }

// records are those to tell of: two, if they are to be compared.
func (i investigation) records(ctx context.Context, a *archive.Archive) ([]archive.Record, error) {
	first, err := a.Records(ctx, i.filter, i.span)
	if err != nil || !i.compares() {
		return first, err
	}
	filter, span := i.filter, i.span
	if i.other != nil {
		span = *i.other
	} else {
		filter.Targets = []string{i.another}
	}
	second, err := a.Records(ctx, filter, span)
	if err != nil {
		return nil, err
	}
	for _, records := range [][]archive.Record{first, second} {
		if err := single(records); err != nil {
			return nil, err
		}
	}
	return []archive.Record{first[0], second[0]}, nil
}

// single says that there is more than one record, and which.
func single(records []archive.Record) error {
	if len(records) == 1 {
		return nil
	}
	var names []string
	for _, r := range records {
		names = append(names, fmt.Sprintf("model %s, prompt %s: %d requests", r.Model, r.Prompt, r.Summary.Succeeded()+r.Summary.Failed()))
	}
	return fmt.Errorf("target %s has several series %s (%s): choose with --model and --prompt", records[0].Target, records[0].Range, strings.Join(names, "; "))
}

// draw writes the charts, if they are asked for.
func (i investigation) draw(ctx context.Context, a *archive.Archive, d report.Document, records []archive.Record) error {
	if i.plot == "" {
		return nil
	}
	page, err := a.Page(ctx, "Latencies as stored", append([]string{d.Source}, notesOf(d)...), records)
	if err != nil {
		return err
	}
	return drawTo(i.plot, page)
}

// write writes a document as it was asked for.
func (i investigation) write(w io.Writer, d report.Document, records []archive.Record) error {
	if i.format != "text" {
		return writeDocument(w, i.format, d)
	}
	fmt.Fprintln(w, d.Source)
	for k, s := range d.Summaries {
		fmt.Fprintln(w)
		if i.other != nil {
			fmt.Fprintln(w, strings.ToUpper(records[k].Range.String()[:1])+records[k].Range.String()[1:])
		}
		if err := report.WriteBlock(w, s); err != nil {
			return err
		}
	}
	width, color := terminal(w)
	for _, c := range d.Comparisons {
		fmt.Fprintln(w)
		if err := report.WriteComparison(w, c, width, color); err != nil {
			return err
		}
	}
	for _, text := range d.Warnings {
		fmt.Fprintln(w, "warning: "+text)
	}
	return nil
}
