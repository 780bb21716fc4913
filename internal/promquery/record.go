package promquery

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/common/model"

	"github.com/llm-prober/prober/internal/format"
	"github.com/llm-prober/prober/internal/probe"
	"github.com/llm-prober/prober/internal/report"
)

// The metrics that are read.
const (
	probesTotal  = "llm_probe_probes_total"
	skippedTotal = "llm_probe_skipped_total"
	tokensTotal  = "llm_probe_tokens_total"
	taintedTotal = "llm_probe_tainted_total"
	targetInfo   = "llm_probe_target_info"
)

// latencies are the histograms that are read, in the order of [record.quantities].
var latencies = []struct{ name, metric string }{
	{"TTFT", "llm_probe_ttft_seconds"}, {"TPOT", "llm_probe_tpot_seconds"}, {"ITL", "llm_probe_itl_seconds"}, {"E2EL", "llm_probe_e2el_seconds"},
}

// Metrics are the names of the metrics that are read.
func Metrics() []string {
	names := []string{probesTotal, skippedTotal, tokensTotal, taintedTotal, targetInfo}
	for _, l := range latencies {
		names = append(names, l.metric)
	}
	return names
}

// A series is what is counted as one: a target, its model and its prompt, from however many probers.
type series struct{ target, model, prompt string }

func seriesOf(labels model.Metric) series {
	return series{string(labels["target"]), string(labels["model"]), string(labels["prompt"])}
}

// A record is what is stored of a series in a range.
type record struct {
	series

	span       timeRange
	summary    report.Summary
	quantities []quantity // TTFT, TPOT, ITL, E2EL
	tainted    int        // requests that were read late
}

func (r *record) requests() int { return r.summary.Succeeded() + r.summary.Failed() }

// A reader reads the records of some targets in one range.
type reader struct {
	*client

	targets []string // nil for all
	match   []string // further matchers, as PromQL writes them
	span    timeRange
}

// selector selects the series of a metric.
func (r reader) selector(metric string, more ...string) string {
	matchers := slices.Concat(r.match, more)
	if r.targets != nil {
		matchers = append([]string{"target" + oneOf(r.targets...)}, matchers...)
	}
	return metric + "{" + strings.Join(matchers, ",") + "}"
}

// oneOf matches any of some values.
func oneOf(values ...string) string {
	if len(values) == 1 {
		return "=" + strconv.Quote(values[0])
	}
	var quoted []string
	for _, v := range values {
		quoted = append(quoted, regexp.QuoteMeta(v))
	}
	return "=~" + strconv.Quote(strings.Join(quoted, "|"))
}

// increase is the expression of what a metric grew by in a time, summed over all probers and ingestion paths for each
// target, model, prompt and further label.
func (r reader) increase(metric string, in time.Duration, labels ...string) string {
	return r.grouped("sum", "increase", r.selector(metric), in, labels...)
}

// grouped is the expression of a function of a range of so long, aggregated for each series and further label.
func (r reader) grouped(aggregate, function, selector string, in time.Duration, labels ...string) string {
	by := strings.Join(append([]string{"target", "model", "prompt"}, labels...), ", ")
	return fmt.Sprintf("%s by (%s) (%s(%s[%dms]))", aggregate, by, function, selector, in.Milliseconds())
}

// records are those of the filter, sorted by target. A target that was asked for and has nothing is an error that says
// what there is; so is a range without any data.
func (r reader) records(ctx context.Context) ([]record, error) {
	found, err := r.counters(ctx)
	if err != nil {
		return nil, err
	}
	records := choose(found)
	missing := slices.DeleteFunc(slices.Clone(r.targets), func(target string) bool {
		return slices.ContainsFunc(records, func(r record) bool { return r.target == target })
	})
	if len(missing) > 0 || len(records) == 0 {
		return nil, r.absent(ctx, missing)
	}
	return records, errors.Join(r.latencies(ctx, records), r.warn(ctx, records))
}

// absent says what was looked for in vain, and what there is.
func (r reader) absent(ctx context.Context, targets []string) error {
	r.targets = targets
	subject, looked := "any target", r.selector(probesTotal)
	if targets != nil {
		subject = "target " + strings.Join(targets, ", ")
	}
	hint := "there is no target at all in this range: check that this Prometheus scrapes a prober or receives its OTLP"
	r.targets = nil
	found, err := r.counters(ctx)
	var there []string
	for id := range found {
		there = append(there, id.target)
	}
	if slices.Sort(there); there != nil {
		hint = "in this range there is data of " + strings.Join(slices.Compact(there), ", ")
	}
	return errors.Join(err, fmt.Errorf("no data of %s %s in Prometheus at %s (looked for %s); %s", subject, r.span, r.base.Redacted(), looked, hint))
}

// counters reads what is not a latency. Every series has a counter of each outcome from its start.
func (r reader) counters(ctx context.Context) (map[series]*record, error) {
	found := map[series]*record{}
	for _, metric := range []struct{ name, label, expr string }{
		{probesTotal, "outcome", r.increase(probesTotal, r.span.length(), "outcome")},
		{skippedTotal, "reason", r.increase(skippedTotal, r.span.length(), "reason")},
		{taintedTotal, "reason", r.increase(taintedTotal, r.span.length(), "reason")},
		{tokensTotal, "kind", r.increase(tokensTotal, r.span.length(), "kind")},
		{targetInfo, "url", r.grouped("group", "last_over_time", r.selector(targetInfo), r.span.length(), "url")},
	} {
		vector, err := r.instant(ctx, metric.expr, r.span.to)
		if err != nil {
			return nil, err
		}
		for _, sample := range vector {
			id := seriesOf(sample.Metric)
			one := cmp.Or(found[id], &record{series: id, span: r.span, summary: report.Summary{
				Target: id.target, Model: id.model, Start: r.span.from, Duration: r.span.length(), Outcomes: map[probe.Outcome]int{}, Skipped: map[probe.Skip]int{},
			}})
			n, s := int(math.Round(float64(sample.Value))), &one.summary
			if metric.name == probesTotal {
				found[id] = one
			}
			switch value := string(sample.Metric[model.LabelName(metric.label)]); {
			case n == 0:
			case metric.name == targetInfo:
				s.URL = strings.TrimPrefix(s.URL+", "+value, ", ")
			case metric.name == probesTotal:
				s.Outcomes[probe.Outcome(value)] = n
			case metric.name == skippedTotal:
				s.Skipped[probe.Skip(value)] = n
			case metric.name == taintedTotal:
				one.tainted += n
			case value == "prompt":
				s.Input = n
			case value == "output":
				s.Output = n
			}
		}
	}
	return found, nil
}

// choose leaves out series without requests of targets that have others. It names those apart that are left of one
// target.
func choose(found map[series]*record) (records []record) {
	made, left := map[string]int{}, map[string]int{}
	for _, r := range found {
		made[r.target] += r.requests()
	}
	for _, r := range found {
		if r.requests() > 0 || made[r.target] == 0 {
			left[r.target]++
			records = append(records, *r)
		}
	}
	for i := range records {
		if r := &records[i]; left[r.target] > 1 {
			r.summary.Target = fmt.Sprintf("%s (model %s, prompt %s)", r.target, r.model, r.prompt)
			r.summary.Warnings = append(r.summary.Warnings, "this target has several models or prompts in this range; each is listed on its own")
		}
	}
	slices.SortFunc(records, func(a, b record) int { return cmp.Compare(a.summary.Target, b.summary.Target) })
	return records
}

// The windows in which the presence of data is looked at.
const (
	mostWindows = 200
	leastWindow = 15 * time.Minute
)

// warn adds warnings to the summaries.
func (r reader) warn(ctx context.Context, records []record) error {
	n := int(min(max(r.span.length()/leastWindow, 1), mostWindows))
	width := r.span.length() / time.Duration(n)
	sources := r.grouped("count", "present_over_time", r.selector(probesTotal, `outcome="ok"`), width)
	matrix, err := r.steps(ctx, sources, n, width, r.span.to)
	for i := range records {
		one := &records[i]
		var seen []model.SamplePair // how many sources there were in each window that has any
		for _, stream := range matrix {
			if seriesOf(stream.Metric) == one.series {
				seen = stream.Values
			}
		}
		one.warn(seen, n, width)
	}
	return err
}

// warn adds warnings to the summary, in which n windows of some width so many sources were seen.
func (r *record) warn(seen []model.SamplePair, n int, width time.Duration) {
	warn := func(format string, args ...any) {
		r.summary.Warnings = append(r.summary.Warnings, fmt.Sprintf(format, args...))
	}
	var coarse []string
	for i, q := range r.quantities {
		if q.classic {
			coarse = append(coarse, latencies[i].name)
		}
	}
	if coarse != nil {
		warn("%s from classic buckets: quantiles are exact to a bucket only, which is often 25%% wide or more; "+
			"scrape native histograms for 4.4%%", strings.Join(coarse, ", "))
	}
	several, most := 0, 0
	for _, window := range seen {
		several, most = several+min(int(window.Value)/2, 1), max(most, int(window.Value))
	}
	if several > 1 && 10*several > len(seen) || several == 1 && len(seen) == 1 { // and not only in the window of a restart
		warn("counts are the sum of %d sources (jobs, instances): if these are one prober, choose one with --match", most)
	}
	if len(seen) < n {
		holes := width * time.Duration(n-len(seen))
		warn("there is no data for %s of the range's %s", length(holes.Round(time.Minute)), length(r.span.length()))
	}
	// In a short range Prometheus extrapolates histograms and counters differently.
	if e2el, ok := r.summary.E2EL.Count, r.summary.Succeeded(); 5*e2el < 4*ok {
		warn("latencies are of %s of the %s successful requests: of the others no histogram is stored in the same form",
			format.Grouped(e2el), format.Grouped(ok))
	}
	if r.tainted > 0 {
		warn("%s of the %s requests were read too late by the prober: excluded from ITL", format.Grouped(r.tainted), format.Grouped(r.requests()))
	}
}
