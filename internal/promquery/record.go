package promquery

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/common/model"

	"github.com/llm-prober/prober/internal/format"
	"github.com/llm-prober/prober/internal/probe"
	"github.com/llm-prober/prober/internal/report"
)

// A series is what is counted as one: a target, its model and its prompt, from however many probers at one vantage.
// What is seen from two places is never added up.
type series struct{ target, model, prompt, vantage string }

// seriesOf returns the series that labels name.
func seriesOf(labels model.Metric) series {
	return series{
		target:  string(labels["target"]),
		model:   string(labels["model"]),
		prompt:  string(labels["prompt"]),
		vantage: string(labels["vantage"]),
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
			Target: id.target, Model: id.model, Vantage: id.vantage, Start: s.span.from, Duration: s.span.length(),
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
// if another one of its target has some at the same vantage: it is of a model that was not known yet, or is no longer
// asked.
func (s recordSet) reported() (records []*record) {
	type place struct{ target, vantage string }
	haveRequests := map[place]bool{}
	for id, one := range s.bySeries {
		if one.summary.Sent() > 0 {
			haveRequests[place{id.target, id.vantage}] = true
		}
	}
	for id, one := range s.bySeries {
		if one.summary.Sent() > 0 || !haveRequests[place{id.target, id.vantage}] {
			records = append(records, one)
		}
	}
	for _, one := range records {
		one.summary.Target = one.nameAmong(records)
		one.addWarnings()
		for _, o := range one.objectives {
			one.summary.Budgets = append(one.summary.Budgets, newBudget(o.objective, o.hours))
		}
	}
	slices.SortFunc(records, func(a, b *record) int { return cmp.Compare(a.summary.Target, b.summary.Target) })
	return records
}

// nameAmong returns the name of the target, with what tells its records apart: model and prompt, the vantage, or all.
func (r *record) nameAmong(records []*record) string {
	otherModel, otherPlace := false, false
	for _, other := range records {
		if other.target == r.target {
			otherModel = otherModel || other.model != r.model || other.prompt != r.prompt
			otherPlace = otherPlace || other.vantage != r.vantage
		}
	}
	var differs []string
	if otherModel {
		differs = append(differs, "model "+r.model, "prompt "+r.prompt)
	}
	if otherPlace {
		differs = append(differs, r.place())
	}
	if differs == nil {
		return r.target
	}
	return r.target + " (" + strings.Join(differs, ", ") + ")"
}

// place returns the vantage in words.
func (s series) place() string {
	if s.vantage == "" {
		return "no vantage"
	}
	return "vantage " + s.vantage
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
