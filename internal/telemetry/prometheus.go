package telemetry

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/llm-prober/prober/internal/probe"
)

// Prometheus is the recorder that is scraped. Every histogram has classic buckets
// beside its native ones: a Prometheus that is not told otherwise scrapes classic
// ones only.
type Prometheus struct {
	*ledger
	registry *prometheus.Registry
}

// NewPrometheus returns a recorder with a registry of its own, which also holds
// the metrics of the process and of the Go runtime.
func NewPrometheus(b Build) *Prometheus {
	vectors := vectorsOf(ofResults(ScopeTarget, ScopeProber))
	p := &Prometheus{ledger: newLedger(b, vectors.rows, vectors, &failures{}), registry: prometheus.NewRegistry()}
	for _, v := range vectors.of {
		p.registry.MustRegister(v)
	}
	p.registry.MustRegister(
		newReader(p.ledger),
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	)
	return p
}

// Registry is where all metrics are registered.
func (p *Prometheus) Registry() *prometheus.Registry { return p.registry }

// ExportFailed counts a failed export of OTLP, so that /metrics tells it as well.
func (p *Prometheus) ExportFailed() { p.failures.count.Add(1) }

// maxScrapes is how many scrapes are answered at once, the others with 503: each
// holds all metrics in memory, 30 MB for 200 targets, until it has been read.
const maxScrapes = 10

// Handler serves /metrics in the format that the scraper prefers: Prometheus
// text, OpenMetrics, or the protobuf format, which alone carries native
// histograms. What cannot be collected or served is left out and told to onError,
// which may be nil.
func (p *Prometheus) Handler(onError func(error)) http.Handler {
	if onError == nil {
		onError = func(error) {}
	}
	return promhttp.HandlerFor(p.registry, promhttp.HandlerOpts{
		ErrorLog:          errorLog(onError),
		ErrorHandling:     promhttp.ContinueOnError,
		EnableOpenMetrics: true,

		MaxRequestsInFlight: maxScrapes,
	})
}

// errorLog makes errors of what promhttp would print.
type errorLog func(error)

func (l errorLog) Println(v ...any) {
	l(errors.New(strings.ReplaceAll(strings.TrimSpace(fmt.Sprintln(v...)), "\n", "; ")))
}

// vectors are client_golang as a backend.
type vectors struct {
	rows []Instrument
	of   []vector
}

// A vector is all series of a row.
type vector interface {
	prometheus.Collector
	DeleteLabelValues(values ...string) bool
}

func vectorsOf(rows []Instrument) *vectors {
	v := &vectors{rows: rows}
	for _, i := range rows {
		v.of = append(v.of, i.vector())
	}
	return v
}

func (i Instrument) vector() vector {
	if i.Kind == Counter {
		return prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: i.PrometheusName(), Help: i.Help, Unit: i.prometheusUnit(),
		}, i.labelNames())
	}
	return prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: i.PrometheusName(), Help: i.Help, Unit: i.prometheusUnit(),
		Buckets:                         i.Bounds,
		NativeHistogramBucketFactor:     nativeFactor,
		NativeHistogramZeroThreshold:    i.zero(),
		NativeHistogramMaxBucketNumber:  nativeBuckets,
		NativeHistogramMinResetDuration: nativeReset,
	}, i.labelNames())
}

func (v *vectors) open(row int, t probe.Description, p point) sink {
	values := v.rows[row].labelValues(t, p)
	if counter, ok := v.of[row].(*prometheus.CounterVec); ok {
		return counterSink{counter.WithLabelValues(values...)}
	}
	return histogramSink{v.of[row].(*prometheus.HistogramVec).WithLabelValues(values...)}
}

func (v *vectors) close(row int, t probe.Description, p point) {
	v.of[row].DeleteLabelValues(v.rows[row].labelValues(t, p)...)
}

type counterSink struct{ prometheus.Counter }

func (c counterSink) add(value float64)          { c.Add(value) }
func (c counterSink) mark(value float64, _ link) { c.Add(value) }

type histogramSink struct{ prometheus.Observer }

func (h histogramSink) add(value float64) { h.Observe(value) }

func (h histogramSink) mark(value float64, l link) {
	h.Observer.(prometheus.ExemplarObserver).ObserveWithExemplar(value, prometheus.Labels{
		"trace_id": l.trace.String(), "span_id": l.span.String(),
	})
}

// A reader collects what is known at the moment of collecting.
type reader struct {
	ledger *ledger
	rows   []Instrument
	descs  []*prometheus.Desc // by row
}

func newReader(l *ledger) *reader {
	r := &reader{ledger: l, rows: collected()}
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
	targets, me := r.ledger.look()
	for row, i := range r.rows {
		if i.ofSelf != nil {
			for s := range i.ofSelf(me) {
				to <- r.metric(row, s, probe.Description{}, me.since)
			}
			continue
		}
		for _, f := range targets {
			for s := range i.ofTarget(f) {
				to <- r.metric(row, s, f.target, f.since)
			}
		}
	}
}

func (r *reader) metric(row int, s sample, t probe.Description, since time.Time) prometheus.Metric {
	i := r.rows[row]
	values := i.labelValues(t, s.at)
	if i.Kind == Counter {
		return prometheus.MustNewConstMetricWithCreatedTimestamp(r.descs[row], prometheus.CounterValue, s.value, since, values...)
	}
	return prometheus.MustNewConstMetric(r.descs[row], prometheus.GaugeValue, s.value, values...)
}
