package telemetry

import (
	"context"
	"errors"
	"maps"
	"slices"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/llm-prober/prober/internal/probe"
)

// Produce implements [sdkmetric.Producer]: the series of all meters, one metric for each instrument.
func (m *meters) Produce(ctx context.Context) ([]metricdata.ScopeMetrics, error) {
	var one metricdata.ScopeMetrics
	var failed error
	at := map[string]int{} // the index of each metric
	for _, from := range m.live() {
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
	return []metricdata.ScopeMetrics{one}, failed
}

// live are the meters that have open series. Those of the GenAI conventions that no target uses any more are dropped.
func (m *meters) live() []*meter {
	m.mu.Lock()
	defer m.mu.Unlock()
	all := []*meter{m.prober}
	used := map[attribute.Distinct]*meter{}
	for _, of := range m.targets {
		all = append(all, of)
		if shared, ok := m.genAI[of.genAI]; ok {
			used[of.genAI] = shared
		}
	}
	m.genAI = used
	return slices.AppendSeq(all, maps.Values(used))
}

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

func (m *meters) observe(r *Recorder) {
	gauges := map[string]metric.Float64ObservableGauge{}
	var all []metric.Observable
	for _, i := range r.collected {
		gauges[i.Name] = must(m.prober.Float64ObservableGauge(i.Name, metric.WithUnit(i.Unit), metric.WithDescription(i.Help)))
		all = append(all, gauges[i.Name])
	}
	must(m.prober.RegisterCallback(func(_ context.Context, to metric.Observer) error {
		r.collect(func(i Instrument, t probe.Description, s sample) {
			to.ObserveFloat64(gauges[i.Name], s.value, metric.WithAttributeSet(i.attributes(t, s.at)))
		})
		return nil
	}, all...))
}
