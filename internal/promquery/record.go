package promquery

import (
	"cmp"
	"context"
	"fmt"
	"maps"
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

const (
	probesTotal  = "llm_probe_probes_total"
	skippedTotal = "llm_probe_skipped_total"
	tokensTotal  = "llm_probe_tokens_total"
	taintedTotal = "llm_probe_tainted_total"

	objectiveEvents = "llm_probe_objective_events_total"
	objectiveGoal   = "llm_probe_objective_goal_ratio"
	objectiveLimit  = "llm_probe_objective_limit_seconds"
)

// latencies are the histograms that are read, in the order of [record.quantities].
var latencies = [...]struct{ name, metric string }{
	{"TTFT", "llm_probe_ttft_seconds"}, {"TPOT", "llm_probe_tpot_seconds"}, {"ITL", "llm_probe_itl_seconds"}, {"E2EL", "llm_probe_e2el_seconds"},
}

// Metrics are the names of the metrics that are read.
func Metrics() []string {
	names := []string{probesTotal, skippedTotal, tokensTotal, taintedTotal, objectiveEvents, objectiveGoal, objectiveLimit}
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

type record struct {
	series

	span       timeRange
	summary    report.Summary
	quantities [len(latencies)]quantity
	promises   []*promise
	tainted    int           // requests that were read late
	present    time.Duration // how much of the range has data
}

func (r *record) warn(format string, args ...any) {
	r.summary.Warnings = append(r.summary.Warnings, fmt.Sprintf(format, args...))
}

type reader struct {
	*client

	targets []string // nil for all
	match   []string // further matchers, as PromQL writes them
	span    timeRange
	window  time.Duration // of error budgets
}

func (r reader) selector(metric string, more ...string) string {
	matchers := slices.Concat(r.match, more)
	if r.targets != nil {
		matchers = append([]string{"target" + oneOf(r.targets...)}, matchers...)
	}
	return metric + "{" + strings.Join(matchers, ",") + "}"
}

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

// increase is the expression of what a metric grew by, summed over probers and ingestion paths by series and further labels.
func (r reader) increase(metric string, in time.Duration, labels ...string) string {
	by := strings.Join(append([]string{"target", "model", "prompt"}, labels...), ", ")
	return fmt.Sprintf("sum by (%s) (increase(%s[%dms]))", by, r.selector(metric), in.Milliseconds())
}

type store map[series]*record

// each evaluates an expression at the end of the range, and calls do with each sample and the record of its series.
func (r reader) each(ctx context.Context, found store, expr string, do func(*record, *model.Sample)) {
	for _, sample := range r.vector(ctx, expr, r.span.to) {
		id := seriesOf(sample.Metric)
		if found[id] == nil {
			found[id] = &record{series: id, span: r.span, summary: report.Summary{
				Target: id.target, Model: id.model, Start: r.span.from, Duration: r.span.length(),
				Outcomes: map[probe.Outcome]int{}, Skipped: map[probe.Skip]int{},
			}}
		}
		do(found[id], sample)
	}
}

// records are those of the filter, sorted by target. A target that was asked for and has nothing is an error that says
// what there is; so is a range without any data.
func (r reader) records(ctx context.Context) (records []*record, err error) {
	found := r.counters(ctx)
	missing := slices.DeleteFunc(slices.Clone(r.targets), func(target string) bool { return slices.Contains(found.targets(), target) })
	if len(missing) > 0 || len(found) == 0 {
		return nil, r.absent(ctx, missing)
	}
	r.latencies(ctx, found)
	r.presence(ctx, found)
	r.promises(ctx, maps.Clone(found))
	made := map[string]int{} // of each target, how many series have requests
	for id, one := range found {
		made[id.target] += min(one.summary.Sent(), 1)
	}
	for id, one := range found {
		if one.summary.Sent() == 0 && made[id.target] > 0 {
			continue // a model that was not known yet, or is no longer asked
		}
		if made[id.target] > 1 {
			one.summary.Target = fmt.Sprintf("%s (model %s, prompt %s)", id.target, id.model, id.prompt)
		}
		one.doubts()
		for _, p := range one.promises {
			one.summary.Budgets = append(one.summary.Budgets, newBudget(p.objective, p.hours))
		}
		records = append(records, one)
	}
	slices.SortFunc(records, func(a, b *record) int { return cmp.Compare(a.summary.Target, b.summary.Target) })
	return records, r.err
}

func (s store) targets() (targets []string) {
	for id := range s {
		targets = append(targets, id.target)
	}
	slices.Sort(targets)
	return slices.Compact(targets)
}

func (r reader) absent(ctx context.Context, targets []string) error {
	r.targets = targets
	looked, hint := r.selector(probesTotal), "check that this Prometheus scrapes a prober or receives its OTLP"
	r.targets = nil
	if there := r.counters(ctx).targets(); there != nil {
		hint = "in this range there is data of " + strings.Join(there, ", ")
	}
	return cmp.Or(r.err, fmt.Errorf("no data %s in Prometheus at %s (looked for %s); %s", r.span, r.base, looked, hint))
}

// counters reads what is not a latency. Every series has a counter of each outcome from its start.
func (r reader) counters(ctx context.Context) store {
	found := store{}
	for _, metric := range []struct{ name, label string }{
		{probesTotal, "outcome"}, {skippedTotal, "reason"}, {taintedTotal, "reason"}, {tokensTotal, "kind"},
	} {
		r.each(ctx, found, r.increase(metric.name, r.span.length(), metric.label), func(one *record, sample *model.Sample) {
			n, s := int(math.Round(float64(sample.Value))), &one.summary
			switch value := string(sample.Metric[model.LabelName(metric.label)]); {
			case n == 0:
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
		})
	}
	return found
}

// The presence of data is looked at in so many windows of the range, of at least the time for which Prometheus looks back.
const (
	windows     = 500
	leastWindow = 5 * time.Minute
)

func (r reader) presence(ctx context.Context, found store) {
	length := r.span.length()
	step := length / windows
	sources := fmt.Sprintf("count by (target, model, prompt) (present_over_time(%s[%dms]))[%dms:%dms]",
		r.selector(probesTotal, `outcome="ok"`), max(step, leastWindow).Milliseconds(), length.Milliseconds(), step.Milliseconds())
	r.each(ctx, found, "count_over_time("+sources+")", func(one *record, seen *model.Sample) {
		one.present = step * time.Duration(seen.Value)
	})
	r.each(ctx, found, "quantile_over_time(0.9, "+sources+")", func(one *record, n *model.Sample) {
		if n.Value > 1 { // and not only while a prober is replaced
			one.warn("counts are the sum of %.0f sources (jobs, instances): if these are one prober, choose one with --match",
				math.Ceil(float64(n.Value)))
		}
	})
}

func (r *record) doubts() {
	if length := r.span.length(); length-r.present > max(length/10, leastWindow) {
		r.warn("there is no data for %s of the range's %s", duration((length - r.present).Round(time.Minute)), duration(length))
	}
	// In a short range Prometheus extrapolates histograms and counters differently.
	if e2el, ok := r.summary.E2EL.Count, r.summary.Succeeded(); 5*e2el < 4*ok {
		r.warn("latencies are of %s of the %s successful requests: of the others no histogram is stored in the same form",
			format.Grouped(e2el), format.Grouped(ok))
	}
	if r.tainted > 0 {
		r.warn("%s of the %s requests were read too late by the prober: excluded from ITL",
			format.Grouped(r.tainted), format.Grouped(r.summary.Sent()))
	}
}
