package promquery

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	promv1 "github.com/prometheus/client_golang/api/prometheus/v1"
	"github.com/prometheus/common/model"
)

// The metrics that are read, apart from the histograms of latencyMetrics.
const (
	probesTotal  = "llm_probe_probes_total"
	skippedTotal = "llm_probe_skipped_total"
	tokensTotal  = "llm_probe_tokens_total"
	taintedTotal = "llm_probe_tainted_total"

	objectiveEvents = "llm_probe_objective_events_total"
	objectiveGoal   = "llm_probe_objective_goal_ratio"
	objectiveLimit  = "llm_probe_objective_limit_seconds"
)

// Metrics returns the names of the metrics that are read.
func Metrics() []string {
	names := []string{
		probesTotal, skippedTotal, tokensTotal, taintedTotal, objectiveEvents, objectiveGoal, objectiveLimit,
	}
	for _, l := range latencyMetrics {
		names = append(names, l.metric)
	}
	return names
}

// A reader reads the series of a selection of targets, in a range of time.
type reader struct {
	*client

	targets []string // nil for all
	match   []string // further matchers, as PromQL writes them
	span    timeRange
	window  time.Duration // of error budgets
}

// selector returns the PromQL selector of a metric: llm_probe_probes_total{target="a",job="prober"}.
func (r reader) selector(metric string, more ...string) string {
	matchers := slices.Concat(r.match, more)
	if r.targets != nil {
		matchers = append([]string{"target" + equals(r.targets...)}, matchers...)
	}
	return metric + "{" + strings.Join(matchers, ",") + "}"
}

// equals returns what follows a label in a selector if it is to have one of these values: ="a", or =~"a|b".
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

// increase returns the expression of how much a metric grew in some time. It sums up probers and ingestion paths by
// series, and by further labels.
func (r reader) increase(metric string, in time.Duration, labels ...string) string {
	by := strings.Join(append([]string{"target", "model", "prompt"}, labels...), ", ")
	return fmt.Sprintf("sum by (%s) (increase(%s[%dms]))", by, r.selector(metric), in.Milliseconds())
}

// mean returns the expression of the mean of a histogram over some time: native, or else classic.
func (r reader) mean(metric string, in time.Duration) string {
	native := "histogram_avg(" + r.increase(metric, in) + ")"
	classic := r.increase(metric+"_sum", in) + " / " + r.increase(metric+"_count", in)
	return native + " or " + classic
}

// eachRecord evaluates an expression at the end of the range. It calls do with each sample and the record of its
// series, which it adds if it is new.
func (r reader) eachRecord(
	ctx context.Context, records recordsBySeries, expr string, do func(*record, *model.Sample),
) {
	for _, sample := range r.vector(ctx, expr, r.span.to) {
		id := seriesOf(sample.Metric)
		if records[id] == nil {
			records[id] = newRecord(id, r.span)
		}
		do(records[id], sample)
	}
}

// A periodValue is the value of an expression in a period.
type periodValue struct {
	labels model.Metric
	period int // counted from 0
	value  float64
}

// eachPeriod evaluates an expression at the end of each of n periods, the last of which ends with the range. It calls
// do with each value.
func (r reader) eachPeriod(ctx context.Context, expr string, width time.Duration, n int, do func(periodValue)) {
	firstEnd := r.span.to.Add(-time.Duration(n-1) * width)
	ends := promv1.Range{Start: firstEnd, End: r.span.to, Step: width}
	for _, stream := range r.matrix(ctx, expr, ends) {
		for _, sample := range stream.Values {
			periodsToEnd := int(r.span.to.Sub(sample.Timestamp.Time()) / width)
			period := n - 1 - periodsToEnd
			if period >= 0 && period < n {
				do(periodValue{labels: stream.Metric, period: period, value: float64(sample.Value)})
			}
		}
	}
}
