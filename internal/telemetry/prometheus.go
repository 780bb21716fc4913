package telemetry

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"go.opentelemetry.io/otel/trace"

	"github.com/llm-prober/prober/internal/probe"
)

// maxScrapes is how many scrapes are served at once; others get a 503. Each holds
// all metrics in memory, 30 MB for 200 targets, until the client has read them.
const maxScrapes = 10

// Handler serves /metrics in the format that the scraper prefers: Prometheus
// text, OpenMetrics, or the protobuf format, which alone carries native
// histograms. What cannot be collected or served is left out and reported to
// onError.
func (r *Recorder) Handler(onError func(error)) http.Handler {
	return promhttp.HandlerFor(r.registry, promhttp.HandlerOpts{
		ErrorLog:          errorLog(onError),
		ErrorHandling:     promhttp.ContinueOnError,
		EnableOpenMetrics: true,

		MaxRequestsInFlight: maxScrapes,
	})
}

// errorLog makes one-line errors of what promhttp would print.
type errorLog func(error)

func (l errorLog) Println(v ...any) {
	l(errors.New(strings.ReplaceAll(strings.TrimSpace(fmt.Sprintln(v...)), "\n", "; ")))
}

// vectors are client_golang as a backend. Every histogram has classic buckets
// beside its native ones, because Prometheus by default scrapes only the former.
type vectors struct {
	rows []Instrument
	by   []vector // by row; there are none of the GenAI conventions
}

// A vector is all series of a row.
type vector interface {
	prometheus.Collector
	DeleteLabelValues(values ...string) bool
	DeletePartialMatch(prometheus.Labels) int
}

func newVectors(rows []Instrument) *vectors {
	v := &vectors{rows: rows}
	for _, i := range rows {
		if i.Kind == Counter {
			v.by = append(v.by, prometheus.NewCounterVec(prometheus.CounterOpts{
				Name: i.PrometheusName(), Help: i.Help, Unit: i.prometheusUnit(),
			}, i.labelNames()))
			continue
		}
		v.by = append(v.by, prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: i.PrometheusName(), Help: i.Help, Unit: i.prometheusUnit(),
			Buckets:                         i.Bounds,
			NativeHistogramBucketFactor:     nativeFactor,
			NativeHistogramZeroThreshold:    i.zero(),
			NativeHistogramMaxBucketNumber:  nativeBuckets,
			NativeHistogramMinResetDuration: nativeReset,
		}, i.labelNames()))
	}
	return v
}

func (v *vectors) open(row int, t probe.Description, p point) series {
	if row >= len(v.by) {
		return nil
	}
	values := v.rows[row].labelValues(t, p)
	if all, ok := v.by[row].(*prometheus.CounterVec); ok {
		counter := all.WithLabelValues(values...)
		return func(value float64, _ trace.SpanContext) { counter.Add(value) }
	}
	histogram := v.by[row].(*prometheus.HistogramVec).WithLabelValues(values...)
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

func (v *vectors) close(row int, t probe.Description, p point) {
	if row < len(v.by) {
		v.by[row].DeleteLabelValues(v.rows[row].labelValues(t, p)...)
	}
}

func (v *vectors) release(target string) {
	for _, all := range v.by {
		all.DeletePartialMatch(prometheus.Labels{"target": valid(target)})
	}
}

// A reader collects the metrics that are read when they are collected.
type reader struct {
	from  *Recorder
	rows  []Instrument
	descs []*prometheus.Desc // by row
}

func newReader(from *Recorder) *reader {
	r := &reader{from: from, rows: collected()}
	for _, i := range r.rows {
		r.descs = append(r.descs, prometheus.V2.NewDesc(i.PrometheusName(), i.Help,
			prometheus.UnconstrainedLabels(i.labelNames()), nil, prometheus.WithUnit(i.prometheusUnit())))
	}
	return r
}

// Describe implements [prometheus.Collector].
func (r *reader) Describe(to chan<- *prometheus.Desc) {
	for _, d := range r.descs {
		to <- d
	}
}

// Collect implements [prometheus.Collector].
func (r *reader) Collect(to chan<- prometheus.Metric) {
	r.from.collect(r.rows, func(row int, f facts, s sample) {
		values := r.rows[row].labelValues(f.target, s.at)
		if r.rows[row].Kind == Counter {
			to <- prometheus.MustNewConstMetricWithCreatedTimestamp(r.descs[row], prometheus.CounterValue, s.value, f.since, values...)
			return
		}
		to <- prometheus.MustNewConstMetric(r.descs[row], prometheus.GaugeValue, s.value, values...)
	})
}
