package promquery

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	promv1 "github.com/prometheus/client_golang/api/prometheus/v1"
	"github.com/prometheus/common/model"

	"github.com/llm-prober/prober/internal/report"
	"github.com/llm-prober/prober/internal/stats"
)

// A reader reads the records of a selection, in a range of time.
type reader struct {
	*client
	selection

	span   timeRange
	window time.Duration // of error budgets
}

// records returns the records of the selection, sorted by target. It is an error if a target that was asked for has no
// data, or if there is none at all; the error says what there is.
func (r reader) records(ctx context.Context) ([]*record, error) {
	found := r.readCounters(ctx)
	missing := found.missing(r.targets)
	if len(missing) > 0 || len(found.bySeries) == 0 {
		return nil, r.noDataError(ctx, missing)
	}
	for _, q := range report.Quantities() {
		r.readLatency(ctx, found, q)
	}
	r.readPresence(ctx, found)
	r.readObjectives(ctx, found)
	return found.reported(), r.err
}

// noDataError returns the error that these targets have no data, or that none has if the list is empty. It says which
// targets have some.
func (r reader) noDataError(ctx context.Context, targets []string) error {
	r.targets = targets
	selector := r.selector(probesTotal)
	r.targets = nil
	hint := "check that this Prometheus scrapes a prober or receives its OTLP"
	present := r.readCounters(ctx).targets()
	if present != nil {
		hint = "in this range there is data of " + strings.Join(present, ", ")
	}
	return cmp.Or(r.err, fmt.Errorf("no data %s in Prometheus at %s (looked for %s); %s", r.span, r.base, selector, hint))
}

// readCounters reads everything that is neither a latency nor an objective. It finds all series, because each has a
// counter of every outcome from its start.
func (r reader) readCounters(ctx context.Context) recordSet {
	found := newRecordSet(r.span, r.window)
	for _, metric := range counterMetrics {
		found.addCounter(metric, r.atEnd(ctx, r.increase(metric.name, r.span.length(), metric.label)))
	}
	return found
}

// readLatency reads the counts, means and quantiles of a latency.
func (r reader) readLatency(ctx context.Context, found recordSet, q report.Quantity) {
	length := r.span.length()
	metric := histogramOf(q)
	native := r.increase(metric, length)
	classic := r.increase(metric+"_bucket", length, model.BucketLabel)
	either := native + " or on (" + seriesLabels + ") " + classic
	stored := storedLatency{histograms: r.atEnd(ctx, either), means: r.atEnd(ctx, r.mean(metric, length))}
	for _, share := range stats.Shares() {
		expr := fmt.Sprintf("histogram_quantile(%v, %s)", share.Ratio(), either)
		stored.quantiles = append(stored.quantiles, r.atEnd(ctx, expr))
	}
	found.addLatency(q, stored)
}

// minPresenceWindow is the time for which Prometheus looks back for a sample.
const minPresenceWindow = 5 * time.Minute

// readPresence reads how much of the range has data, and from how many sources it comes at once. It divides the range
// into windows, and counts the sources in each.
func (r reader) readPresence(ctx context.Context, found recordSet) {
	const windows = 500
	length := r.span.length()
	step := length / windows
	inWindow := fmt.Sprintf("count by (%s) (present_over_time(%s[%dms]))", seriesLabels,
		r.selector(probesTotal, `outcome="ok"`), max(step, minPresenceWindow).Milliseconds())
	sources := fmt.Sprintf("%s[%dms:%dms]", inWindow, length.Milliseconds(), step.Milliseconds())
	found.addPresence(step, r.atEnd(ctx, "count_over_time("+sources+")"))
	// Not the maximum: for a moment there are two sources when a prober is replaced.
	found.addSources(r.atEnd(ctx, "quantile_over_time(0.9, "+sources+")"))
}

// readObjectives reads the objectives of the records, and the events of each hour of the window.
func (r reader) readObjectives(ctx context.Context, found recordSet) {
	const some = " >= 0.5" // the many zeros of a month stay in Prometheus
	hours := int(r.window.Hours())
	found.addGoals(r.atEnd(ctx, r.lastValue(objectiveGoal, r.window)))
	found.addLimits(r.atEnd(ctx, r.lastValue(objectiveLimit, r.window)))
	found.addBadRefusals(r.atEnd(ctx, r.badRefusals(r.window)))
	events := r.increase(objectiveEvents, time.Hour, "objective", "verdict") + some
	found.addEvents(r.atPeriods(ctx, events, time.Hour, hours))
	outcomes := r.increase(probesTotal, time.Hour, "outcome") + some
	found.addFailures(r.atPeriods(ctx, outcomes, time.Hour, hours))
}

// atEnd evaluates an expression at the end of the range.
func (r reader) atEnd(ctx context.Context, expr string) model.Vector {
	return r.vector(ctx, expr, r.span.to)
}

// atPeriods evaluates an expression at the end of each of n periods, the last of which ends with the range.
func (r reader) atPeriods(ctx context.Context, expr string, width time.Duration, n int) []periodValue {
	firstEnd := r.span.to.Add(-time.Duration(n-1) * width)
	ends := promv1.Range{Start: firstEnd, End: r.span.to, Step: width}
	return periodValues(r.matrix(ctx, expr, ends), r.span.to, width, n)
}

// A periodValue is the value of an expression in a period.
type periodValue struct {
	labels model.Metric
	period int // counted from 0
	value  float64
}

// periodValues returns the values of a matrix by period. There are n periods, the last of which ends at end.
func periodValues(matrix model.Matrix, end time.Time, width time.Duration, n int) (list []periodValue) {
	for _, stream := range matrix {
		for _, sample := range stream.Values {
			periodsToEnd := int(end.Sub(sample.Timestamp.Time()) / width)
			period := n - 1 - periodsToEnd
			if period >= 0 && period < n {
				list = append(list, periodValue{labels: stream.Metric, period: period, value: float64(sample.Value)})
			}
		}
	}
	return list
}
