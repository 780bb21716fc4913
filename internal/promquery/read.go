package promquery

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	promv1 "github.com/prometheus/client_golang/api/prometheus/v1"
	"github.com/prometheus/common/model"

	"github.com/llm-prober/prober/internal/report"
	"github.com/llm-prober/prober/internal/stats"
	"github.com/llm-prober/prober/internal/telemetry"
)

// seriesLabels are the labels of a [series], in PromQL.
const seriesLabels = "target, model, prompt, vantage"

// A selection says which series are read, and for which range of time.
type selection struct {
	targets  []string // nil for all
	matchers []string // further matchers, in PromQL
	span     timeRange
}

// A reader reads records from a Prometheus.
type reader struct {
	client *client
	window time.Duration // of error budgets
}

// records returns the records of a selection, sorted by target. It is an error if a target that was asked for has no
// data, or if there is none at all; the error says what there is.
func (r reader) records(ctx context.Context, s selection) ([]*record, error) {
	found := r.readCounters(ctx, s)
	missing := found.missing(s.targets)
	if len(missing) > 0 || len(found.bySeries) == 0 {
		return nil, r.noDataError(ctx, s, missing)
	}
	for _, q := range report.Quantities() {
		r.readLatency(ctx, s, found, q)
	}
	r.readPresence(ctx, s, found)
	r.readObjectives(ctx, s, found)
	return found.reported(), r.client.err
}

// noDataError returns the error that these targets of a selection have no data, or that none has if the list is empty.
// It says which targets have some.
func (r reader) noDataError(ctx context.Context, s selection, missing []string) error {
	wanted := selection{targets: missing, matchers: s.matchers}.selector(nameOf(telemetry.Probes))
	hint := "check that this Prometheus scrapes a prober or receives its OTLP"
	present := r.readCounters(ctx, selection{matchers: s.matchers, span: s.span}).targets()
	if present != nil {
		hint = "in this range there is data of " + strings.Join(present, ", ")
	}
	return cmp.Or(r.client.err,
		fmt.Errorf("no data %s in Prometheus at %s (looked for %s); %s", s.span, r.client.base, wanted, hint))
}

// readCounters reads everything that is neither a latency nor an objective. It finds all series, because each has a
// counter of every outcome from its start.
func (r reader) readCounters(ctx context.Context, s selection) recordSet {
	increases := func(counter, label string) model.Vector {
		return r.atEnd(ctx, s, s.increase(nameOf(counter), s.span.length(), label))
	}
	found := newRecordSet(s, r.window)
	found.addProbes(increases(telemetry.Probes, "outcome"))
	found.addSkipped(increases(telemetry.Skipped, "reason"))
	found.addTainted(increases(telemetry.Tainted, "reason"))
	found.addTokens(increases(telemetry.Tokens, "kind"))
	return found
}

// readLatency reads the counts, means and quantiles of a latency.
func (r reader) readLatency(ctx context.Context, s selection, found recordSet, q report.Quantity) {
	length := s.span.length()
	metric := histogramOf(q)
	native := s.increase(metric, length)
	classic := s.increase(metric+"_bucket", length, model.BucketLabel)
	either := native + " or on (" + seriesLabels + ") " + classic
	stored := storedLatency{histograms: r.atEnd(ctx, s, either), means: r.atEnd(ctx, s, s.mean(metric, length))}
	for _, share := range stats.Shares() {
		expr := fmt.Sprintf("histogram_quantile(%v, %s)", share.Ratio(), either)
		stored.quantiles = append(stored.quantiles, r.atEnd(ctx, s, expr))
	}
	found.addLatency(q, stored)
}

// minPresenceWindow is the time for which Prometheus looks back for a sample.
const minPresenceWindow = 5 * time.Minute

// readPresence reads how much of the range has data, and from how many sources it comes at once. It divides the range
// into windows, and counts the sources in each.
func (r reader) readPresence(ctx context.Context, s selection, found recordSet) {
	const windows = 500
	length := s.span.length()
	step := length / windows
	inWindow := fmt.Sprintf("count by (%s) (present_over_time(%s[%dms]))", seriesLabels,
		s.selector(nameOf(telemetry.Probes), `outcome="ok"`), max(step, minPresenceWindow).Milliseconds())
	sources := fmt.Sprintf("%s[%dms:%dms]", inWindow, length.Milliseconds(), step.Milliseconds())
	found.addPresence(step, r.atEnd(ctx, s, "count_over_time("+sources+")"))
	// Not the maximum: for a moment there are two sources when a prober is replaced.
	found.warnOfSources(r.atEnd(ctx, s, "quantile_over_time(0.9, "+sources+")"))
}

// readObjectives reads the objectives of the records, and the events of each hour of the window.
func (r reader) readObjectives(ctx context.Context, s selection, found recordSet) {
	const notZero = " >= 0.5" // Prometheus keeps what would be rounded to 0: a month has thousands of zeros
	found.addGoals(r.atEnd(ctx, s, s.lastValue(nameOf(telemetry.ObjectiveGoal), r.window)))
	found.addLimits(r.atEnd(ctx, s, s.lastValue(nameOf(telemetry.ObjectiveLimit), r.window)))
	found.addBadRefusals(r.atEnd(ctx, s, s.badRefusals(r.window)))
	hours := int(r.window.Hours())
	events := s.increase(nameOf(telemetry.ObjectiveEvents), time.Hour, "objective", "verdict") + notZero
	found.addEvents(r.atPeriods(ctx, s, events, time.Hour, hours))
	outcomes := s.increase(nameOf(telemetry.Probes), time.Hour, "outcome") + notZero
	found.addFailures(r.atPeriods(ctx, s, outcomes, time.Hour, hours))
}

// atEnd evaluates an expression at the end of a selection's range.
func (r reader) atEnd(ctx context.Context, s selection, expr string) model.Vector {
	return r.client.vector(ctx, expr, s.span.to)
}

// A periodValue is the value of an expression in a period.
type periodValue struct {
	labels model.Metric
	period int // counted from 0
	value  float64
}

// atPeriods evaluates an expression at the end of each of n periods, the last of which ends with the selection's range.
func (r reader) atPeriods(ctx context.Context, s selection, expr string, width time.Duration, n int) []periodValue {
	firstEnd := s.span.to.Add(-time.Duration(n-1) * width)
	ends := promv1.Range{Start: firstEnd, End: s.span.to, Step: width}
	var list []periodValue
	for _, stream := range r.client.matrix(ctx, expr, ends) {
		for _, sample := range stream.Values {
			periodsToEnd := int(s.span.to.Sub(sample.Timestamp.Time()) / width)
			period := n - 1 - periodsToEnd
			if period >= 0 && period < n {
				list = append(list, periodValue{labels: stream.Metric, period: period, value: float64(sample.Value)})
			}
		}
	}
	return list
}

// nameOf returns what Prometheus calls a metric of the catalog. It panics if the catalog has none of that name.
func nameOf(metric string) string {
	i, ok := telemetry.Lookup(metric)
	if !ok {
		panic("no metric " + metric)
	}
	return i.PrometheusName()
}

// histogramOf returns what Prometheus calls the histogram of a quantity: llm_probe_ttft_seconds.
func histogramOf(q report.Quantity) string { return nameOf("llm.probe." + strings.ToLower(q.Name)) }

// selector returns the selector of a metric in PromQL: llm_probe_probes_total{target="a",job="prober"}.
func (s selection) selector(metric string, more ...string) string {
	matchers := slices.Concat(s.matchers, more)
	if len(s.targets) > 0 {
		matchers = append([]string{"target" + equals(s.targets...)}, matchers...)
	}
	return metric + "{" + strings.Join(matchers, ",") + "}"
}

// equals returns the matcher of one of these values, which follows the name of a label in a selector: ="a", or =~"a|b".
func equals(values ...string) string {
	if len(values) == 1 {
		return "=" + strconv.Quote(values[0])
	}
	var quoted []string
	for _, v := range values {
		quoted = append(quoted, regexp.QuoteMeta(v))
	}
	return "=~" + strconv.Quote(strings.Join(quoted, "|"))
}

// increase returns the expression of how much a metric grew in some time. The increases of all probers and ingestion
// paths are summed up by series, and by further labels.
func (s selection) increase(metric string, in time.Duration, labels ...string) string {
	by := strings.Join(append([]string{seriesLabels}, labels...), ", ")
	return fmt.Sprintf("sum by (%s) (increase(%s[%dms]))", by, s.selector(metric), in.Milliseconds())
}

// mean returns the expression of the mean of a histogram over some time: of the native one, or else of the classic one.
func (s selection) mean(metric string, in time.Duration) string {
	native := "histogram_avg(" + s.increase(metric, in) + ")"
	classic := s.increase(metric+"_sum", in) + " / " + s.increase(metric+"_count", in)
	return native + " or " + classic
}

// lastValue returns the expression of a gauge of objectives: its value now or, if no prober reports it, its last one in
// the window.
func (s selection) lastValue(metric string, window time.Duration) string {
	const largest = "max by (" + seriesLabels + ", objective) "
	return fmt.Sprintf("%s(%s) or %[1]s(last_over_time(%[2]s[%dms]))", largest, s.selector(metric), window.Milliseconds())
}

// badRefusals returns the expression of the series for whose objectives refused requests were bad at some time in the
// window.
func (s selection) badRefusals(window time.Duration) string {
	info := s.selector(nameOf(telemetry.TargetInfo), `refusals="bad"`)
	return fmt.Sprintf("max by (%s) (last_over_time(%s[%dms]))", seriesLabels, info, window.Milliseconds())
}
