package telemetry

import (
	"context"
	"maps"
	"slices"
	"sync"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/llm-prober/prober/internal/probe"
)

const instrumentation = "github.com/llm-prober/prober"

// An otelBackend keeps the series for OTLP in the OpenTelemetry SDK. A provider of the SDK keeps every attribute set
// that it ever saw, and replicas behind a name may come and go for a year: so each target has providers of its own, and
// its series end with them.
type otelBackend struct {
	version string // of the prober
	options []sdkmetric.ManualReaderOption
	view    sdkmetric.View
	zero    map[string]float64 // the zero threshold of each exponential histogram, by its OTLP name; never changes

	mu     sync.Mutex
	meters map[owner]*meter
}

// An owner is whose series a meter has: those of one scope of a target, or of the prober, which has no name. The
// attributes of the GenAI conventions may change while the target's other series go on, so they have their own.
type owner struct {
	scope  Scope
	target string
}

// A meter is one provider of the SDK, and what reads it.
type meter struct {
	metric.Meter
	reader *sdkmetric.ManualReader
}

// newOTelBackend returns a backend whose providers are read with options. Its buckets are those on /metrics.
func newOTelBackend(version string, options ...sdkmetric.ManualReaderOption) *otelBackend {
	b := &otelBackend{
		version: version,
		options: options,
		view: sdkmetric.NewView(
			sdkmetric.Instrument{Name: "llm.*", Kind: sdkmetric.InstrumentKindHistogram},
			sdkmetric.Stream{Aggregation: sdkmetric.AggregationBase2ExponentialHistogram{
				MaxSize:  exponentialSize,
				MaxScale: exponentialScale,
			}},
		),
		zero:   map[string]float64{},
		meters: map[owner]*meter{},
	}
	for _, i := range Catalog() {
		if i.Kind == Histogram && i.Scope != ScopeGenAI {
			b.zero[i.Name] = i.zero()
		}
	}
	return b
}

// newMeter returns a provider without a limit of series.
func (b *otelBackend) newMeter() *meter {
	reader := sdkmetric.NewManualReader(b.options...)
	provider := sdkmetric.NewMeterProvider(
		sdkmetric.WithReader(reader),
		sdkmetric.WithCardinalityLimit(0),
		sdkmetric.WithView(b.view),
	)
	return &meter{
		Meter:  provider.Meter(instrumentation, metric.WithInstrumentationVersion(b.version)),
		reader: reader,
	}
}

// meterOf returns the meter of an owner, a new one if it has none.
func (b *otelBackend) meterOf(o owner) *meter {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.meters[o] == nil {
		b.meters[o] = b.newMeter()
	}
	return b.meters[o]
}

// live returns the meters that have open series.
func (b *otelBackend) live() []*meter {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Collect(maps.Values(b.meters))
}

// open implements [backend]. A counter shows at zero; a histogram of OpenTelemetry cannot exist without a value.
func (b *otelBackend) open(i *Instrument, t probe.Description, p point) series {
	meter := b.meterOf(owner{i.Scope, t.Name})
	set := metric.WithAttributeSet(i.attributes(t, p))
	if i.Kind == Counter {
		counter := must(meter.Int64Counter(i.Name, metric.WithUnit(i.Unit), metric.WithDescription(i.Help)))
		options := []metric.AddOption{set} // made once: Add would allocate them for each call
		counter.Add(context.Background(), 0, options...)
		return func(value float64, exemplar trace.SpanContext) {
			counter.Add(trace.ContextWithRemoteSpanContext(context.Background(), exemplar), int64(value), options...)
		}
	}
	histogram := must(meter.Float64Histogram(i.Name, metric.WithUnit(i.Unit),
		metric.WithDescription(i.Help), metric.WithExplicitBucketBoundaries(i.Bounds...)))
	options := []metric.RecordOption{set}
	return func(value float64, exemplar trace.SpanContext) {
		histogram.Record(trace.ContextWithRemoteSpanContext(context.Background(), exemplar), value, options...)
	}
}

// release implements [backend]. No provider is shut down: it may be read at this moment, and holds nothing but memory.
func (b *otelBackend) release(scope Scope, t probe.Description) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.meters, owner{scope, t.Name})
}

// must returns an instrument, which the SDK refuses only if the catalog is wrong.
func must[T any](made T, err error) T {
	if err != nil {
		panic(err)
	}
	return made
}

// attributes returns the labels of one series as OpenTelemetry has them. Empty ones of the GenAI conventions are left
// out.
func (i Instrument) attributes(t probe.Description, p point) attribute.Set {
	var all []attribute.KeyValue
	if i.Scope == ScopeGenAI {
		all = genAIAttributes(t)
	}
	values := i.labelValues(t, p)
	for n, name := range i.labelNames() {
		if values[n] != "" || i.Scope != ScopeGenAI {
			all = append(all, attribute.String(name, values[n]))
		}
	}
	return attribute.NewSet(all...)
}

// sameAttributes reports whether two descriptions of a target have equal attributes by the GenAI conventions.
func sameAttributes(a, b probe.Description) bool {
	before, now := attribute.NewSet(genAIAttributes(a)...), attribute.NewSet(genAIAttributes(b)...)
	return before.Equals(&now)
}
