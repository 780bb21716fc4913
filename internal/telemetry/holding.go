package telemetry

import (
	"context"
	"errors"
	"maps"
	"slices"

	"go.opentelemetry.io/otel/metric"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/resource"
)

// A holding is the SDK for the series of one target: a provider of its own. A
// provider keeps every attribute set it ever saw, a hundred kilobytes for a target,
// and replicas behind a name may come and go for a year.
type holding struct {
	*instruments
	from  *sdkmetric.ManualReader
	usage *usage
}

// hold returns what is held of a target, from now on if nothing was.
func (m *meters) hold(target string) *holding {
	m.mu.Lock()
	defer m.mu.Unlock()
	if h, ok := m.holdings[target]; ok {
		return h
	}
	h := &holding{from: sdkmetric.NewManualReader(m.read...), usage: newUsage()}
	meter := newMeterProvider(h.from, resource.Empty()).Meter(instrumentation, metric.WithInstrumentationVersion(m.version))
	// The same instruments as those of any target before: there is no error that begin did not have.
	h.instruments, _ = instrumentsOf(meter, m.rows, func(i Instrument) bool { return i.Scope == ScopeTarget })
	m.holdings[target] = h
	return h
}

// letGo forgets a target if none of its series is open. Its provider is not shut
// down, since it may be read this moment; it has nothing that needs an end.
func (m *meters) letGo(target string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if h, ok := m.holdings[target]; ok && h.usage.open() == 0 {
		delete(m.holdings, target)
	}
}

// Produce implements [sdkmetric.Producer]: the open series of all targets, one
// metric for each instrument.
func (m *meters) Produce(ctx context.Context) ([]metricdata.ScopeMetrics, error) {
	m.mu.Lock()
	held := maps.Clone(m.holdings)
	m.mu.Unlock()
	var one metricdata.ScopeMetrics
	var failed error
	at := map[string]int{}
	for _, target := range slices.Sorted(maps.Keys(held)) {
		var all metricdata.ResourceMetrics
		failed = errors.Join(failed, held[target].from.Collect(ctx, &all))
		for _, scope := range held[target].usage.prune(&all).ScopeMetrics {
			one.Scope = scope.Scope
			for _, metric := range scope.Metrics {
				n, known := at[metric.Name]
				if !known {
					at[metric.Name] = len(one.Metrics)
					one.Metrics = append(one.Metrics, metric)
					continue
				}
				one.Metrics[n].Data = merged(one.Metrics[n].Data, metric.Data)
			}
		}
	}
	if len(one.Metrics) == 0 {
		return nil, failed
	}
	return []metricdata.ScopeMetrics{one}, failed
}

// merged are the points of two metrics of one name.
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
