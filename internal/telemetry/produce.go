package telemetry

import (
	"context"
	"errors"
	"math"

	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/llm-prober/prober/internal/probe"
)

// Produce implements [sdkmetric.Producer]: the series of all meters, one metric for each instrument.
func (b *otelBackend) Produce(ctx context.Context) ([]metricdata.ScopeMetrics, error) {
	var one metricdata.ScopeMetrics
	var failed error
	at := map[string]int{} // the index of each metric
	for _, from := range b.live() {
		var all metricdata.ResourceMetrics
		failed = errors.Join(failed, from.reader.Collect(ctx, &all))
		for _, scope := range all.ScopeMetrics {
			one.Scope = scope.Scope
			for _, got := range scope.Metrics {
				n, known := at[got.Name]
				if !known {
					at[got.Name] = len(one.Metrics)
					one.Metrics = append(one.Metrics, got)
					continue
				}
				one.Metrics[n].Data = merged(one.Metrics[n].Data, got.Data)
			}
		}
	}
	for _, m := range one.Metrics {
		if histogram, ok := m.Data.(metricdata.ExponentialHistogram[float64]); ok {
			for n := range histogram.DataPoints {
				withZeroThreshold(&histogram.DataPoints[n], b.zero[m.Name])
			}
		}
	}
	return []metricdata.ScopeMetrics{one}, failed
}

// merged returns the data points of both.
func merged(a, b metricdata.Aggregation) metricdata.Aggregation {
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

// withZeroThreshold moves the buckets of values up to a threshold, a power of two, into the zero bucket. The SDK has
// only values of exactly 0 there and knows no threshold, which a native histogram has. The sum stays exact.
func withZeroThreshold(p *metricdata.ExponentialHistogramDataPoint[float64], threshold float64) {
	p.ZeroThreshold = threshold
	// The bucket n has the values above 2^(n/16) and up to 2^((n+1)/16): this is the first above the threshold.
	first := int32(math.Ilogb(threshold)) << p.Scale
	buckets := &p.PositiveBucket
	small := min(max(0, int(first-buckets.Offset)), len(buckets.Counts))
	for _, count := range buckets.Counts[:small] {
		p.ZeroCount += count
	}
	buckets.Counts = buckets.Counts[small:]
	buckets.Offset += int32(small)
}

// observe makes the SDK read the gauges of r whenever the prober's own metrics are collected.
func (b *otelBackend) observe(r *Recorder) {
	meter := b.meterOf(owner{scope: ScopeProber})
	gauges := map[string]metric.Float64ObservableGauge{}
	var all []metric.Observable
	for _, i := range r.collected {
		gauges[i.Name] = must(meter.Float64ObservableGauge(i.Name, metric.WithUnit(i.Unit), metric.WithDescription(i.Help)))
		all = append(all, gauges[i.Name])
	}
	must(meter.RegisterCallback(func(_ context.Context, to metric.Observer) error {
		r.collect(func(i Instrument, t probe.Description, s sample) {
			to.ObserveFloat64(gauges[i.Name], s.value, metric.WithAttributeSet(i.attributes(t, s.at)))
		})
		return nil
	}, all...))
}
