package promquery

import (
	"cmp"
	"fmt"
	"math"
	"slices"
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
	objectives []*objectiveHours
	tainted    int           // requests that were read late
	present    time.Duration // how much of the range has data
}

// warn adds a warning to the summary.
func (r *record) warn(format string, args ...any) {
	r.summary.Warnings = append(r.summary.Warnings, fmt.Sprintf(format, args...))
}

// A recordSet gathers records by their series. Its methods add what Prometheus answered.
type recordSet struct {
	span     timeRange
	window   time.Duration // of error budgets, whole hours
	bySeries map[series]*record
}

// newRecordSet returns a set without records.
func newRecordSet(span timeRange, window time.Duration) recordSet {
	return recordSet{span: span, window: window, bySeries: map[series]*record{}}
}

// of returns the record of the series that labels name. If there is none yet, it adds one without requests.
func (s recordSet) of(labels model.Metric) *record {
	id := seriesOf(labels)
	if s.bySeries[id] == nil {
		s.bySeries[id] = &record{series: id, span: s.span, summary: report.Summary{
			Target: id.target, Model: id.model, Start: s.span.from, Duration: s.span.length(),
			Outcomes: map[probe.Outcome]int{}, Skipped: map[probe.Skip]int{},
		}}
	}
	return s.bySeries[id]
}

// targets returns the names of all targets, sorted.
func (s recordSet) targets() (targets []string) {
	for id := range s.bySeries {
		targets = append(targets, id.target)
	}
	slices.Sort(targets)
	return slices.Compact(targets)
}

// missing returns those of these targets that have no record.
func (s recordSet) missing(targets []string) []string {
	present := s.targets()
	isPresent := func(target string) bool { return slices.Contains(present, target) }
	return slices.DeleteFunc(slices.Clone(targets), isPresent)
}

// reported returns the records that are reported, complete and sorted by target. A series without requests is left out
// if another one of its target has some: it is of a model that was not known yet, or is no longer asked.
func (s recordSet) reported() (records []*record) {
	seriesWithRequests := map[string]int{} // of each target
	for id, one := range s.bySeries {
		if one.summary.Sent() > 0 {
			seriesWithRequests[id.target]++
		}
	}
	for id, one := range s.bySeries {
		if one.summary.Sent() == 0 && seriesWithRequests[id.target] > 0 {
			continue
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
	return records
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

// addCounter adds the increases of a counter.
func (s recordSet) addCounter(metric counterMetric, increases model.Vector) {
	for _, sample := range increases {
		one := s.of(sample.Metric)
		n := int(math.Round(float64(sample.Value)))
		if n != 0 {
			metric.add(one, string(sample.Metric[model.LabelName(metric.label)]), n)
		}
	}
}

// addPresence adds in how many windows of the range there is data.
func (s recordSet) addPresence(window time.Duration, windowsWithData model.Vector) {
	for _, sample := range windowsWithData {
		s.of(sample.Metric).present = window * time.Duration(sample.Value)
	}
}

// addSources warns of series that come from several sources at once.
func (s recordSet) addSources(sources model.Vector) {
	for _, sample := range sources {
		if sample.Value > 1 {
			s.of(sample.Metric).warn("%.0f jobs or instances report this target and are added up: "+
				"if they are one prober that is scraped twice, select one with --match job=NAME",
				math.Ceil(float64(sample.Value)))
		}
	}
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
