package telemetry

import (
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"go.opentelemetry.io/otel/trace"

	"github.com/llm-prober/prober/internal/probe"
)

// maxScrapes is how many scrapes are served at once. Each holds all metrics in memory until the client has read them.
const maxScrapes = 10

// Handler returns the handler of /metrics. It serves the format that the scraper prefers: Prometheus text,
// OpenMetrics, or protobuf, which alone carries native histograms. A metric that cannot be collected is left out of
// the scrape, counted in promhttp_metric_handler_errors_total and reported to log.
//
// Scrapes at the same time do not share one snapshot (CoalesceGather). In client_golang 1.25 a snapshot is handed out
// until its last reader has ended: one client that does not read would freeze /metrics for all.
func (r *Recorder) Handler(log promhttp.Logger) http.Handler {
	handler := promhttp.HandlerFor(r.registry, promhttp.HandlerOpts{
		ErrorLog:            log,
		ErrorHandling:       promhttp.ContinueOnError,
		Registry:            r.registry,
		EnableOpenMetrics:   true,
		MaxRequestsInFlight: maxScrapes,
	})
	return promhttp.InstrumentMetricHandler(r.registry, handler)
}

// A promBackend keeps the series of /metrics in client_golang's vectors, by the name of their instrument. It has no
// metrics of the GenAI conventions.
type promBackend struct {
	counters   map[string]*prometheus.CounterVec
	histograms map[string]*prometheus.HistogramVec
}

// newPromBackend returns a backend that registers a vector for each histogram and counter of recorded.
func newPromBackend(registry prometheus.Registerer, recorded []Instrument) *promBackend {
	b := &promBackend{
		counters:   map[string]*prometheus.CounterVec{},
		histograms: map[string]*prometheus.HistogramVec{},
	}
	for _, i := range recorded {
		switch {
		case i.Scope == ScopeGenAI:
		case i.Kind == Counter:
			counter := newCounter(i)
			registry.MustRegister(counter)
			b.counters[i.Name] = counter
		default:
			histogram := newHistogram(i)
			registry.MustRegister(histogram)
			b.histograms[i.Name] = histogram
		}
	}
	return b
}

func newCounter(i Instrument) *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: i.PrometheusName(),
		Help: i.Help,
		Unit: i.prometheusUnit(),
	}, i.labelNames())
}

// newHistogram returns the vector of a histogram. It has native buckets, and classic ones because Prometheus scrapes
// those by default. It keeps no native exemplars: scrapers take those of the classic buckets, and a second copy would
// be half of a scrape.
func newHistogram(i Instrument) *prometheus.HistogramVec {
	return prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name:    i.PrometheusName(),
		Help:    i.Help,
		Unit:    i.prometheusUnit(),
		Buckets: i.Bounds,

		NativeHistogramBucketFactor:     nativeFactor,
		NativeHistogramZeroThreshold:    i.zero(),
		NativeHistogramMaxBucketNumber:  nativeBuckets,
		NativeHistogramMinResetDuration: nativeReset,
		NativeHistogramMaxExemplars:     -1,
	}, i.labelNames())
}

// open implements [backend].
func (b *promBackend) open(i Instrument, t probe.Description, own []string) observer {
	if i.Scope == ScopeGenAI {
		return nil
	}
	labels := i.labelValues(t, own)
	if i.Kind == Counter {
		counter := b.counters[i.Name].WithLabelValues(labels...)
		return func(value float64, _ trace.SpanContext) { counter.Add(value) }
	}
	histogram := b.histograms[i.Name].WithLabelValues(labels...)
	return func(value float64, exemplar trace.SpanContext) {
		if !exemplar.IsValid() {
			histogram.Observe(value)
			return
		}
		histogram.(prometheus.ExemplarObserver).ObserveWithExemplar(value, prometheus.Labels{
			"trace_id": exemplar.TraceID().String(),
			"span_id":  exemplar.SpanID().String(),
		})
	}
}

// release implements [backend].
func (b *promBackend) release(scope Scope, t probe.Description) {
	if scope != ScopeTarget {
		return
	}
	labels := prometheus.Labels{"target": toValidUTF8(t.Name), "prompt": toValidUTF8(t.Prompt)}
	for _, vector := range b.counters {
		vector.DeletePartialMatch(labels)
	}
	for _, vector := range b.histograms {
		vector.DeletePartialMatch(labels)
	}
}

// newGaugeCollector returns a collector that reads the gauges of a recorder at each scrape.
func newGaugeCollector(r *Recorder) prometheus.CollectorFunc {
	descriptions := map[string]*prometheus.Desc{} // by instrument
	for _, i := range r.gauges {
		labels := prometheus.UnconstrainedLabels(i.labelNames())
		unit := prometheus.WithUnit(i.prometheusUnit())
		descriptions[i.Name] = prometheus.V2.NewDesc(i.PrometheusName(), i.Help, labels, nil, unit)
	}
	return func(to chan<- prometheus.Metric) {
		r.collectGauges(func(i Instrument, t probe.Description, s sample) {
			values := i.labelValues(t, s.labels)
			to <- prometheus.MustNewConstMetric(descriptions[i.Name], prometheus.GaugeValue, s.value, values...)
		})
	}
}
