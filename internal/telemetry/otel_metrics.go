package telemetry

import (
	"context"
	"errors"
	"maps"
	"math"
	"slices"
	"sync"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/trace"

	"github.com/llm-prober/prober/internal/probe"
)

// instrumentation is the name of the instrumentation scope of all metrics and spans.
const instrumentation = "github.com/llm-prober/prober"

// An otelBackend keeps the series for OTLP in the OpenTelemetry SDK. A provider of the SDK keeps every attribute set
// that it ever saw, and replicas behind a DNS name may come and go for a year. So each prompt of a target has providers
// of its own, and its series end with them. [otelBackend.Produce] merges what all of them have for the one that
// exports.
type otelBackend struct {
	version string // of the prober
	options []sdkmetric.ManualReaderOption
	view    sdkmetric.View
	zero    map[string]float64 // zero threshold of each exponential histogram, by its OTLP name; never changes

	mu     sync.Mutex
	meters map[meterKey]*meter
}

// A meterKey identifies the series of a meter: those of a prompt in one scope, or those of the prober, which have no
// target. The GenAI series have a meter of their own, since their attributes may change while the other series go on.
type meterKey struct {
	scope Scope
	of    probe.PromptID
}

// A meter is one provider of the SDK, with what reads it.
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
		meters: map[meterKey]*meter{},
	}
	for _, i := range Catalog() {
		if i.Kind == Histogram && i.Scope != ScopeGenAI {
			b.zero[i.Name] = i.zero()
		}
	}
	return b
}

// newMeter returns a new provider, without a limit of series.
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

// meter returns the meter of a key, a new one if there is none.
func (b *otelBackend) meter(key meterKey) *meter {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.meters[key] == nil {
		b.meters[key] = b.newMeter()
	}
	return b.meters[key]
}

// allMeters returns the meters that have series.
func (b *otelBackend) allMeters() []*meter {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Collect(maps.Values(b.meters))
}

// open implements [backend]. A counter shows at zero. A histogram of OpenTelemetry does not exist without a value.
func (b *otelBackend) open(i Instrument, t probe.Description, own []string) observer {
	m := b.meter(meterKey{i.Scope, t.ID()})
	attributes := metric.WithAttributeSet(i.attributes(t, own))
	if i.Kind == Counter {
		return openCounter(m, i, attributes)
	}
	return openHistogram(m, i, attributes)
}

// openCounter creates a series of a counter. It makes the options once: otherwise each call of Add would allocate them.
func openCounter(m *meter, i Instrument, attributes metric.MeasurementOption) observer {
	counter := must(m.Int64Counter(i.Name, metric.WithUnit(i.Unit), metric.WithDescription(i.Help)))
	options := []metric.AddOption{attributes}
	counter.Add(context.Background(), 0, options...)
	return func(value float64, exemplar trace.SpanContext) {
		counter.Add(withSpan(exemplar), int64(value), options...)
	}
}

func openHistogram(m *meter, i Instrument, attributes metric.MeasurementOption) observer {
	histogram := must(m.Float64Histogram(i.Name,
		metric.WithUnit(i.Unit),
		metric.WithDescription(i.Help),
		metric.WithExplicitBucketBoundaries(i.Bounds...),
	))
	options := []metric.RecordOption{attributes}
	return func(value float64, exemplar trace.SpanContext) {
		histogram.Record(withSpan(exemplar), value, options...)
	}
}

// withSpan returns a context from which the SDK takes the exemplar of a value.
func withSpan(exemplar trace.SpanContext) context.Context {
	return trace.ContextWithRemoteSpanContext(context.Background(), exemplar)
}

// release implements [backend]. It does not shut the provider down, which may be read at this moment: a provider holds
// nothing but memory.
func (b *otelBackend) release(scope Scope, t probe.Description) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.meters, meterKey{scope, t.ID()})
}

// observeGauges makes the SDK read all gauges of r, those of targets as well, whenever it collects the prober's own
// metrics.
func (b *otelBackend) observeGauges(r *Recorder) {
	m := b.meter(meterKey{scope: ScopeProber})
	gauges := map[string]metric.Float64ObservableGauge{}
	var all []metric.Observable
	for _, i := range r.gauges {
		gauge := must(m.Float64ObservableGauge(i.Name, metric.WithUnit(i.Unit), metric.WithDescription(i.Help)))
		gauges[i.Name] = gauge
		all = append(all, gauge)
	}
	must(m.RegisterCallback(func(_ context.Context, to metric.Observer) error {
		r.collectGauges(func(i Instrument, t probe.Description, s sample) {
			to.ObserveFloat64(gauges[i.Name], s.value, metric.WithAttributeSet(i.attributes(t, s.labels)))
		})
		return nil
	}, all...))
}

// Produce implements [sdkmetric.Producer]. It returns the series of all meters, with one metric for each instrument.
func (b *otelBackend) Produce(ctx context.Context) ([]metricdata.ScopeMetrics, error) {
	var merged metricdata.ScopeMetrics
	var errs []error
	index := map[string]int{} // of each metric in merged, by name
	for _, m := range b.allMeters() {
		var all metricdata.ResourceMetrics
		errs = append(errs, m.reader.Collect(ctx, &all))
		for _, scope := range all.ScopeMetrics {
			merged.Scope = scope.Scope
			mergeMetrics(&merged, index, scope.Metrics)
		}
	}
	for _, m := range merged.Metrics {
		histogram, ok := m.Data.(metricdata.ExponentialHistogram[float64])
		if !ok {
			continue
		}
		for n := range histogram.DataPoints {
			withZeroThreshold(&histogram.DataPoints[n], b.zero[m.Name])
		}
	}
	return []metricdata.ScopeMetrics{merged}, errors.Join(errs...)
}

// mergeMetrics adds metrics to merged. The data points of a metric that is there already are appended to it.
func mergeMetrics(merged *metricdata.ScopeMetrics, index map[string]int, metrics []metricdata.Metrics) {
	for _, m := range metrics {
		n, ok := index[m.Name]
		if !ok {
			index[m.Name] = len(merged.Metrics)
			merged.Metrics = append(merged.Metrics, m)
			continue
		}
		merged.Metrics[n].Data = appendPoints(merged.Metrics[n].Data, m.Data)
	}
}

// appendPoints returns a with the data points of b, which has the same type.
func appendPoints(a, b metricdata.Aggregation) metricdata.Aggregation {
	switch a := a.(type) {
	case metricdata.Sum[int64]:
		a.DataPoints = append(a.DataPoints, b.(metricdata.Sum[int64]).DataPoints...)
		return a
	case metricdata.Histogram[float64]:
		a.DataPoints = append(a.DataPoints, b.(metricdata.Histogram[float64]).DataPoints...)
		return a
	case metricdata.ExponentialHistogram[float64]:
		a.DataPoints = append(a.DataPoints, b.(metricdata.ExponentialHistogram[float64]).DataPoints...)
		return a
	}
	return a
}

// withZeroThreshold moves the buckets of values up to a threshold, a power of two, into the zero bucket. The SDK counts
// only values of exactly 0 there and knows no threshold, which a native histogram has. The sum stays exact.
func withZeroThreshold(p *metricdata.ExponentialHistogramDataPoint[float64], threshold float64) {
	p.ZeroThreshold = threshold
	// Bucket n holds the values above 2^(n/16) and up to 2^((n+1)/16), so this is the first one above the threshold.
	first := int32(math.Ilogb(threshold)) << p.Scale
	buckets := &p.PositiveBucket
	moved := min(max(0, int(first-buckets.Offset)), len(buckets.Counts))
	for _, count := range buckets.Counts[:moved] {
		p.ZeroCount += count
	}
	buckets.Counts = buckets.Counts[moved:]
	buckets.Offset += int32(moved)
}

// must returns an instrument. The SDK refuses to make one only if the catalog is wrong.
func must[T any](made T, err error) T {
	if err != nil {
		panic(err)
	}
	return made
}

// attributes returns the labels of one series as attributes. It leaves out empty ones of the GenAI conventions.
func (i Instrument) attributes(t probe.Description, own []string) attribute.Set {
	var all []attribute.KeyValue
	if i.Scope == ScopeGenAI {
		all = genAIAttributes(t)
	}
	values := i.labelValues(t, own)
	for n, name := range i.labelNames() {
		if values[n] != "" || i.Scope != ScopeGenAI {
			all = append(all, attribute.String(name, values[n]))
		}
	}
	return attribute.NewSet(all...)
}
