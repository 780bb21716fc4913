package telemetry

import (
	"context"
	"sync"

	"go.opentelemetry.io/otel/attribute"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
)

// usage is how many open series have the same attributes. It is safe for
// concurrent use.
type usage struct {
	mu    sync.Mutex
	by    map[string]map[attribute.Distinct]int // by instrument; 0: they have ended
	ended int                                   // how many are 0
	all   int                                   // how many series are open
}

func newUsage() *usage { return &usage{by: map[string]map[attribute.Distinct]int{}} }

// add adds to the number of open series.
func (u *usage) add(instrument string, set attribute.Distinct, more int) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.by[instrument] == nil {
		u.by[instrument] = map[attribute.Distinct]int{}
	}
	u.all += more
	before, known := u.by[instrument][set]
	u.by[instrument][set] = before + more
	switch {
	case known && before == 0:
		u.ended--
	case before+more == 0:
		u.ended++
	}
}

// open is how many series are open.
func (u *usage) open() int {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.all
}

// pruning exports only the series that have not ended, as of one scope. The SDK keeps
// every attribute set it ever saw, and would export what has ended, with its last
// values, until the process ends. A series that begins again goes on where it
// ended, as cumulative ones may.
type pruning struct {
	sdkmetric.Exporter
	usage *usage
}

// Export implements [sdkmetric.Exporter].
func (p pruning) Export(ctx context.Context, all *metricdata.ResourceMetrics) error {
	return p.Exporter.Export(ctx, oneScope(p.usage.prune(all)))
}

// oneScope puts what is produced beside what the SDK has: it is of the same scope.
func oneScope(all *metricdata.ResourceMetrics) *metricdata.ResourceMetrics {
	if len(all.ScopeMetrics) < 2 {
		return all
	}
	one := metricdata.ScopeMetrics{Scope: all.ScopeMetrics[0].Scope}
	for _, scope := range all.ScopeMetrics {
		one.Metrics = append(one.Metrics, scope.Metrics...)
	}
	return &metricdata.ResourceMetrics{Resource: all.Resource, ScopeMetrics: []metricdata.ScopeMetrics{one}}
}

// prune returns what has not ended of all, which stays as it is.
func (u *usage) prune(all *metricdata.ResourceMetrics) *metricdata.ResourceMetrics {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.ended == 0 {
		return all
	}
	kept := &metricdata.ResourceMetrics{Resource: all.Resource}
	for _, scope := range all.ScopeMetrics {
		var metrics []metricdata.Metrics
		for _, one := range scope.Metrics {
			if one.Data = pruned(one.Data, u.by[one.Name]); one.Data != nil {
				metrics = append(metrics, one)
			}
		}
		kept.ScopeMetrics = append(kept.ScopeMetrics, metricdata.ScopeMetrics{Scope: scope.Scope, Metrics: metrics})
	}
	return kept
}

// pruned is what has not ended of one metric, nil if all has. What is observed
// needs no pruning: the SDK forgets it if it is not observed again.
func pruned(data metricdata.Aggregation, users map[attribute.Distinct]int) metricdata.Aggregation {
	left := 0
	switch d := data.(type) {
	case metricdata.Sum[int64]:
		d.DataPoints = unended(d.DataPoints, users, func(p metricdata.DataPoint[int64]) attribute.Set { return p.Attributes })
		data, left = d, len(d.DataPoints)
	case metricdata.Histogram[float64]:
		d.DataPoints = unended(d.DataPoints, users, func(p metricdata.HistogramDataPoint[float64]) attribute.Set { return p.Attributes })
		data, left = d, len(d.DataPoints)
	case metricdata.ExponentialHistogram[float64]:
		d.DataPoints = unended(d.DataPoints, users, func(p metricdata.ExponentialHistogramDataPoint[float64]) attribute.Set { return p.Attributes })
		data, left = d, len(d.DataPoints)
	default:
		return data
	}
	if left == 0 {
		return nil
	}
	return data
}

// unended are the points whose series have not ended.
func unended[P any](all []P, users map[attribute.Distinct]int, attributes func(P) attribute.Set) []P {
	var kept []P
	for _, p := range all {
		set := attributes(p)
		if n, known := users[set.Equivalent()]; n > 0 || !known {
			kept = append(kept, p)
		}
	}
	return kept
}
