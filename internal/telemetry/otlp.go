package telemetry

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/metric"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"

	"github.com/llm-prober/prober/internal/probe"
)

// OTLP is the recorder that sends: metrics, and every probe as a trace. A nil
// *OTLP is a recorder that does nothing.
type OTLP struct {
	*ledger
	metrics *sdkmetric.MeterProvider // nil if metrics are off
	traces  *spans                   // nil if traces are off
}

// OTLPOptions are what [NewOTLP] is told beside the OTEL_* variables.
type OTLPOptions struct {
	// Environ looks a variable up; [os.Getenv] if nil. It serves only our own
	// decisions, what to export and by which protocol: the SDK and its exporters
	// read everything else (endpoints, headers, certificates, temporality,
	// intervals, the resource) from the process's environment, so that Environ
	// must agree with it.
	Environ func(string) string

	Build Build
	GenAI bool // metrics by the OpenTelemetry GenAI conventions beside ours

	// OnError is told of everything that fails, each also counted: exports after
	// all their retries, and complaints of the SDK. It is called from goroutines
	// of the SDK, and as often as things fail; nil tells nobody.
	OnError func(error)
}

// NewOTLP returns a recorder that exports as the OTEL_* variables say. It is nil
// if no endpoint is configured. An error names the variable at fault.
//
// NewOTLP sets no global provider, but the SDK's error handler, which is global:
// complaints about variables and collections that failed go there, and by default
// are printed to stderr past the program's log.
func NewOTLP(ctx context.Context, o OTLPOptions) (*OTLP, error) {
	if o.Environ == nil {
		o.Environ = os.Getenv
	}
	asked, err := planOf(o.Environ)
	if err != nil || asked == (plan{}) {
		return nil, err
	}
	failed := &failures{tell: o.OnError}
	otel.SetErrorHandler(failed)
	about, err := resourceOf(ctx, o.Build)
	if err != nil {
		return nil, err
	}
	rec := &OTLP{ledger: newLedger(o.Build, nil, nil, failed)}
	if asked.traces != protocolNone {
		to, err := newSpanExporter(ctx, asked.traces)
		if err != nil {
			return nil, fmt.Errorf("make OTLP exporter of traces: %w", err)
		}
		rec.traces = newSpans(spanExporter{to, failed}, about)
	}
	if asked.metrics != protocolNone {
		to, err := newMetricExporter(ctx, asked.metrics)
		if err == nil {
			err = rec.send(to, o, about)
		}
		if err != nil {
			return nil, errors.Join(fmt.Errorf("make OTLP exporter of metrics: %w", err), rec.Shutdown(ctx))
		}
	}
	return rec, nil
}

// send lets the recorder export metrics periodically.
func (o *OTLP) send(to sdkmetric.Exporter, options OTLPOptions, about *resource.Resource) error {
	back := newMeters(options, sdkmetric.WithTemporalitySelector(to.Temporality), sdkmetric.WithAggregationSelector(to.Aggregation))
	to = metricExporter{pruning{to, back.usage}, o.failures}
	return o.measure(sdkmetric.NewPeriodicReader(to, sdkmetric.WithProducer(back)), back, options, about)
}

// measure lets the recorder keep metrics for a reader, to which back gives those of
// the targets.
func (o *OTLP) measure(read sdkmetric.Reader, back *meters, options OTLPOptions, about *resource.Resource) error {
	o.metrics = newMeterProvider(read, about)
	meter := o.metrics.Meter(instrumentation, metric.WithInstrumentationVersion(options.Build.Version))
	if err := back.begin(meter); err != nil {
		return err
	}
	o.ledger = newLedger(options.Build, back.rows, back, o.failures)
	return observe(meter, o.ledger)
}

// resourceOf is what says whose metrics and traces these are. The environment
// overrides all of it but the SDK's name.
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

// instance is a name that no other instance has.
func instance() string {
	host, _ := os.Hostname() // without one the rest is still unique
	suffix := make([]byte, 4)
	_, _ = rand.Read(suffix) // never fails: see its documentation
	return cmp.Or(host, "prober") + "-" + hex.EncodeToString(suffix)
}

// Shutdown sends what is left and ends the exports. It returns as soon as ctx is
// done, whatever the collector does. Errors of exports were given to OnError
// already.
func (o *OTLP) Shutdown(ctx context.Context) error {
	if o == nil {
		return nil
	}
	traces := make(chan error, 1)
	go func() { traces <- o.traces.shutdown(ctx) }()
	var metrics error
	if o.metrics != nil {
		metrics = o.metrics.Shutdown(ctx)
	}
	return errors.Join(metrics, <-traces)
}

// Failures is how many errors OnError was told of.
func (o *OTLP) Failures() uint64 {
	if o == nil {
		return 0
	}
	return o.failures.count.Load()
}

// Record implements [Recorder]. The probe becomes a trace as well.
func (o *OTLP) Record(r *probe.Result) {
	if o == nil {
		return
	}
	if t, ok := o.record(r); ok {
		o.traces.record(t, r)
	}
}

// Set implements [Recorder].
func (o *OTLP) Set(t probe.Description) {
	if o != nil {
		o.ledger.Set(t)
	}
}

// Remove implements [Recorder].
func (o *OTLP) Remove(name string) {
	if o != nil {
		o.ledger.Remove(name)
	}
}

// Skipped implements [Recorder].
func (o *OTLP) Skipped(target string, reason Skip) {
	if o != nil {
		o.ledger.Skipped(target, reason)
	}
}

// LookupsFailed implements [Recorder].
func (o *OTLP) LookupsFailed(n int) {
	if o != nil {
		o.ledger.LookupsFailed(n)
	}
}

// Reloaded implements [Recorder].
func (o *OTLP) Reloaded(at time.Time, ok bool) {
	if o != nil {
		o.ledger.Reloaded(at, ok)
	}
}
