package telemetry

import (
	"cmp"
	"strings"

	"github.com/llm-prober/prober/internal/probe"
)

// An Instrument is one metric, described once and exported twice.
type Instrument struct {
	Name   string // OTLP name, dotted, without a unit: "llm.probe.ttft"
	Unit   string // UCUM: "s", "1" for a ratio, "{token}" for a count, "" for an info series or a flag
	Help   string // one sentence: the quantity, and when there is no sample
	Kind   Kind
	Scope  Scope
	Labels []Label   // beside those of the scope
	Bounds []float64 // of a histogram's classic buckets, in Unit, ascending
	Zero   float64   // of a histogram: values up to it count as zero, in Unit; 0 for zeroThreshold

	// ofResult passes on what a result adds to a histogram or a counter. ofTarget passes on what is known of a target
	// to a gauge, when metrics are collected. Neither is set where a method of [Recorder] gives the values.
	ofResult func(probe.Description, *probe.Result, func(sample))
	ofTarget func(facts, func(sample))

	// begins reports whether a result begins the series that it has the first sample of; nil if a target has all from the start.
	begins func(*probe.Result) bool
}

// A Kind is the type of a metric.
type Kind string

// The kinds.
const (
	Histogram Kind = "histogram"
	Counter   Kind = "counter" // only ever grows
	Gauge     Kind = "gauge"
)

// A Scope is the subject of an instrument. It decides the labels that it has beside its own.
type Scope string

// The scopes.
const (
	ScopeTarget Scope = "target" // what probes measured: labels target, model and prompt
	ScopeProber Scope = "prober" // the state of the prober itself: no labels
	ScopeGenAI  Scope = "genai"  // what probes measured, by the GenAI conventions, on OTLP only: target, their attributes
)

// A Label is a label that only some instruments have.
type Label struct {
	Name   string
	Values []string // all it can have; nil if the configuration or the build names them
	From   string   // where the values come from, in words, if Values is nil

	of   func(probe.Description) []string // a target's values, if Values is nil and series must exist before their first sample
	fact func(probe.Description) string   // the one value that a target has; no part of a point
}

// A point is the values of an instrument's own labels, in their order. It identifies one series of a target.
type point [2]string

type sample struct {
	at     point
	value  float64
	marked bool // keep it as an exemplar, with the trace of its probe
}

// PrometheusName is the name on /metrics. It is the OpenTelemetry to Prometheus translation of Name, Unit and Kind
// (https://opentelemetry.io/docs/specs/otel/compatibility/prometheus_and_openmetrics/), so that one dashboard serves
// both. No name of the catalog contains its unit or "total".
func (i Instrument) PrometheusName() string {
	name := strings.ReplaceAll(i.Name, ".", "_")
	if unit := i.prometheusUnit(); unit != "" {
		name += "_" + unit
	}
	if i.Kind == Counter {
		name += "_total"
	}
	return name
}

// zero returns the zero threshold of a histogram on /metrics.
func (i Instrument) zero() float64 { return cmp.Or(i.Zero, zeroThreshold) }

// prometheusUnit is the unit as a word; empty if it is no part of the name.
func (i Instrument) prometheusUnit() string {
	switch {
	case i.Unit == "s":
		return "seconds"
	case i.Unit == "1" && i.Kind == Gauge:
		return "ratio"
	}
	return "" // none, or an annotation such as {token}
}

// labelNames are all labels of the instrument, those of its scope first.
func (i Instrument) labelNames() []string {
	var names []string
	switch i.Scope {
	case ScopeTarget:
		names = []string{"target", "model", "prompt"}
	case ScopeGenAI: // two targets may have equal attributes by the conventions
		names = []string{"target"}
	}
	for _, l := range i.Labels {
		names = append(names, l.Name)
	}
	return names
}

// labelValues are the values for labelNames in one series of a target.
func (i Instrument) labelValues(t probe.Description, p point) []string {
	var values []string
	switch i.Scope {
	case ScopeTarget:
		values = labels(t)
	case ScopeGenAI:
		values = []string{valid(t.Name)}
	}
	own := p[:]
	for _, l := range i.Labels {
		if l.fact != nil {
			values = append(values, valid(l.fact(t)))
			continue
		}
		values, own = append(values, own[0]), own[1:]
	}
	return values
}

func (i Instrument) points(t probe.Description) []point {
	all := []point{{}}
	for n, label := range i.Labels {
		var longer []point
		for _, p := range all {
			values := label.Values
			if label.of != nil {
				values = label.of(t)
			}
			for _, value := range values {
				p[n] = value
				longer = append(longer, p)
			}
		}
		all = longer
	}
	return all
}
