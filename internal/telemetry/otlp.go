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
)

// Options are the settings of [New] beside the OTEL_* variables.
type Options struct {
	Build Build
	GenAI bool // on OTLP, metrics by the OpenTelemetry GenAI conventions beside ours

	// OnError is called for each failure: exports after all their retries, and errors
	// of the SDK. The calls come from goroutines of the SDK.
	OnError func(error)
}

// New returns a recorder that exports over OTLP as the OTEL_* variables say. An
// error names the variable that is wrong; the recorder then works without OTLP.
//
// New sets the SDK's error handler, which is global: the SDK would print errors to
// stderr, past the program's log.
func New(ctx context.Context, o Options) (*Recorder, error) {
	values := newOwn(o.Build)
	to, err := newExport(ctx, o, values)
	return newRecorder(values, to), err
}

// An export is what sends by OTLP. It is zero if no endpoint is configured.
type export struct {
	back    *meters                  // nil if metrics are off
	metrics *sdkmetric.MeterProvider // reads back
	traces  *spans                   // nil if traces are off
}

func newExport(ctx context.Context, o Options, values *own) (e export, err error) {
	asked, err := planOf(os.Getenv)
	if err != nil || asked == (plan{}) {
		return e, err
	}
	errs := &errorHandler{own: values, onError: o.OnError}
	otel.SetErrorHandler(errs)
	about, err := resourceOf(ctx, o.Build)
	if err != nil {
		return e, err
	}
	if asked.traces != protocolNone {
		to, err := newSpanExporter(ctx, asked.traces)
		if err != nil {
			return e, fmt.Errorf("make OTLP exporter of traces: %w", err)
		}
		e.traces = newSpans(spanExporter{to, errs}, about)
	}
	if asked.metrics != protocolNone {
		to, err := newMetricExporter(ctx, asked.metrics)
		if err != nil {
			return export{}, errors.Join(fmt.Errorf("make OTLP exporter of metrics: %w", err), e.Shutdown(ctx))
		}
		e.back = newMeters(o, sdkmetric.WithTemporalitySelector(to.Temporality), sdkmetric.WithAggregationSelector(to.Aggregation))
		e.metrics = sdkmetric.NewMeterProvider(sdkmetric.WithResource(about),
			sdkmetric.WithReader(sdkmetric.NewPeriodicReader(metricExporter{to, errs}, sdkmetric.WithProducer(e.back))))
	}
	return e, nil
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

// Exporting reports whether metrics or traces are exported over OTLP.
func (e export) Exporting() bool { return e.metrics != nil || e.traces != nil }

// Shutdown sends what is left and ends the exports. It returns as soon as ctx is
// done. Failed exports were passed to OnError already.
func (e export) Shutdown(ctx context.Context) error {
	var metrics, traces error
	var running sync.WaitGroup
	if e.traces != nil {
		running.Go(func() { traces = e.traces.provider.Shutdown(ctx) })
	}
	if e.metrics != nil {
		metrics = e.metrics.Shutdown(ctx)
	}
	running.Wait()
	return errors.Join(metrics, traces)
}
