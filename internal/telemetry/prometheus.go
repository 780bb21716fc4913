package telemetry

import (
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"go.opentelemetry.io/otel/trace"

	"github.com/llm-prober/prober/internal/probe"
)

// maxScrapes is how many scrapes are served at once; others get a 503. Each holds
// all metrics in memory, 30 MB for 200 targets, until the client has read them.
const maxScrapes = 10

// Handler serves /metrics in the format that the scraper prefers: Prometheus text, OpenMetrics, or the protobuf format,
// which alone carries native histograms. What cannot be collected or served is left out and reported to log.
func (r *Recorder) Handler(log promhttp.Logger) http.Handler {
	return promhttp.HandlerFor(r.registry, promhttp.HandlerOpts{
		ErrorLog:          log,
		ErrorHandling:     promhttp.ContinueOnError,
		EnableOpenMetrics: true,

		MaxRequestsInFlight: maxScrapes,
	})
}

// vectors are client_golang as a backend: all series of each instrument, by its name.
// There are none of the GenAI conventions. Every histogram has classic buckets
// beside its native ones, because Prometheus by default scrapes only the former.
type vectors map[string]vector

// A vector is all series of an instrument.
type vector struct {
	Instrument
	all interface {
		prometheus.Collector
		DeleteLabelValues(values ...string) bool
	}
}

func newVectors(all []Instrument) vectors {
	v := vectors{}
	for _, i := range all {
		switch {
		case i.Scope == ScopeGenAI:
		case i.Kind == Counter:
			v[i.Name] = vector{i, prometheus.NewCounterVec(prometheus.CounterOpts{
				Name: i.PrometheusName(), Help: i.Help, Unit: i.prometheusUnit(),
			}, i.labelNames())}
		default:
			v[i.Name] = vector{i, prometheus.NewHistogramVec(prometheus.HistogramOpts{
				Name: i.PrometheusName(), Help: i.Help, Unit: i.prometheusUnit(),
				Buckets:                         i.Bounds,
				NativeHistogramBucketFactor:     nativeFactor,
				NativeHistogramZeroThreshold:    i.zero(),
				NativeHistogramMaxBucketNumber:  nativeBuckets,
				NativeHistogramMinResetDuration: nativeReset,
			}, i.labelNames())}
		}
	}
	return v
}

// open implements [backend].
func (v vectors) open(i Instrument, t probe.Description, p point) series {
	switch all := v[i.Name].all.(type) {
	case *prometheus.CounterVec:
		counter := all.WithLabelValues(i.labelValues(t, p)...)
		return func(value float64, _ trace.SpanContext) { counter.Add(value) }
	case *prometheus.HistogramVec:
		histogram := all.WithLabelValues(i.labelValues(t, p)...)
		return func(value float64, exemplar trace.SpanContext) {
			if !exemplar.IsValid() {
				histogram.Observe(value)
				return
			}
			histogram.(prometheus.ExemplarObserver).ObserveWithExemplar(value, prometheus.Labels{
				"trace_id": exemplar.TraceID().String(), "span_id": exemplar.SpanID().String(),
			})
		}
	}
	return nil
}

// release implements [backend]. It names each series: a search for the target's label would look at those of all targets.
func (v vectors) release(t probe.Description) {
	for _, one := range v {
		if one.Scope == ScopeTarget {
			for _, p := range one.points(t) {
				one.all.DeleteLabelValues(one.labelValues(t, p)...)
			}
		}
	}
}

// newGauges returns what reads the gauges of a recorder whenever metrics are collected.
func newGauges(of *Recorder) prometheus.CollectorFunc {
	descs := map[string]*prometheus.Desc{} // by instrument
	for _, i := range of.collected {
		descs[i.Name] = prometheus.V2.NewDesc(i.PrometheusName(), i.Help,
			prometheus.UnconstrainedLabels(i.labelNames()), nil, prometheus.WithUnit(i.prometheusUnit()))
	}
	return func(to chan<- prometheus.Metric) {
		of.collect(func(i Instrument, t probe.Description, s sample) {
			to <- prometheus.MustNewConstMetric(descs[i.Name], prometheus.GaugeValue, s.value, i.labelValues(t, s.at)...)
		})
	}
}
