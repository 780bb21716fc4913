package telemetry

import (
	"context"
	"fmt"
	"sync"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
	"go.opentelemetry.io/otel/trace"

	"github.com/llm-prober/prober/internal/probe"
)

// instrumentation is the scope of all that we send.
const instrumentation = "github.com/llm-prober/prober"

// newMeterProvider returns a provider whose histograms agree bucket for bucket
// with those of [Prometheus]. The SDK's own limit of series could only
// lose some: those of targets that are gone count as well.
func newMeterProvider(read sdkmetric.Reader, about *resource.Resource) *sdkmetric.MeterProvider {
	return sdkmetric.NewMeterProvider(
		sdkmetric.WithReader(read),
		sdkmetric.WithResource(about),
		sdkmetric.WithCardinalityLimit(0),
		sdkmetric.WithView(sdkmetric.NewView(
			sdkmetric.Instrument{Name: "llm.*", Kind: sdkmetric.InstrumentKindHistogram},
			sdkmetric.Stream{Aggregation: sdkmetric.AggregationBase2ExponentialHistogram{
				MaxSize: exponentialSize, MaxScale: exponentialScale,
			}},
		)),
	)
}

// meters are the OpenTelemetry SDK as a backend. Each target is a [holding] of its
// own, and the rest has one provider: the prober itself, and the series of the GenAI
// conventions, which several targets may share.
type meters struct {
	rows    []Instrument
	version string // of the prober
	read    []sdkmetric.ManualReaderOption
	shared  *instruments
	usage   *usage // of what is shared

	mu       sync.Mutex
	holdings map[string]*holding // by name of target
}

// newMeters returns meters without instruments: [meters.begin] makes them. Holdings
// are read with options.
func newMeters(o OTLPOptions, options ...sdkmetric.ManualReaderOption) *meters {
	rows := ofResults(ScopeTarget, ScopeProber)
	if o.GenAI {
		rows = append(rows, ofResults(ScopeGenAI)...)
	}
	return &meters{rows: rows, version: o.Build.Version, read: options, usage: newUsage(), holdings: map[string]*holding{}}
}

// begin makes the instruments of what is shared.
func (m *meters) begin(shared metric.Meter) (err error) {
	m.shared, err = instrumentsOf(shared, m.rows, func(i Instrument) bool { return i.Scope != ScopeTarget })
	return err
}

// open resolves the attributes once. A counter shows at zero; a histogram of
// OpenTelemetry cannot exist without a value. Series of several targets may be
// one, in the words of the GenAI conventions.
func (m *meters) open(row int, t probe.Description, p point) sink {
	i, attributes := m.rows[row], m.rows[row].attributes(t, p)
	from, used := m.shared, m.usage
	if i.Scope == ScopeTarget {
		h := m.hold(t.Name)
		from, used = h.instruments, h.usage
	}
	used.add(i.Name, attributes.Equivalent(), 1)
	set := metric.WithAttributeSet(attributes)
	if i.Kind == Counter {
		c := meterCounter{counter: from.counters[row], options: []metric.AddOption{set}}
		c.add(0)
		return c
	}
	h := meterHistogram{histogram: from.histograms[row], options: []metric.RecordOption{set}}
	if i.Scope == ScopeGenAI {
		return h
	}
	return zeroing{h, i.zero()}
}

// close notes that a series has ended: the SDK keeps it, and [pruning] leaves it
// out of what is exported. With the last of a target all of them are let go.
func (m *meters) close(row int, t probe.Description, p point) {
	i, attributes := m.rows[row], m.rows[row].attributes(t, p)
	if i.Scope != ScopeTarget {
		m.usage.add(i.Name, attributes.Equivalent(), -1)
		return
	}
	m.hold(t.Name).usage.add(i.Name, attributes.Equivalent(), -1)
	m.letGo(t.Name)
}

// instruments are those of some rows of the catalog.
type instruments struct {
	histograms []metric.Float64Histogram // by row; nil if it is a counter, or not here
	counters   []metric.Int64Counter     // by row; nil if it is a histogram, or not here
}

func instrumentsOf(m metric.Meter, rows []Instrument, here func(Instrument) bool) (*instruments, error) {
	all := &instruments{
		histograms: make([]metric.Float64Histogram, len(rows)),
		counters:   make([]metric.Int64Counter, len(rows)),
	}
	for row, i := range rows {
		var err error
		switch {
		case !here(i):
		case i.Kind == Counter:
			all.counters[row], err = m.Int64Counter(i.Name, metric.WithUnit(i.Unit), metric.WithDescription(i.Help))
		default:
			all.histograms[row], err = m.Float64Histogram(i.Name, metric.WithUnit(i.Unit),
				metric.WithDescription(i.Help), metric.WithExplicitBucketBoundaries(i.Bounds...))
		}
		if err != nil {
			return nil, fmt.Errorf("make instrument %s: %w", i.Name, err)
		}
	}
	return all, nil
}

// attributes are the labels of one series as OpenTelemetry has them. Those of the
// GenAI conventions are absent rather than empty.
func (i Instrument) attributes(t probe.Description, p point) attribute.Set {
	var all []attribute.KeyValue
	if i.Scope == ScopeGenAI {
		all = genAIAttributes(t)
		for n, label := range i.Labels {
			if p[n] != "" {
				all = append(all, attribute.String(label.Name, p[n]))
			}
		}
		return attribute.NewSet(all...)
	}
	values := i.labelValues(t, p)
	for n, name := range i.labelNames() {
		all = append(all, attribute.String(name, values[n]))
	}
	return attribute.NewSet(all...)
}

type meterCounter struct {
	counter metric.Int64Counter
	options []metric.AddOption
}

func (c meterCounter) add(value float64) {
	c.counter.Add(context.Background(), int64(value), c.options...)
}

func (c meterCounter) mark(value float64, l link) {
	c.counter.Add(spanContext(l), int64(value), c.options...)
}

type meterHistogram struct {
	histogram metric.Float64Histogram
	options   []metric.RecordOption
}

func (h meterHistogram) add(value float64) {
	h.histogram.Record(context.Background(), value, h.options...)
}

func (h meterHistogram) mark(value float64, l link) {
	h.histogram.Record(spanContext(l), value, h.options...)
}

// zeroing gives the SDK's exponential histograms the zero threshold that they
// lack. A value equal to it is zero to client_golang too.
type zeroing struct {
	to        meterHistogram
	threshold float64
}

func (z zeroing) add(value float64)          { z.to.add(z.floor(value)) }
func (z zeroing) mark(value float64, l link) { z.to.mark(z.floor(value), l) }

func (z zeroing) floor(value float64) float64 {
	if value <= z.threshold {
		return 0
	}
	return value
}

// spanContext is a context in which the SDK keeps exemplars: its filter asks for
// a sampled span.
func spanContext(l link) context.Context {
	return trace.ContextWithRemoteSpanContext(context.Background(), trace.NewSpanContext(trace.SpanContextConfig{
		TraceID: l.trace, SpanID: l.span, TraceFlags: trace.FlagsSampled,
	}))
}

// observe lets the SDK read, whenever it collects, what is known at that moment.
func observe(m metric.Meter, l *ledger) error {
	var all []metric.Observable
	var reads []func(metric.Observer, []facts, self)
	for _, i := range collected() {
		o, read, err := i.observable(m)
		if err != nil {
			return fmt.Errorf("make instrument %s: %w", i.Name, err)
		}
		all, reads = append(all, o), append(reads, read)
	}
	_, err := m.RegisterCallback(func(_ context.Context, to metric.Observer) error {
		targets, me := l.look()
		for _, read := range reads {
			read(to, targets, me)
		}
		return nil
	}, all...)
	return err
}

// observable makes the instrument, and what reads it.
func (i Instrument) observable(m metric.Meter) (metric.Observable, func(metric.Observer, []facts, self), error) {
	if i.Kind == Counter {
		c, err := m.Int64ObservableCounter(i.Name, metric.WithUnit(i.Unit), metric.WithDescription(i.Help))
		return c, func(to metric.Observer, targets []facts, me self) {
			i.read(targets, me, func(value float64, set metric.MeasurementOption) {
				to.ObserveInt64(c, int64(value), set)
			})
		}, err
	}
	g, err := m.Float64ObservableGauge(i.Name, metric.WithUnit(i.Unit), metric.WithDescription(i.Help))
	return g, func(to metric.Observer, targets []facts, me self) {
		i.read(targets, me, func(value float64, set metric.MeasurementOption) {
			to.ObserveFloat64(g, value, set)
		})
	}, err
}

// read tells to every sample that the instrument has now.
func (i Instrument) read(targets []facts, me self, to func(float64, metric.MeasurementOption)) {
	if i.ofSelf != nil {
		for s := range i.ofSelf(me) {
			to(s.value, metric.WithAttributeSet(i.attributes(probe.Description{}, s.at)))
		}
		return
	}
	for _, f := range targets {
		for s := range i.ofTarget(f) {
			to(s.value, metric.WithAttributeSet(i.attributes(f.target, s.at)))
		}
	}
}
