package telemetry

import (
	"context"
	"errors"
	"math"

	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/llm-prober/prober/internal/probe"
)

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

// observeGauges makes the SDK read all gauges of r whenever it collects the prober's own metrics.
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
