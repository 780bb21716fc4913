package telemetry

import (
	"cmp"
	"iter"
	"slices"
	"strings"

	"github.com/llm-prober/prober/internal/probe"
)

// An Instrument is one metric, described once and exported twice.
type Instrument struct {
	Name   string // OTLP name, dotted, without a unit: "llm.probe.ttft"
	Unit   string // UCUM: "s", "1" for a ratio, "{token}" for a count, "" for an info series or a flag
	Help   string // one sentence: what it is, and when there is no sample
	Kind   Kind
	Scope  Scope
	Labels []Label   // beside those of the scope
	Bounds []float64 // of a histogram's classic buckets, in Unit, ascending
	Zero   float64   // of a histogram: what is not above it counts as zero, in Unit; 0 for zeroThreshold

	// Exactly one of these is set. What a result adds is recorded when the result
	// comes; what is known of a target or of the prober is read when somebody
	// collects.
	ofResult func(probe.Description, *probe.Result) iter.Seq[sample]
	ofTarget func(facts) iter.Seq[sample]
	ofSelf   func(self) iter.Seq[sample]
}

// A Kind is how an instrument's values add up.
type Kind string

// The kinds.
const (
	Histogram Kind = "histogram"
	Counter   Kind = "counter" // only ever grows
	Gauge     Kind = "gauge"
)

// A Scope is what an instrument speaks about, and by that the labels it has
// besides its own.
type Scope string

// The scopes.
const (
	// ScopeTarget is what the probes of a target saw: labels target, model and
	// prompt.
	ScopeTarget Scope = "target"

	// ScopeProber is how the prober itself is: no labels.
	ScopeProber Scope = "prober"

	// ScopeGenAI is what the probes saw in the words of the OpenTelemetry GenAI
	// conventions, on OTLP only: the attributes of these conventions.
	ScopeGenAI Scope = "genai"
)

// A Label is a label that only some instruments have.
type Label struct {
	Name   string
	Values []string // all it can have; nil if the configuration or the build names them
	From   string   // who names them, in words, if Values is nil

	of   func(probe.Description) []string // a target's values, if Values is nil and series must exist before their first sample
	fact func(probe.Description) string   // the one value that a target has, which is no part of a point
}

// A point is the values of an instrument's own labels, in their order: which of
// its series is meant.
type point [3]string

// A sample is one value for one series.
type sample struct {
	at     point
	value  float64
	marked bool // to be kept as an exemplar, with the trace of its probe
}

// targetLabels are the labels of [ScopeTarget].
func targetLabels() []string { return []string{"target", "model", "prompt"} }

// PrometheusName is the name on /metrics. It is what the OpenTelemetry to
// Prometheus translation makes of Name, Unit and Kind
// (https://opentelemetry.io/docs/specs/otel/compatibility/prometheus_and_openmetrics/),
// so that one dashboard serves both roads. The translation adds no unit that the
// name has already.
func (i Instrument) PrometheusName() string {
	words := strings.Split(strings.ReplaceAll(i.Name, ".", "_"), "_")
	words = slices.DeleteFunc(words, func(w string) bool { return i.Kind == Counter && w == "total" })
	if unit := i.prometheusUnit(); unit != "" && !slices.Contains(words, unit) {
		words = append(words, unit)
	}
	if i.Kind == Counter {
		words = append(words, "total")
	}
	return strings.Join(words, "_")
}

// zero is what a value must be above not to count as zero.
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
	if i.Scope == ScopeTarget {
		names = targetLabels()
	}
	for _, l := range i.Labels {
		names = append(names, l.Name)
	}
	return names
}

// labelValues are the values for labelNames in one series of a target.
func (i Instrument) labelValues(t probe.Description, p point) []string {
	var values []string
	if i.Scope == ScopeTarget {
		values = labels(t)
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

// points are all series of a target.
func (i Instrument) points(t probe.Description) []point {
	all := []point{{}}
	for n, label := range i.Labels {
		var longer []point
		for _, p := range all {
			for _, value := range label.values(t) {
				p[n] = value
				longer = append(longer, p)
			}
		}
		all = longer
	}
	return all
}

func (l Label) values(t probe.Description) []string {
	if l.of != nil {
		return l.of(t)
	}
	return l.Values
}

// ofResults is the part of the catalog that is recorded when a result comes, for
// the scopes given.
func ofResults(scopes ...Scope) []Instrument {
	return slices.DeleteFunc(Catalog(), func(i Instrument) bool {
		return i.ofResult == nil || !slices.Contains(scopes, i.Scope)
	})
}

// collected is the part of the catalog that is read when somebody collects.
func collected() []Instrument {
	return slices.DeleteFunc(Catalog(), func(i Instrument) bool { return i.ofResult != nil })
}
