package telemetry

import (
	"cmp"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	dto "github.com/prometheus/client_model/go"

	"github.com/llm-prober/prober/internal/probe"
)

// maxScrapes is how many scrapes are served at once; others get a 503. Each holds
// all metrics in memory, 40 MB for 1,000 targets, until the client has read them.
const maxScrapes = 10

// Handler serves /metrics in the format that the scraper prefers: Prometheus text, OpenMetrics, or the protobuf format,
// which alone carries native histograms. What cannot be collected or served is left out and reported to log.
func (r *Recorder) Handler(log promhttp.Logger) http.Handler {
	return promhttp.HandlerFor(prometheus.GathererFunc(r.gather), promhttp.HandlerOpts{
		ErrorLog:          log,
		ErrorHandling:     promhttp.ContinueOnError,
		EnableOpenMetrics: true,

		MaxRequestsInFlight: maxScrapes,
	})
}

// gather is all of /metrics, by name. Our own does not pass through the registry, which compares every series with all others.
func (r *Recorder) gather() ([]*dto.MetricFamily, error) {
	all, err := r.registry.Gather()
	of := map[string]*dto.MetricFamily{}
	add := func(i *Instrument, m *dto.Metric) {
		if of[i.Name] == nil {
			kind := map[Kind]dto.MetricType{
				Histogram: dto.MetricType_HISTOGRAM, Counter: dto.MetricType_COUNTER, Gauge: dto.MetricType_GAUGE,
			}[i.Kind]
			of[i.Name] = &dto.MetricFamily{Name: new(i.PrometheusName()), Help: &i.Help, Type: &kind}
			if unit := i.prometheusUnit(); unit != "" {
				of[i.Name].Unit = &unit
			}
		}
		of[i.Name].Metric = append(of[i.Name].Metric, m)
	}
	r.collect(func(i Instrument, t probe.Description, s sample) {
		add(&i, &dto.Metric{Label: i.labelPairs(t, s.at, nil), Gauge: &dto.Gauge{Value: &s.value}})
	})
	for _, s := range r.scraped.all() {
		add(s.of, s.metric())
	}
	for _, family := range of {
		slices.SortFunc(family.Metric, func(a, b *dto.Metric) int {
			return slices.CompareFunc(a.Label, b.Label, func(a, b *dto.LabelPair) int { return cmp.Compare(a.GetValue(), b.GetValue()) })
		})
		all = append(all, family)
	}
	slices.SortFunc(all, func(a, b *dto.MetricFamily) int { return cmp.Compare(a.GetName(), b.GetName()) })
	return all, err
}

// labelPairs are the labels of one series, sorted by name. Those that are among known are shared.
func (i Instrument) labelPairs(t probe.Description, p point, known []*dto.LabelPair) []*dto.LabelPair {
	values := i.labelValues(t, p)
	pairs := make([]*dto.LabelPair, len(values))
	for n, name := range i.labelNames() {
		same := func(l *dto.LabelPair) bool { return l.GetName() == name && l.GetValue() == values[n] }
		if at := slices.IndexFunc(known, same); at >= 0 {
			pairs[n] = known[at]
		} else {
			pairs[n] = &dto.LabelPair{Name: new(name), Value: new(values[n])}
		}
	}
	slices.SortFunc(pairs, func(a, b *dto.LabelPair) int { return cmp.Compare(a.GetName(), b.GetName()) })
	return pairs
}

// exposed are the series on /metrics as a backend, by target; those of the prober are under no name. There are none of the
// GenAI conventions. With the histograms and counters of client_golang they would take several times the memory.
type exposed struct {
	mu sync.Mutex
	of map[string][]*accumulated
}

// open implements [backend].
func (e *exposed) open(i *Instrument, t probe.Description, p point) series {
	if i.Scope == ScopeGenAI {
		return nil
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	all := e.of[t.Name]
	var known []*dto.LabelPair
	if len(all) > 0 {
		known = all[0].labels
	}
	s := &accumulated{of: i, labels: i.labelPairs(t, p, known), created: time.Now().Unix()}
	e.of[t.Name] = append(all, s)
	return s.add
}

// release implements [backend].
func (e *exposed) release(t probe.Description) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.of, t.Name)
}

// all are the series, in any order.
func (e *exposed) all() []*accumulated {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Concat(slices.Collect(maps.Values(e.of))...)
}
