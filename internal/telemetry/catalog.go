package telemetry

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/llm-prober/prober/internal/probe"
)

// The OTLP names of the metrics that code outside the catalog needs: to record them, or to read what is stored of them.
const (
	Probes          = "llm.probe.probes"
	Tokens          = "llm.probe.tokens"
	Tainted         = "llm.probe.tainted"
	Skipped         = "llm.probe.skipped"
	ObjectiveEvents = "llm.probe.objective_events"
	ObjectiveGoal   = "llm.probe.objective_goal"
	ObjectiveLimit  = "llm.probe.objective_limit"
	TargetInfo      = "llm.probe.target_info"

	ExportFailures = "llm.prober.export_failures"
	LookupFailures = "llm.prober.dns_lookup_failures"
	SourceFailures = "llm.prober.http_sd_failures"
	InternalErrors = "llm.prober.internal_errors"

	buildInfo      = "llm.prober.build_info"
	reloadOK       = "llm.prober.config_last_reload_successful"
	reloadTime     = "llm.prober.config_last_reload_success_timestamp"
	targetRejected = "llm.prober.target_rejected"
	targetsListed  = "llm.prober.http_sd_targets"
	labelsDropped  = "llm.prober.http_sd_dropped_labels"
)

// Catalog returns every metric of the program, in the order of the documentation. The caller owns the list.
func Catalog() []Instrument { return catalog(Options{}) }

// Lookup returns the instrument of an OTLP name; ok is false if the catalog has none.
func Lookup(name string) (i Instrument, ok bool) {
	all := Catalog()
	n := slices.IndexFunc(all, func(i Instrument) bool { return i.Name == name })
	if n < 0 {
		return Instrument{}, false
	}
	return all[n], true
}

// catalog returns every metric with the labels that the options give it.
func catalog(o Options) []Instrument {
	all := slices.Concat(
		startLatencies(),
		tokenLatencies(),
		probeDurations(),
		probeCounters(),
		frameCounters(),
		eventCounters(),
		activityGauges(),
		timestampGauges(),
		wordingGauges(),
		settingGauges(o.ExternalURL),
		proberDelays(),
		proberState(o.Build, o.ExternalURL),
		targetSources(),
		genAI(),
	)
	for n := range all {
		switch {
		case all[n].Scope != ScopeProber:
			all[n].vantage = o.Vantage
			all[n].configured = o.Labels
		case all[n].Name == targetRejected: // so that a rejected target's team hears of it
			all[n].configured = o.Labels
		}
	}
	return all
}

// An Instrument is one metric, described once and exported twice: on /metrics and over OTLP.
type Instrument struct {
	Name   string // OTLP name, with dots and without a unit: "llm.probe.ttft"
	Unit   string // UCUM: "s", "1" for a ratio, "{token}" for a count, "" for an info series or a flag
	Help   string // sentences on one line: what the quantity is, then when it has no sample
	Kind   Kind
	Scope  Scope
	Labels []Label     // that tell the series of a target apart, in addition to those of the scope
	Info   []InfoLabel // that describe the target and add no series
	Bounds []float64   // upper bounds of a histogram's classic buckets, in Unit, ascending
	Zero   float64     // values of a histogram up to this count as zero, in Unit; 0 for zeroThreshold

	vantage    string   // value of the label vantage, see [Options.Vantage]; no such label if empty
	configured []string // names of the labels that the configuration gives targets, see [Options.Labels]

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
	ScopeGenAI  Scope = "genai"  // the same by the GenAI conventions, on OTLP only: as above, without model
)

// A Label distinguishes the series of a target.
type Label struct {
	Name   string
	Values []string // all possible values; nil if the configuration or the server decides
	From   string   // what the values are, for the documentation, if Values is nil

	// targetValues returns the values that a target can have, if Values is nil, so that its series exist before their
	// first sample. It is nil for a gauge, which has no series before.
	targetValues func(probe.Description) []string
}

// An InfoLabel has one value for each target.
type InfoLabel struct {
	Name string
	From string // what the value is, for the documentation

	value func(probe.Description) string
}

// A resultSource passes on the samples that a result of a target adds to an instrument.
type resultSource = func(t probe.Description, r *probe.Result, record func(sample))

// A targetSource passes on the current samples of a gauge about a target.
type targetSource = func(s promptState, observe func(sample))

// A sample is one value of a series.
type sample struct {
	labels   []string // values of [Instrument.Labels], in their order
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

// zero returns the zero threshold of a histogram.
func (i Instrument) zero() float64 { return cmp.Or(i.Zero, zeroThreshold) }

// labelNames returns the names of all labels, in the order of [Instrument.labelValues].
func (i Instrument) labelNames() []string {
	var names []string
	switch i.Scope {
	case ScopeTarget:
		names = []string{"target", "model", "prompt"}
	case ScopeGenAI: // without them, two prompts could have the same attributes
		names = []string{"target", "prompt"}
	}
	if i.vantage != "" {
		names = append(names, "vantage")
	}
	names = append(names, i.configured...)
	for _, l := range i.Labels {
		names = append(names, l.Name)
	}
	for _, l := range i.Info {
		names = append(names, l.Name)
	}
	return names
}

// labelValues returns the values of all labels in the series of a target that has these values of [Instrument.Labels].
func (i Instrument) labelValues(t probe.Description, own []string) []string {
	var values []string
	switch i.Scope {
	case ScopeTarget:
		values = targetLabels(t)
	case ScopeGenAI:
		values = []string{toValidUTF8(t.Name), toValidUTF8(t.Prompt)}
	}
	if i.vantage != "" {
		values = append(values, i.vantage)
	}
	for _, name := range i.configured {
		values = append(values, t.Labels[name]) // empty if the target has no such label
	}
	values = append(values, own...)
	for _, l := range i.Info {
		values = append(values, toValidUTF8(l.value(t)))
	}
	return values
}

// initialLabels returns the values of [Instrument.Labels] in each series that a target has from the start.
func (i Instrument) initialLabels(t probe.Description) [][]string {
	all := [][]string{nil}
	for _, label := range i.Labels {
		values := label.Values
		if label.targetValues != nil {
			values = label.targetValues(t)
		}
		var longer [][]string
		for _, own := range all {
			for _, value := range values {
				longer = append(longer, append(slices.Clone(own), value))
			}
		}
		all = longer
	}
	return all
}

// objectiveLabel returns the label of the metrics about objectives.
func objectiveLabel() Label {
	return Label{
		Name:         "objective",
		From:         "name of an objective of the target",
		targetValues: objectiveNames,
	}
}

// objectiveNames returns the names of a target's objectives as label values.
func objectiveNames(t probe.Description) []string {
	var names []string
	for _, o := range t.Objectives {
		names = append(names, toValidUTF8(o.Name))
	}
	return names
}

// depthLabel returns the label of the metric about the depths of a canary.
func depthLabel() Label {
	return Label{
		Name:         "depth",
		From:         "a depth of `PROBER_CANARY_DEPTH`; only targets with the prompt canary have the series",
		targetValues: depthTexts,
	}
}

// depthTexts returns the depths of a target's canaries as label values.
func depthTexts(t probe.Description) []string {
	var depths []string
	for _, depth := range t.Depths {
		depths = append(depths, depthText(depth))
	}
	return depths
}

func depthText(depth float64) string { return strconv.FormatFloat(depth, 'f', -1, 64) }

// externalURLLabel returns the label by which alerts and dashboards find the prober's page. It is on the metrics that
// say which targets there are: those that are probed, and those that are rejected.
func externalURLLabel(url string) InfoLabel {
	return InfoLabel{
		Name:  "external_url",
		From:  "`PROBER_EXTERNAL_URL`; empty if not set",
		value: func(probe.Description) string { return url },
	}
}

// texts returns the label values of a closed set.
func texts[T ~string](all []T) []string {
	var texts []string
	for _, value := range all {
		texts = append(texts, string(value))
	}
	return texts
}

// failures returns the outcomes of failed probes.
func failures() []string {
	isOK := func(name string) bool { return name == string(probe.OK) }
	return slices.DeleteFunc(texts(probe.Outcomes()), isOK)
}

// toValidUTF8 returns text as a label value, which must be UTF-8. The text may be anything, such as the name of a model
// that a server sent.
func toValidUTF8(text string) string { return strings.ToValidUTF8(text, "\uFFFD") }
