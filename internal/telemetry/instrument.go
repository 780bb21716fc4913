package telemetry

import (
	"cmp"
	"slices"
	"strings"

	"github.com/llm-prober/prober/internal/probe"
)

// An Instrument is one metric, described once and exported twice: on /metrics and over OTLP.
type Instrument struct {
	Name   string // OTLP name, with dots and without a unit: "llm.probe.ttft"
	Unit   string // UCUM: "s", "1" for a ratio, "{token}" for a count, "" for an info series or a flag
	Help   string // the quantity, then when there is no sample
	Kind   Kind
	Scope  Scope
	Labels []Label   // in addition to those of the scope
	Bounds []float64 // upper bounds of a histogram's classic buckets, in Unit, ascending
	Zero   float64   // values of a histogram up to this count as zero, in Unit; 0 for zeroThreshold

	// vantage is the value of the label of that name, see [Options.Vantage]. The catalog has none, and then no series has
	// the label, which is the same for Prometheus as an empty one.
	vantage string

	// configured are the names of the labels that the configuration gives targets, sorted. The catalog has none: they are
	// set by [newRecorder], and nil in the scope of the prober, except for the gauge of rejected targets.
	configured []string

	// fromResult passes on what a result adds to a histogram or a counter. fromTarget passes on the value of a gauge
	// when metrics are collected. Both are nil if a method of [Recorder] sets the values.
	fromResult resultSource
	fromTarget targetSource

	// createOn reports whether a result creates the series of its samples. If it is nil, the series exist, at zero, as
	// soon as the target is added.
	createOn func(*probe.Result) bool
}

// A Kind is the type of a metric.
type Kind string

// The kinds.
const (
	Histogram Kind = "histogram"
	Counter   Kind = "counter" // never decreases
	Gauge     Kind = "gauge"
)

// A Scope is the subject of an instrument. It decides which labels all its series have.
type Scope string

// The scopes.
const (
	ScopeTarget Scope = "target" // what probes measured: target, model, prompt, vantage, and configured labels
	ScopeProber Scope = "prober" // the state of the prober itself: no labels
	ScopeGenAI  Scope = "genai"  // the same by the GenAI conventions, on OTLP only: target, vantage, and configured labels
)

// A Label is a label that only some instruments have.
type Label struct {
	Name   string
	Values []string // all possible values; nil if the configuration or the build decides
	From   string   // what the values are, for the documentation, if Values is nil

	// At most one of these is set. targetValues returns the values that a target can have, so that its series exist
	// before their first sample. infoValue returns the one value that a target has: such a label is not in [ownLabels].
	targetValues func(probe.Description) []string
	infoValue    func(probe.Description) string
}

// ownLabels are the values of an instrument's own labels, in their order and without info labels. They distinguish
// the series that a target has of the instrument.
type ownLabels [3]string

// A sample is one value of a series.
type sample struct {
	labels   ownLabels
	value    float64
	exemplar bool // keep the value as an exemplar, with the trace of its probe
}

// PrometheusName returns the name on /metrics. It is the OpenTelemetry to Prometheus translation of Name, Unit and Kind
// (https://opentelemetry.io/docs/specs/otel/compatibility/prometheus_and_openmetrics/), so that one dashboard serves
// both. No name in the catalog contains its unit or "total".
func (i Instrument) PrometheusName() string {
	name := strings.ReplaceAll(i.Name, ".", "_")
	unit := i.prometheusUnit()
	if unit != "" {
		name += "_" + unit
	}
	if i.Kind == Counter {
		name += "_total"
	}
	return name
}

// prometheusUnit returns the unit as a word; empty if it is not part of the name on /metrics.
func (i Instrument) prometheusUnit() string {
	switch {
	case i.Unit == "s":
		return "seconds"
	case i.Unit == "1" && i.Kind == Gauge:
		return "ratio"
	}
	return "" // none, or an annotation such as {token}
}

// withExternalURL returns the instrument with the value of the label external_url, if it has this label.
func (i Instrument) withExternalURL(url string) Instrument {
	i.Labels = slices.Clone(i.Labels)
	for n := range i.Labels {
		if i.Labels[n].Name == externalURL {
			i.Labels[n].infoValue = func(probe.Description) string { return url }
		}
	}
	return i
}

// hasVantage reports whether the series of the instrument have the label vantage: those about targets, if it is set.
func (i Instrument) hasVantage() bool { return i.vantage != "" && i.Scope != ScopeProber }

// zero returns the zero threshold of a histogram.
func (i Instrument) zero() float64 { return cmp.Or(i.Zero, zeroThreshold) }

// labelNames returns all labels of the instrument, those of its scope first.
func (i Instrument) labelNames() []string {
	var names []string
	switch i.Scope {
	case ScopeTarget:
		names = []string{"target", "model", "prompt"}
	case ScopeGenAI: // without it, two targets could have the same attributes
		names = []string{"target"}
	}
	if i.hasVantage() {
		names = append(names, "vantage")
	}
	names = append(names, i.configured...)
	for _, l := range i.Labels {
		names = append(names, l.Name)
	}
	return names
}

// labelValues returns the values for labelNames in one series of a target.
func (i Instrument) labelValues(t probe.Description, own ownLabels) []string {
	var values []string
	switch i.Scope {
	case ScopeTarget:
		values = targetLabels(t)
	case ScopeGenAI:
		values = []string{toValidUTF8(t.Name)}
	}
	if i.hasVantage() {
		values = append(values, i.vantage)
	}
	for _, name := range i.configured {
		values = append(values, t.Labels[name]) // empty if the target has no such label
	}
	next := 0
	for _, l := range i.Labels {
		if l.infoValue != nil {
			values = append(values, toValidUTF8(l.infoValue(t)))
			continue
		}
		values = append(values, own[next])
		next++
	}
	return values
}

// combinations returns the labels of all series that a target has of the instrument from the start.
func (i Instrument) combinations(t probe.Description) []ownLabels {
	all := []ownLabels{{}}
	for n, label := range i.Labels {
		values := label.Values
		if label.targetValues != nil {
			values = label.targetValues(t)
		}
		var longer []ownLabels
		for _, own := range all {
			for _, value := range values {
				own[n] = value
				longer = append(longer, own)
			}
		}
		all = longer
	}
	return all
}
