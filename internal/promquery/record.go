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

// recordOf returns the record of the series that labels name. If there is none yet, it adds one without requests.
func (s recordSet) recordOf(labels model.Metric) *record {
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
	type targetAtVantage struct{ target, vantage string }
	haveRequests := map[targetAtVantage]bool{}
	for id, one := range s.bySeries {
		if one.summary.Sent() > 0 {
			haveRequests[targetAtVantage{id.target, id.vantage}] = true
		}
	}
	for id, one := range s.bySeries {
		if one.summary.Sent() > 0 || !haveRequests[targetAtVantage{id.target, id.vantage}] {
			records = append(records, one)
		}
	}
	for _, one := range records {
		one.summary.Target = one.series.nameAmong(records)
		one.warnOfMissingData()
		for _, o := range one.objectives {
			one.summary.Budgets = append(one.summary.Budgets, newBudget(o.objective, o.hours))
		}
	}
	slices.SortFunc(records, func(a, b *record) int { return cmp.Compare(a.summary.Target, b.summary.Target) })
	return records
}

// nameAmong returns the name of the target, with what distinguishes its records: model and prompt, the vantage, or all.
func (s series) nameAmong(records []*record) string {
	isOtherModel := func(r *record) bool {
		return r.series.target == s.target && (r.series.model != s.model || r.series.prompt != s.prompt)
	}
	isOtherVantage := func(r *record) bool {
		return r.series.target == s.target && r.series.vantage != s.vantage
	}
	var differs []string
	if slices.ContainsFunc(records, isOtherModel) {
		differs = append(differs, "model "+s.model, "prompt "+s.prompt)
	}
	if slices.ContainsFunc(records, isOtherVantage) {
		differs = append(differs, s.vantageText())
	}
	if differs == nil {
		return s.target
	}
	return s.target + " (" + strings.Join(differs, ", ") + ")"
}

// vantageText returns the vantage as part of a sentence.
func (s series) vantageText() string {
	if s.vantage == "" {
		return "no vantage"
	}
	return "vantage " + s.vantage
}

// addProbes adds how many requests ended with each outcome.
func (s recordSet) addProbes(increases model.Vector) {
	for _, sample := range increases {
		outcomes := s.recordOf(sample.Metric).summary.Outcomes
		n := toCount(sample.Value)
		if n != 0 {
			outcomes[probe.Outcome(sample.Metric["outcome"])] = n
		}
	}
}

// addSkipped adds how many requests were not sent for each reason.
func (s recordSet) addSkipped(increases model.Vector) {
	for _, sample := range increases {
		skipped := s.recordOf(sample.Metric).summary.Skipped
		n := toCount(sample.Value)
		if n != 0 {
			skipped[probe.Skip(sample.Metric["reason"])] = n
		}
	}
}

// addTainted adds how many requests were read late, for whatever reason.
func (s recordSet) addTainted(increases model.Vector) {
	for _, sample := range increases {
		s.recordOf(sample.Metric).tainted += toCount(sample.Value)
	}
}

// addTokens adds the tokens of prompts and of answers.
func (s recordSet) addTokens(increases model.Vector) {
	for _, sample := range increases {
		summary := &s.recordOf(sample.Metric).summary
		switch sample.Metric["kind"] {
		case "prompt":
			summary.InputTokens = toCount(sample.Value)
		case "output":
			summary.OutputTokens = toCount(sample.Value)
		}
	}
}

// toCount returns an increase as a number of events. Prometheus extrapolates increases: 359.2 for 360.
func toCount[T ~float64](increase T) int { return int(math.Round(float64(increase))) }

// addPresence adds for how much of the range there is data.
func (s recordSet) addPresence(window time.Duration, windowsWithData model.Vector) {
	for _, sample := range windowsWithData {
		s.recordOf(sample.Metric).present = window * time.Duration(sample.Value)
	}
}

// warnOfSources warns of series that come from several sources at once.
func (s recordSet) warnOfSources(sources model.Vector) {
	for _, sample := range sources {
		if sample.Value > 1 {
			s.recordOf(sample.Metric).warn("%.0f jobs or instances report this target and are added up: "+
				"if they are one prober that is scraped twice, select one with --match job=NAME",
				math.Ceil(float64(sample.Value)))
		}
	}
}

// warnOfMissingData says what is missing in the data.
func (r *record) warnOfMissingData() {
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
