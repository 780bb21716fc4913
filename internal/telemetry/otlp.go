package telemetry

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"sync"

	"go.opentelemetry.io/otel"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"

	"github.com/llm-prober/prober/internal/probe"
)

// OTLP is the recorder that sends: metrics, and every probe as a trace.
type OTLP struct {
	*recorder
	metrics *sdkmetric.MeterProvider // nil if metrics are off
	traces  *spans                   // nil if traces are off
}

// OTLPOptions are the settings of [NewOTLP] beside the OTEL_* variables.
type OTLPOptions struct {
	Build Build
	GenAI bool // metrics by the OpenTelemetry GenAI conventions beside ours

	// OnError is called for each failure: exports after all their retries, and errors
	// of the SDK. The calls come from goroutines of the SDK; nil ignores failures.
	OnError func(error)
}

// NewOTLP returns a recorder that exports as the OTEL_* variables say. It is nil
// if no endpoint is configured. An error names the variable that is wrong.
//
// NewOTLP sets the SDK's error handler, which is global: the SDK would print errors
// to stderr, past the program's log.
func NewOTLP(ctx context.Context, o OTLPOptions) (*OTLP, error) {
	asked, err := planOf(os.Getenv)
	if err != nil || asked == (plan{}) {
		return nil, err
	}
	own := newOwn(o.Build)
	errs := &errorHandler{own: own, onError: o.OnError}
	otel.SetErrorHandler(errs)
	about, err := resourceOf(ctx, o.Build)
	if err != nil {
		return nil, err
	}
	rec := &OTLP{recorder: newRecorder(own, nil, &meters{})}
	if asked.traces != protocolNone {
		to, err := newSpanExporter(ctx, asked.traces)
		if err != nil {
			return nil, fmt.Errorf("make OTLP exporter of traces: %w", err)
		}
		rec.traces = newSpans(spanExporter{to, errs}, about)
	}
	if asked.metrics != protocolNone {
		to, err := newMetricExporter(ctx, asked.metrics)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("make OTLP exporter of metrics: %w", err), rec.Shutdown(ctx))
		}
		back := newMeters(o, sdkmetric.WithTemporalitySelector(to.Temporality), sdkmetric.WithAggregationSelector(to.Aggregation))
		rec.measure(own, back)
		rec.metrics = sdkmetric.NewMeterProvider(sdkmetric.WithResource(about),
			sdkmetric.WithReader(sdkmetric.NewPeriodicReader(metricExporter{to, errs}, sdkmetric.WithProducer(back))))
	}
	return rec, nil
}

// measure makes the recorder keep metrics in a backend.
func (o *OTLP) measure(values *own, back *meters) {
	o.recorder = newRecorder(values, back.rows, back)
	complain(observe(back.prober, o.recorder))
}

// resourceOf identifies the source of metrics and traces. The environment overrides
// all of it but the SDK's name.
func resourceOf(ctx context.Context, b Build) (*resource.Resource, error) {
	about, err := resource.New(ctx,
		resource.WithAttributes(
			semconv.ServiceName("prober"),
			semconv.ServiceVersion(b.Version),
			semconv.ServiceInstanceID(instance()),
		),
		resource.WithFromEnv(),
		resource.WithTelemetrySDK(),
	)
	if err != nil {
		return nil, fmt.Errorf("OTEL_RESOURCE_ATTRIBUTES: %w; want key=value pairs with commas between", err)
	}
	return about, nil
}

// instance is a unique name.
func instance() string {
	host, _ := os.Hostname() // without one the rest is still unique
	suffix := make([]byte, 4)
	_, _ = rand.Read(suffix) // never fails: see its documentation
	return cmp.Or(host, "prober") + "-" + hex.EncodeToString(suffix)
}

// Record implements [Recorder]. The probe becomes a trace as well.
func (o *OTLP) Record(r *probe.Result) {
	if t, ok := o.record(r); ok && o.traces != nil {
		o.traces.record(t, r)
	}
}

// Shutdown sends what is left and ends the exports. It returns as soon as ctx is
// done. Failed exports were passed to OnError already.
func (o *OTLP) Shutdown(ctx context.Context) error {
	var metrics, traces error
	var running sync.WaitGroup
	if o.traces != nil {
		running.Go(func() { traces = o.traces.provider.Shutdown(ctx) })
	}
	if o.metrics != nil {
		metrics = o.metrics.Shutdown(ctx)
	}
	running.Wait()
	return errors.Join(metrics, traces)
}
