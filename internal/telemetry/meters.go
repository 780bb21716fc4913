package telemetry

import (
	"context"
	"sync"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/llm-prober/prober/internal/probe"
)

const instrumentation = "github.com/llm-prober/prober"

// meters are the OpenTelemetry SDK as a backend. A provider of the SDK keeps every attribute set that it ever saw, and
// replicas behind a name may come and go for a year: so each target has a provider of its own, and its series end with
// it. Targets with equal attributes by the GenAI conventions share one for these.
type meters struct {
	version string // of the prober
	options []sdkmetric.ManualReaderOption
	view    sdkmetric.View
	prober  *meter

	mu      sync.Mutex
	targets map[string]*meter // by name
	genAI   map[attribute.Distinct]*meter
}

type meter struct {
	metric.Meter
	reader *sdkmetric.ManualReader

	genAI attribute.Distinct // of a target's: which meter has its series of the GenAI conventions; guarded by meters.mu
}

// newMeters returns a backend whose providers are read with options. Its buckets are those on /metrics.
func newMeters(version string, options ...sdkmetric.ManualReaderOption) *meters {
	m := &meters{
		version: version, options: options, targets: map[string]*meter{}, genAI: map[attribute.Distinct]*meter{},
		view: sdkmetric.NewView(
			sdkmetric.Instrument{Name: "llm.*", Kind: sdkmetric.InstrumentKindHistogram},
			sdkmetric.Stream{Aggregation: sdkmetric.AggregationBase2ExponentialHistogram{MaxSize: exponentialSize, MaxScale: exponentialScale}},
		),
	}
	m.prober = m.newMeter()
	return m
}

// newMeter returns a provider without a limit of series.
func (m *meters) newMeter() *meter {
	reader := sdkmetric.NewManualReader(m.options...)
	provider := sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader), sdkmetric.WithCardinalityLimit(0), sdkmetric.WithView(m.view))
	return &meter{
		Meter:  provider.Meter(instrumentation, metric.WithInstrumentationVersion(m.version)),
		reader: reader,
	}
}

// open implements [backend]. A counter shows at zero; a histogram of OpenTelemetry cannot exist without a value.
func (m *meters) open(i *Instrument, t probe.Description, p point) series {
	from, set := m.meterOf(i, t), metric.WithAttributeSet(i.attributes(t, p))
	if i.Kind == Counter {
		counter := must(from.Int64Counter(i.Name, metric.WithUnit(i.Unit), metric.WithDescription(i.Help)))
		options := []metric.AddOption{set} // made once: Add would allocate them for each call
		counter.Add(context.Background(), 0, options...)
		return func(value float64, exemplar trace.SpanContext) {
			counter.Add(trace.ContextWithRemoteSpanContext(context.Background(), exemplar), int64(value), options...)
		}
	}
	histogram := must(from.Float64Histogram(i.Name, metric.WithUnit(i.Unit),
		metric.WithDescription(i.Help), metric.WithExplicitBucketBoundaries(i.Bounds...)))
	options := []metric.RecordOption{set}
	zero := i.zero() // which the SDK's exponential histograms lack
	return func(value float64, exemplar trace.SpanContext) {
		if value <= zero {
			value = 0
		}
		histogram.Record(trace.ContextWithRemoteSpanContext(context.Background(), exemplar), value, options...)
	}
}

func (m *meters) meterOf(i *Instrument, t probe.Description) *meter {
	if i.Scope == ScopeProber {
		return m.prober
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	of := m.targets[t.Name]
	if of == nil {
		of = m.newMeter()
		m.targets[t.Name] = of
	}
	if i.Scope == ScopeTarget {
		return of
	}
	conventions := attribute.NewSet(genAIAttributes(t)...)
	of.genAI = conventions.Equivalent()
	if m.genAI[of.genAI] == nil {
		m.genAI[of.genAI] = m.newMeter()
	}
	return m.genAI[of.genAI]
}

// release implements [backend]. No provider is shut down: it may be read at this moment, and holds nothing but memory.
func (m *meters) release(t probe.Description) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.targets, t.Name)
}

// must returns an instrument, which the SDK refuses only if the catalog is wrong.
func must[T any](made T, err error) T {
	if err != nil {
		panic(err)
	}
	return made
}

// attributes are the labels of one series as OpenTelemetry has them. Empty ones of the GenAI conventions are left out.
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
