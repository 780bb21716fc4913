// Package telemetry turns the results of probes into metrics and traces. Targets come in through [Recorder.Set], their
// results through [Recorder.Record]. Metrics go out through [Recorder.Handler] (/metrics) and over OTLP, traces over
// OTLP.
//
// Every metric is described once, as an [Instrument] of the [Catalog], and named nowhere else in the program. The
// recorder is a loop over that catalog, with two backends: client_golang for /metrics, and the OpenTelemetry SDK for
// OTLP. The package never logs and never listens: it returns an [http.Handler], and passes its failures to
// [Options.OnError].
//
// Begin reading at [Instrument], then at [Recorder.Record]. To add a metric, add an instrument to one of the functions
// that [Catalog] calls, with a function that returns its samples.
package telemetry

import (
	"maps"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/llm-prober/prober/internal/probe"
)

// A Recorder keeps the metrics of the targets that are set, serves them to scrapes, and, if that is configured, exports
// them and a trace of every probe over OTLP. Its methods are safe for concurrent use. Those that record do no I/O and
// never wait for an export or a scrape.
type Recorder struct {
	recorded []*Instrument // histograms and counters
	gauges   []Instrument  // read when metrics are collected
	labels   []string      // see [Options.Labels]
	vantage  string        // see [Options.Vantage]
	backends []backend
	registry *prometheus.Registry     // collects everything on /metrics
	metrics  *sdkmetric.MeterProvider // nil if metrics are not exported
	traces   *sdktrace.TracerProvider // nil if traces are not exported

	proberSeries map[seriesID][]series // histograms and counters of the prober itself; the map never changes

	mu           sync.Mutex          // guards the fields below
	proberGauges map[string][]sample // gauges of the prober itself that were set, by name
	targets      map[string]*targetSeries
	rejected     []probe.Description // see [Recorder.SetRejectedTargets]
}

// A backend keeps the series of histograms and counters in a metrics library.
type backend interface {
	// open creates one series, at zero if the library can show a series without values. It returns nil if the backend
	// does not have the instrument.
	open(i *Instrument, t probe.Description, own ownLabels) series

	// release ends all series that a target has in a scope.
	release(scope Scope, t probe.Description)
}

// A series takes a value, and the span to keep with it as an exemplar if the span is valid. It is safe for concurrent
// use.
type series func(value float64, exemplar trace.SpanContext)

// A seriesID identifies one of the series of a target, or of the prober itself.
type seriesID struct {
	instrument string
	labels     ownLabels
}

// A targetSeries is a target that is set, with its series.
type targetSeries struct {
	targetState
	series map[seriesID][]series // one for each backend that has it
}

// newRecorder returns a recorder for /metrics, and for OTLP if otlp is not nil.
func newRecorder(o Options, otlp *otelBackend) *Recorder {
	build := ownLabels{toValidUTF8(o.Build.Version), toValidUTF8(o.Build.Revision)}
	r := &Recorder{
		labels:       o.Labels,
		vantage:      o.Vantage,
		registry:     prometheus.NewRegistry(),
		proberSeries: map[seriesID][]series{},
		proberGauges: map[string][]sample{buildInfo: {{labels: build, value: 1}}},
		targets:      map[string]*targetSeries{},
	}
	for _, i := range Catalog() {
		i = i.withExternalURL(o.ExternalURL)
		i.vantage = o.Vantage
		if i.Scope != ScopeProber || i.Name == targetRejected {
			i.configured = o.Labels
		}
		switch {
		case i.Kind == Gauge:
			r.gauges = append(r.gauges, i)
		case i.Scope != ScopeGenAI, o.GenAI && otlp != nil:
			r.recorded = append(r.recorded, &i)
		}
	}
	r.registry.MustRegister(
		newGaugeCollector(r),
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	)
	r.backends = []backend{newPromBackend(r.registry, r.recorded)}
	if otlp != nil {
		r.backends = append(r.backends, otlp)
		otlp.observeGauges(r)
	}
	for _, i := range r.recorded {
		if i.Scope == ScopeProber {
			r.proberSeries[seriesID{instrument: i.Name}] = r.open(i, probe.Description{}, ownLabels{})
		}
	}
	return r
}

// Record records a result of a target that is set. It ignores results of other targets, canceled probes, and late
// results: those with the prompt or the model that the target had before.
func (r *Recorder) Record(result *probe.Result) {
	if result.Outcome == probe.Canceled {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	s, ok := r.targets[result.Target]
	if !ok || isLate(result, s.target) {
		return
	}
	s.update(result)
	r.recordSamples(s, result)
	if r.traces != nil {
		recordSpan(r.traces.Tracer(instrumentation), s.target, r.vantage, result)
	}
}

// isLate reports whether a result has the prompt or the model that its target had before.
func isLate(result *probe.Result, target probe.Description) bool {
	hasOtherModel := result.Model != "" && result.Model != target.Model
	return result.Prompt != target.Prompt || hasOtherModel
}

// recordSamples passes the samples of a result to their series. It drops a sample with a label value that is not in the
// closed set of the instrument: such a sample has no series.
func (r *Recorder) recordSamples(s *targetSeries, result *probe.Result) {
	span := spanOf(result)
	for _, i := range r.recorded {
		if i.fromResult == nil {
			continue
		}
		all := s.series
		if i.Scope == ScopeProber {
			all = r.proberSeries
		}
		creates := i.createOn != nil && i.createOn(result)
		i.fromResult(s.target, result, func(v sample) {
			id := seriesID{i.Name, v.labels}
			if creates && all[id] == nil {
				all[id] = r.open(i, s.target, v.labels)
			}
			var exemplar trace.SpanContext
			if v.exemplar {
				exemplar = span
			}
			observe(all[id], v.value, exemplar)
		})
	}
}

// observe passes a value to a series in all backends.
func observe(all []series, value float64, exemplar trace.SpanContext) {
	for _, one := range all {
		one(value, exemplar)
	}
}

// Skipped counts a slot in which a target was not probed.
func (r *Recorder) Skipped(target string, reason probe.Skip) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s, ok := r.targets[target]
	if ok {
		observe(s.series[seriesID{skippedProbes, ownLabels{string(reason)}}], 1, trace.SpanContext{})
	}
}

// Add adds to a counter of the prober itself: [ExportFailures], [LookupFailures] or [InternalErrors].
func (r *Recorder) Add(name string, n float64) {
	observe(r.proberSeries[seriesID{instrument: name}], n, trace.SpanContext{})
}

// Reloaded records that the configuration was loaded, and when, or, if ok is false, that it was rejected.
func (r *Recorder) Reloaded(at time.Time, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !ok {
		r.proberGauges[reloadOK] = []sample{{value: 0}}
		return
	}
	r.proberGauges[reloadOK] = []sample{{value: 1}}
	r.proberGauges[reloadTime] = []sample{{value: unixSeconds(at)}}
}

// SetRejectedTargets records which targets of the configuration are not probed because their settings are wrong. Of a
// target it needs the name, which must be unique, and the labels.
func (r *Recorder) SetRejectedTargets(targets []probe.Description) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.rejected = targets
}

// collectGauges passes on the samples that all gauges have now. It holds no lock while it calls observe.
func (r *Recorder) collectGauges(observe func(i Instrument, t probe.Description, s sample)) {
	r.mu.Lock()
	prober, rejected := maps.Clone(r.proberGauges), r.rejected
	targets := make([]targetState, 0, len(r.targets))
	for _, s := range r.targets {
		targets = append(targets, s.targetState)
	}
	r.mu.Unlock()

	for _, i := range r.gauges {
		for _, s := range prober[i.Name] {
			observe(i, probe.Description{}, s)
		}
		if i.Name == targetRejected {
			for _, t := range rejected {
				observe(i, t, sample{labels: ownLabels{toValidUTF8(t.Name)}, value: 1})
			}
		}
		if i.fromTarget == nil {
			continue
		}
		for _, state := range targets {
			i.fromTarget(state, func(s sample) { observe(i, state.target, s) })
		}
	}
}
