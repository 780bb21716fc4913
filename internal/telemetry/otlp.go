package telemetry

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"sync"

	"go.opentelemetry.io/otel"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"
)

// A Build identifies the program.
type Build struct{ Version, Revision string }

// Options are the settings of [New] that are not OTEL_* variables.
type Options struct {
	Build Build
	GenAI bool // export metrics by the OpenTelemetry GenAI conventions v1.41 as well, over OTLP

	// Labels are the names of the labels that targets may have, sorted. Every series of a target has all of them: those
	// that the target does not have are empty. Labels of other names are not shown.
	Labels []string

	// Vantage says where the prober stands. It is a label of every series of a target, empty if nobody said. It is not
	// called location, because Google's managed Prometheus sets a label of that name on all series itself.
	Vantage string

	// ExternalURL is the address at which people reach the prober's page, without a slash at its end; empty if unknown.
	ExternalURL string

	// OnError is called for each error of the SDK, by goroutines of the SDK. An export has failed only after all retries.
	OnError func(error)
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

// newResource returns the attributes of this process in exports. The OTEL_* variables override all but the SDK's name.
func newResource(ctx context.Context, build Build) (*resource.Resource, error) {
	host, _ := os.Hostname() // the id is unique without it
	instance := cmp.Or(host, "prober") + "-" + rand.Text()[:8]
	about, err := resource.New(ctx,
		resource.WithAttributes(
			semconv.ServiceName("prober"),
			semconv.ServiceVersion(build.Version),
			semconv.ServiceInstanceID(instance),
		),
		resource.WithFromEnv(),
		resource.WithTelemetrySDK(),
	)
	if err != nil {
		return nil, fmt.Errorf("OTEL_RESOURCE_ATTRIBUTES: %w; want key=value pairs with commas between", err)
	}
	return about, nil
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
