package promquery

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/common/model"

	"github.com/llm-prober/prober/internal/format"
	"github.com/llm-prober/prober/internal/probe"
	"github.com/llm-prober/prober/internal/report"
)

// A series is what is counted as one: a target, its model and its prompt, from however many probers.
type series struct{ target, model, prompt string }

// seriesOf returns the series that labels name.
func seriesOf(labels model.Metric) series {
	return series{
		target: string(labels["target"]),
		model:  string(labels["model"]),
		prompt: string(labels["prompt"]),
	}
}

// A record is what is stored of a series in a range of time.
type record struct {
	series

	span       timeRange
	summary    report.Summary
	latencies  [len(latencyMetrics)]storedLatency
	objectives []*objectiveHours
	tainted    int           // requests that were read late
	present    time.Duration // how much of the range has data
}

// recordsBySeries are records by what they are of.
type recordsBySeries map[series]*record

// newRecord returns a record without requests.
func newRecord(id series, span timeRange) *record {
	return &record{series: id, span: span, summary: report.Summary{
		Target: id.target, Model: id.model, Start: span.from, Duration: span.length(),
		Outcomes: map[probe.Outcome]int{}, Skipped: map[probe.Skip]int{},
	}}
}

// warn adds a warning to the summary.
func (r *record) warn(format string, args ...any) {
	r.summary.Warnings = append(r.summary.Warnings, fmt.Sprintf(format, args...))
}

// records returns the records of the selection, sorted by target. It is an error if a target that was asked for has no
// data, or if there is none at all; the error says what there is.
func (r reader) records(ctx context.Context) (records []*record, err error) {
	found := r.readCounters(ctx)
	present := found.targets()
	isPresent := func(target string) bool { return slices.Contains(present, target) }
	missing := slices.DeleteFunc(slices.Clone(r.targets), isPresent)
	if len(missing) > 0 || len(found) == 0 {
		return nil, r.noDataError(ctx, missing)
	}
	r.readLatencies(ctx, found)
	r.readPresence(ctx, found)
	r.readObjectives(ctx, maps.Clone(found)) // a clone: a series that has only objectives is not reported
	seriesWithRequests := map[string]int{}   // of each target
	for id, one := range found {
		if one.summary.Sent() > 0 {
			seriesWithRequests[id.target]++
		}
	}
	for id, one := range found {
		if one.summary.Sent() == 0 && seriesWithRequests[id.target] > 0 {
			continue // of a model that was not known yet, or is no longer asked
		}
		if seriesWithRequests[id.target] > 1 {
			one.summary.Target = fmt.Sprintf("%s (model %s, prompt %s)", id.target, id.model, id.prompt)
		}
		one.addWarnings()
		for _, o := range one.objectives {
			one.summary.Budgets = append(one.summary.Budgets, newBudget(o.objective, o.hours))
		}
		records = append(records, one)
	}
	slices.SortFunc(records, func(a, b *record) int { return cmp.Compare(a.summary.Target, b.summary.Target) })
	return records, r.err
}

// targets returns the names of all targets, sorted.
func (s recordsBySeries) targets() (targets []string) {
	for id := range s {
		targets = append(targets, id.target)
	}
	slices.Sort(targets)
	return slices.Compact(targets)
}

// noDataError returns the error that these targets, or if there are none all, have no data. It says what there is.
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

// A counterMetric is a counter that is read, by one of its labels.
type counterMetric struct {
	name, label string
	add         func(one *record, value string, n int) // adds n of a value of the label
}

// counterMetrics are all counters that are read.
var counterMetrics = []counterMetric{
	{probesTotal, "outcome", func(one *record, value string, n int) { one.summary.Outcomes[probe.Outcome(value)] = n }},
	{skippedTotal, "reason", func(one *record, value string, n int) { one.summary.Skipped[probe.Skip(value)] = n }},
	{taintedTotal, "reason", func(one *record, _ string, n int) { one.tainted += n }},
	{tokensTotal, "kind", func(one *record, value string, n int) {
		switch value {
		case "prompt":
			one.summary.Input = n
		case "output":
			one.summary.Output = n
		}
	}},
}

// readCounters reads everything that is not a latency. It finds all series, because each has a counter of every outcome
// from its start.
func (r reader) readCounters(ctx context.Context) recordsBySeries {
	found := recordsBySeries{}
	for _, metric := range counterMetrics {
		expr := r.increase(metric.name, r.span.length(), metric.label)
		r.eachRecord(ctx, found, expr, func(one *record, sample *model.Sample) {
			n := int(math.Round(float64(sample.Value)))
			if n != 0 {
				metric.add(one, string(sample.Metric[model.LabelName(metric.label)]), n)
			}
		})
	}
	return found
}

// minPresenceWindow is the time for which Prometheus looks back for a sample.
const minPresenceWindow = 5 * time.Minute

// readPresence reads how much of the range has data, and from how many sources it comes at once. It divides the range
// into windows, and counts the sources in each.
func (r reader) readPresence(ctx context.Context, found recordsBySeries) {
	const windows = 500
	length := r.span.length()
	step := length / windows
	inWindow := fmt.Sprintf("count by (target, model, prompt) (present_over_time(%s[%dms]))",
		r.selector(probesTotal, `outcome="ok"`), max(step, minPresenceWindow).Milliseconds())
	sources := fmt.Sprintf("%s[%dms:%dms]", inWindow, length.Milliseconds(), step.Milliseconds())
	r.eachRecord(ctx, found, "count_over_time("+sources+")", func(one *record, windowsWithData *model.Sample) {
		one.present = step * time.Duration(windowsWithData.Value)
	})
	// Not the maximum: for a moment there are two sources when a prober is replaced.
	r.eachRecord(ctx, found, "quantile_over_time(0.9, "+sources+")", func(one *record, n *model.Sample) {
		if n.Value > 1 {
			one.warn("%.0f jobs or instances report this target and are added up: "+
				"if they are one prober that is scraped twice, select one with --match job=NAME",
				math.Ceil(float64(n.Value)))
		}
	})
}

// addWarnings says what is missing in the data.
func (r *record) addWarnings() {
	length := r.span.length()
	absent := length - r.present
	if absent > max(length/10, minPresenceWindow) {
		r.warn("there is no data for %s of the range's %s", duration(absent.Round(time.Minute)), duration(length))
	}
	// A fifth may be missing: in a short range, Prometheus extrapolates histograms and counters differently.
	withLatency, succeeded := r.summary.E2EL.Count, r.summary.Succeeded()
	if 5*withLatency < 4*succeeded {
		r.warn("latencies are of %s of the %s successful requests: "+
			"the others are stored only as the other kind of histogram (native or classic)",
			format.Grouped(withLatency), format.Grouped(succeeded))
	}
	if r.tainted > 0 {
		r.warn("%s of the %s requests were read too late by the prober: excluded from ITL",
			format.Grouped(r.tainted), format.Grouped(r.summary.Sent()))
	}
}
