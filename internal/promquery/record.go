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
	"github.com/llm-prober/prober/internal/telemetry"
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
	series     series
	selection  selection // of this series alone, in the range that was asked for
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
	selection selection     // that was asked for
	window    time.Duration // of error budgets, whole hours
	bySeries  map[series]*record
}

// newRecordSet returns a set without records.
func newRecordSet(s selection, window time.Duration) recordSet {
	return recordSet{selection: s, window: window, bySeries: map[series]*record{}}
}

// record returns the record of the series that labels name. If there is none yet, it adds one without requests.
func (s recordSet) record(labels model.Metric) *record {
	id := seriesOf(labels)
	one := s.bySeries[id]
	if one != nil {
		return one
	}
	span := s.selection.span
	own := []string{"model" + equals(id.model), "prompt" + equals(id.prompt), "vantage" + equals(id.vantage)}
	one = &record{
		series: id,
		selection: selection{
			targets:  []string{id.target},
			matchers: slices.Concat(own, s.selection.matchers),
			span:     span,
		},
		summary: report.Summary{
			Target: id.target, Model: id.model, Vantage: id.vantage, Start: span.from, Duration: span.length(),
			Outcomes: map[probe.Outcome]int{}, Skipped: map[probe.Skip]int{},
		},
	}
	s.bySeries[id] = one
	return one
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
		one.summary.Target = one.series.nameAmong(records)
		one.addWarnings()
		for _, o := range one.objectives {
			one.summary.Budgets = append(one.summary.Budgets, newBudget(o.objective, o.hours))
		}
	}
	slices.SortFunc(records, func(a, b *record) int { return cmp.Compare(a.summary.Target, b.summary.Target) })
	return records
}

// nameAmong returns the name of the target, with what tells its records apart: model and prompt, the vantage, or all.
func (s series) nameAmong(records []*record) string {
	otherModel, otherPlace := false, false
	for _, r := range records {
		other := r.series
		if other.target == s.target {
			otherModel = otherModel || other.model != s.model || other.prompt != s.prompt
			otherPlace = otherPlace || other.vantage != s.vantage
		}
	}
	var differs []string
	if otherModel {
		differs = append(differs, "model "+s.model, "prompt "+s.prompt)
	}
	if otherPlace {
		differs = append(differs, s.place())
	}
	if differs == nil {
		return s.target
	}
	return s.target + " (" + strings.Join(differs, ", ") + ")"
}

// place returns the vantage in words.
func (s series) place() string {
	if s.vantage == "" {
		return "no vantage"
	}
	return "vantage " + s.vantage
}

// A counter is one that is read, by one of its labels.
type counter struct {
	metric string // OTLP name
	label  string
	add    func(r *record, value string, n int) // adds n of a value of the label
}

// counters are all counters that are read.
var counters = []counter{
	{telemetry.Probes, "outcome", func(r *record, value string, n int) { r.summary.Outcomes[probe.Outcome(value)] = n }},
	{telemetry.Skipped, "reason", func(r *record, value string, n int) { r.summary.Skipped[probe.Skip(value)] = n }},
	{telemetry.Tainted, "reason", func(r *record, _ string, n int) { r.tainted += n }},
	{telemetry.Tokens, "kind", func(r *record, value string, n int) {
		switch value {
		case "prompt":
			r.summary.InputTokens = n
		case "output":
			r.summary.OutputTokens = n
		}
	}},
}

// addCounter adds the increases of a counter.
func (s recordSet) addCounter(c counter, increases model.Vector) {
	for _, sample := range increases {
		one := s.record(sample.Metric)
		n := int(math.Round(float64(sample.Value)))
		if n != 0 {
			c.add(one, string(sample.Metric[model.LabelName(c.label)]), n)
		}
	}
}

// addPresence adds in how many windows of the range there is data.
func (s recordSet) addPresence(window time.Duration, windowsWithData model.Vector) {
	for _, sample := range windowsWithData {
		s.record(sample.Metric).present = window * time.Duration(sample.Value)
	}
}

// addSources warns of series that come from several sources at once.
func (s recordSet) addSources(sources model.Vector) {
	for _, sample := range sources {
		if sample.Value > 1 {
			s.record(sample.Metric).warn("%.0f jobs or instances report this target and are added up: "+
				"if they are one prober that is scraped twice, select one with --match job=NAME",
				math.Ceil(float64(sample.Value)))
		}
	}
}

// addWarnings says what is missing in the data.
func (r *record) addWarnings() {
	length := r.selection.span.length()
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
