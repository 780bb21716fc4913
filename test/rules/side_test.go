package rules

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"
)

// A side is a test of promtool: a row just below its threshold, or just above it.
type side struct {
	Name     string
	Interval string
	Series   []input     `yaml:"input_series"`
	Exprs    []exprTest  `yaml:"promql_expr_test"`
	Alerts   []alertTest `yaml:"alert_rule_test,omitempty"`
}

type input struct{ Series, Values string }

type exprTest struct {
	Expr    string
	At      string   `yaml:"eval_time"`
	Samples []sample `yaml:"exp_samples"`
}

type sample struct {
	Labels string
	Value  float64
}

type alertTest struct {
	Alert  string  `yaml:"alertname"`
	At     string  `yaml:"eval_time"`
	Firing []alert `yaml:"exp_alerts"`
}

type alert struct {
	Labels      map[string]string `yaml:"exp_labels"`
	Annotations map[string]string `yaml:"exp_annotations"`
}

// A trial is a row with one kind of rules.
type trial struct {
	row   row
	kind  kind
	rule  map[string]any
	every time.Duration // evaluations and scrapes

	// Moments above the threshold.
	fault    time.Duration // begins
	starts   time.Duration // the condition begins to hold
	fires    time.Duration // the alert's "for" has passed
	repaired time.Duration // the fault is over
	ends     time.Duration // the alert's keep_firing_for has passed
}

// newTrial computes the moments of a row. interval is that of the rule's group.
func newTrial(r row, k kind, rule map[string]any, interval time.Duration) trial {
	tr := trial{row: r, kind: k, rule: rule, every: interval, fault: 20 * time.Minute}
	if r.Every != 0 {
		tr.every = time.Duration(r.Every)
	}
	if r.Well != 0 {
		tr.fault = time.Duration(r.Well)
	}
	tr.starts = tr.fault + time.Duration(r.Starts)
	tr.fires = tr.starts
	if r.For != nil {
		tr.fires += (time.Duration(*r.For) + tr.every - 1).Truncate(tr.every) // an alert changes with an evaluation
	}
	tr.repaired = tr.fires + tr.every
	if r.Lasts != 0 {
		tr.repaired = tr.fault + time.Duration(r.Lasts)
	}
	tr.ends = tr.repaired + time.Duration(r.Ends)
	if r.Keep != nil {
		tr.ends += time.Duration(*r.Keep)
	}
	return tr
}

// selector returns a selector of the alert, whose labels promtool finds by those that its rule gives it.
func (tr trial) selector(more ...string) string {
	labels := map[string]string{"alertname": tr.row.Alert}
	maps.Copy(labels, staticLabels(tr.rule))
	return series{metric: "ALERTS", labels: labels}.name("", more...)
}

// never expects that the alert is neither pending nor fires until a moment.
func (tr trial) never(when string, until time.Duration) exprTest {
	return exprTest{
		Expr: fmt.Sprintf("count(count_over_time(%s[%s])) # %s: silent", tr.selector(), until+tr.every, when),
		At:   until.String(),
	}
}

// silent expects that the alert does not fire at a moment.
func (tr trial) silent(when string, at time.Duration) exprTest {
	return exprTest{Expr: tr.selector(`alertstate="firing"`) + " # " + when + ": silent", At: at.String()}
}

// is expects the alert with all its labels in a state at a moment.
func (tr trial) is(state, when string, at time.Duration) exprTest {
	labels := map[string]string{"alertname": tr.row.Alert, "alertstate": state}
	maps.Copy(labels, tr.row.Labels)
	maps.Copy(labels, tr.kind.common)
	return exprTest{
		Expr:    tr.selector(fmt.Sprintf("alertstate=%q", state)) + " # " + when + ": " + state,
		At:      at.String(),
		Samples: []sample{{Labels: series{metric: "ALERTS", labels: labels}.name(""), Value: 1}},
	}
}

// below returns the test just below the threshold.
func (tr trial) below(t *testing.T) side {
	t.Helper()
	return side{
		Name:     tr.row.String() + ": below the threshold",
		Interval: tr.every.String(),
		Series:   tr.inputs(t, "silent", tr.repaired),
		Exprs:    []exprTest{tr.never("below the threshold", tr.repaired)},
	}
}

// above returns the test just above the threshold.
func (tr trial) above(t *testing.T) side {
	t.Helper()
	s := side{Name: tr.row.String() + ": above the threshold", Interval: tr.every.String()}
	if !tr.row.hasTexts() {
		s.Series = tr.inputs(t, "fires", tr.repaired)
		at := tr.repaired - tr.every
		if tr.row.Starts != 0 {
			at = tr.starts
			s.Exprs = append(s.Exprs, tr.never("one evaluation before the condition holds", at-tr.every))
		}
		s.Exprs = append(s.Exprs, exprTest{
			Expr:    fmt.Sprintf("count by (alertname) (%s) # above the threshold: pending, or fires", tr.selector()),
			At:      at.String(),
			Samples: []sample{{Labels: fmt.Sprintf("{alertname=%q}", tr.row.Alert), Value: 1}},
		})
		return s
	}
	s.Series = tr.inputs(t, "fires", tr.ends+tr.every)
	s.Exprs = append(s.Exprs, tr.never("one evaluation before the condition holds", tr.starts-tr.every))
	if tr.row.For != nil {
		s.Exprs = append(s.Exprs,
			tr.is("pending", "the condition holds", tr.starts),
			tr.silent("one evaluation before its for has passed", tr.fires-tr.every))
	}
	s.Exprs = append(s.Exprs,
		tr.is("firing", "its for has passed", tr.fires),
		tr.is("firing", "after the fault, one evaluation before its keep_firing_for has passed", tr.ends-tr.every),
		tr.silent("after the fault, its keep_firing_for has passed", tr.ends))
	if tr.kind.name == "shipped" {
		texts := map[string]string{"summary": tr.row.Summary, "description": strings.TrimSpace(tr.row.Description)}
		firing := []alert{{Labels: tr.row.Labels, Annotations: texts}}
		s.Alerts = []alertTest{{Alert: tr.row.Alert, At: tr.fires.String(), Firing: firing}}
	}
	return s
}

// inputs returns the series of the row until a moment. fault is the phase of the fault: "silent" or "fires".
func (tr trial) inputs(t *testing.T, fault string, until time.Duration) []input {
	t.Helper()
	times := []phase{
		{name: "well", begin: 0, end: tr.fault},
		{name: fault, begin: tr.fault, end: tr.repaired},
		{name: "repaired", begin: tr.repaired, end: until + 2*tr.every},
	}
	var all []input
	for _, name := range slices.Sorted(maps.Keys(tr.row.Series)) {
		s, err := parseSeries(name, tr.row.Series[name], tr.kind.common)
		if err != nil {
			t.Fatal(err)
		}
		samples, err := s.samples(times, tr.every, tr.kind.classic)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range slices.Sorted(maps.Keys(samples)) {
			all = append(all, input{Series: name, Values: strings.Join(samples[name], " ")})
		}
	}
	return all
}
