// Package telemetry turns the results of probes into metrics and traces. Targets come in through [Recorder.Set], their
// results through [Recorder.Record]. Metrics go out through [Recorder.Handler] (/metrics) and over OTLP, traces over
// OTLP.
//
// Every metric is described once, as an [Instrument] of the [Catalog], and named nowhere else in the program. The
// recorder is a loop over that catalog, with two backends: client_golang for /metrics, and the OpenTelemetry SDK for
// OTLP. The package never logs and never listens: it returns an [http.Handler], and passes its failures to
// [Options.OnError].
//
// Begin reading at [Instrument] in catalog.go, then at [Recorder.Record]. The instruments are in catalog_*.go. What
// happens when a target comes, changes and goes is in targets.go. What the two libraries need is in prometheus.go and
// otel_*.go.
//
// To add a metric, add an instrument to one of the functions that [Catalog] calls, with a function that returns its
// samples. Then let everything() in fixtures_test.go record a value of it.
package telemetry

import (
	"context"
	"errors"
	"maps"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"go.opentelemetry.io/otel"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/llm-prober/prober/internal/probe"
)

// A Recorder keeps the metrics of the targets that are set, serves them to scrapes, and, if that is configured, exports
// them and a trace of every probe over OTLP. Its methods are safe for concurrent use. Those that record do no I/O and
// never wait for an export or a scrape.
type Recorder struct {
	recorded []Instrument // histograms and counters
	gauges   []Instrument // read when metrics are collected
	labels   []string     // see [Options.Labels]
	vantage  string       // see [Options.Vantage]
	backends []backend
	registry *prometheus.Registry     // collects everything on /metrics
	metrics  *sdkmetric.MeterProvider // exports what the backend for OTLP produces; nil if metrics are not exported
	traces   *sdktrace.TracerProvider // nil if traces are not exported

	proberSeries map[seriesID]series // histograms and counters of the prober itself; the map never changes

	mu           sync.Mutex                       // guards the fields below
	proberGauges map[string]float64               // gauges of the prober itself that were set, by name
	prompts      map[probe.PromptID]*promptSeries // each has all series of a target for itself
	rejected     []probe.Description              // see [Recorder.SetRejectedTargets]
}

// A Build identifies the program.
type Build struct{ Version, Revision string }

// Options are the settings of [New] that are not OTEL_* variables.
type Options struct {
	Build Build
	GenAI bool // export metrics by the OpenTelemetry GenAI conventions v1.41 as well, over OTLP

	// Labels are the names of the labels that targets may have, sorted. Every series of a target has all of them, empty
	// if the target does not have the label. Labels of other names are not shown.
	Labels []string

	// Vantage says where the prober stands. It is a label of every series of a target. If it is empty, no series has the
	// label. It is not called location, because Google's managed Prometheus sets a label of that name on all series.
	Vantage string

	// ExternalURL is the address at which people reach the prober's page, without a slash at its end; empty if unknown.
	ExternalURL string

	// OnError is called for each error of the SDK, by goroutines of the SDK. An export has failed only after all retries.
	// It must not be nil if anything is exported.
	OnError func(error)
}

// A backend keeps the series of histograms and counters in a metrics library.
type backend interface {
	// open creates the series of a target that has these values of [Instrument.Labels]. It is at zero if the library can
	// show a series without values. The observer is nil if the backend does not have the instrument.
	open(i Instrument, t probe.Description, own []string) observer

	// release ends all series that a target has in a scope.
	release(scope Scope, t probe.Description)
}

// An observer takes the values of one series in one backend. A valid span is kept with the value, as its exemplar. An
// observer is safe for concurrent use.
type observer func(value float64, exemplar trace.SpanContext)

// A series is one series in all backends that have its instrument.
type series []observer

// observe passes a value to all backends.
func (s series) observe(value float64, exemplar trace.SpanContext) {
	for _, observe := range s {
		observe(value, exemplar)
	}
}

// A seriesID identifies one of the series of a target, or of the prober itself.
type seriesID struct {
	instrument string
	labels     string // values of [Instrument.Labels], joined
}

// idOf returns the identity of the series that has these values of [Instrument.Labels].
func idOf(instrument string, own ...string) seriesID {
	const separator = "\xff" // no label value has it: all are UTF-8
	return seriesID{instrument: instrument, labels: strings.Join(own, separator)}
}

// A promptSeries is a prompt that is set, with its series.
type promptSeries struct {
	state  promptState
	series map[seriesID]series
}

// New returns a recorder that exports over OTLP as the OTEL_* variables say. An error names the variable that is wrong;
// the recorder then works without OTLP.
//
// New sets the SDK's error handler, which is global. By default, the SDK prints errors to stderr, past the program's
// log.
func New(ctx context.Context, o Options) (*Recorder, error) {
	metrics, traces, err := newExporters(ctx)
	if err != nil || metrics == nil && traces == nil {
		return newRecorder(o, nil), err
	}
	about, err := newResource(ctx, o.Build)
	if err != nil {
		return newRecorder(o, nil), err
	}
	var otlp *otelBackend
	if metrics != nil {
		otlp = newOTelBackend(o.Build.Version,
			sdkmetric.WithTemporalitySelector(metrics.Temporality),
			sdkmetric.WithAggregationSelector(metrics.Aggregation),
		)
	}
	r := newRecorder(o, otlp)
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) {
		r.Add(ExportFailures, 1)
		o.OnError(withoutHeaders(err))
	}))
	if metrics != nil {
		reader := sdkmetric.NewPeriodicReader(metrics, sdkmetric.WithProducer(otlp))
		r.metrics = sdkmetric.NewMeterProvider(sdkmetric.WithResource(about), sdkmetric.WithReader(reader))
	}
	if traces != nil {
		// Every probe is sampled: its id went out with the request, and is the exemplar of its metrics.
		r.traces = sdktrace.NewTracerProvider(
			sdktrace.WithBatcher(traces),
			sdktrace.WithResource(about),
			sdktrace.WithSampler(sdktrace.AlwaysSample()),
			sdktrace.WithIDGenerator(ownIDs{}),
		)
	}
	return r, nil
}

// newRecorder returns a recorder for /metrics, and for OTLP if otlp is not nil.
func newRecorder(o Options, otlp *otelBackend) *Recorder {
	r := &Recorder{
		labels:       o.Labels,
		vantage:      o.Vantage,
		registry:     prometheus.NewRegistry(),
		proberSeries: map[seriesID]series{},
		proberGauges: map[string]float64{buildInfo: 1},
		prompts:      map[probe.PromptID]*promptSeries{},
	}
	hasGenAI := o.GenAI && otlp != nil // only OTLP has the metrics of the conventions
	for _, i := range catalog(o) {
		switch {
		case i.Scope == ScopeGenAI && !hasGenAI:
		case i.Kind == Gauge:
			r.gauges = append(r.gauges, i)
		default:
			r.recorded = append(r.recorded, i)
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
	r.openAll(r.proberSeries, ScopeProber, probe.Description{})
	return r
}

// Record records a result of a prompt that is set. It ignores canceled probes, and results of other prompts. It ignores
// late results from before a reload as well, which have the model that the target had then.
func (r *Recorder) Record(result *probe.Result) {
	if result.Outcome == probe.Canceled {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	s, ok := r.prompts[result.ID()]
	if !ok {
		return
	}
	target := s.state.target
	if result.Model != "" && result.Model != target.Model { // the target has another model by now
		return
	}
	s.state.update(result)
	r.recordSamples(s, result)
	for prompt := range result.Blocked {
		other := r.prompts[probe.PromptID{Target: result.Target, Prompt: prompt}]
		if prompt != result.Prompt && other != nil {
			other.recordBlocked(result)
		}
	}
	if r.traces != nil {
		recordSpan(r.traces.Tracer(instrumentation), target, r.vantage, result)
	}
}

// recordSamples passes the samples of a result to their series. It drops a sample with a label value that is not in the
// closed set of the instrument: such a sample has no series.
func (r *Recorder) recordSamples(s *promptSeries, result *probe.Result) {
	span := spanOf(result)
	for _, i := range r.recorded {
		if i.fromResult == nil {
			continue
		}
		target := s.state.target
		to := s.series
		if i.Scope == ScopeProber {
			to = r.proberSeries
		}
		creates := i.createOn != nil && i.createOn(result)
		i.fromResult(target, result, func(v sample) {
			id := idOf(i.Name, v.labels...)
			if creates && to[id] == nil {
				to[id] = r.open(i, target, v.labels)
			}
			var exemplar trace.SpanContext
			if v.exemplar {
				exemplar = span
			}
			to[id].observe(v.value, exemplar)
		})
	}
}

// recordBlocked passes on the events of objectives of a prompt whose slots a result of another prompt blocked.
func (s *promptSeries) recordBlocked(result *probe.Result) {
	objectiveEvents(s.state.target, result, func(v sample) {
		s.series[idOf(ObjectiveEvents, v.labels...)].observe(v.value, trace.SpanContext{})
	})
}

// Skipped counts a slot in which a prompt of a target was not asked.
func (r *Recorder) Skipped(target, prompt string, reason probe.Skip) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s, ok := r.prompts[probe.PromptID{Target: target, Prompt: prompt}]
	if ok {
		s.series[idOf(Skipped, string(reason))].observe(1, trace.SpanContext{})
	}
}

// Add adds to a counter of the prober itself: [ExportFailures], [LookupFailures], [SourceFailures] or [InternalErrors].
func (r *Recorder) Add(name string, n float64) {
	r.proberSeries[idOf(name)].observe(n, trace.SpanContext{})
}

// Reloaded records that the configuration was loaded, and when, or, if ok is false, that it was rejected.
func (r *Recorder) Reloaded(at time.Time, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !ok {
		r.proberGauges[reloadOK] = 0
		return
	}
	r.proberGauges[reloadOK] = 1
	r.proberGauges[reloadTime] = unixSeconds(at)
}

// SetListed records how many targets the lists of http_sd have, and how many labels of them are dropped.
func (r *Recorder) SetListed(targets, dropped int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.proberGauges[targetsListed] = float64(targets)
	r.proberGauges[labelsDropped] = float64(dropped)
}

// SetRejectedTargets records which targets of the configuration are not probed because their settings are wrong. It
// uses the name of each target, which must be unique, and the labels.
func (r *Recorder) SetRejectedTargets(targets []probe.Description) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.rejected = targets
}

// collectGauges passes on the samples that all gauges have now. It holds no lock while it calls observe.
func (r *Recorder) collectGauges(observe func(i Instrument, t probe.Description, s sample)) {
	r.mu.Lock()
	prober := maps.Clone(r.proberGauges)
	rejected := r.rejected
	prompts := make([]promptState, 0, len(r.prompts))
	for _, s := range r.prompts {
		prompts = append(prompts, s.state)
	}
	r.mu.Unlock()

	for _, i := range r.gauges {
		value, ok := prober[i.Name]
		if ok {
			observe(i, probe.Description{}, sample{value: value})
		}
		if i.Name == targetRejected {
			for _, t := range rejected {
				observe(i, t, sample{labels: []string{toValidUTF8(t.Name)}, value: 1})
			}
		}
		if i.fromTarget == nil {
			continue
		}
		for _, state := range prompts {
			i.fromTarget(state, func(s sample) { observe(i, state.target, s) })
		}
	}
}

// Exporting reports whether metrics or traces are exported over OTLP.
func (r *Recorder) Exporting() bool { return r.metrics != nil || r.traces != nil }

// Shutdown sends what is left, until ctx is done, and ends the exports. It returns the errors of these last exports,
// which OnError gets as well.
func (r *Recorder) Shutdown(ctx context.Context) error {
	var metrics, traces error
	var running sync.WaitGroup
	if r.traces != nil {
		running.Go(func() { traces = r.traces.Shutdown(ctx) })
	}
	if r.metrics != nil {
		metrics = r.metrics.Shutdown(ctx)
		if metrics != nil {
			otel.Handle(metrics) // the SDK does so with all other errors
		}
	}
	running.Wait()
	return withoutHeaders(errors.Join(metrics, traces))
}
