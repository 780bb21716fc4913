package telemetry

import (
	"cmp"
	"compress/gzip"
	"fmt"
	"io"
	"iter"
	"log"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"

	"github.com/llm-prober/prober/internal/probe"
)

const maxScrapes = 10

// Handler serves /metrics in the format that the scraper prefers: Prometheus text, OpenMetrics, or the protobuf format,
// which alone carries native histograms. What cannot be collected or served is left out and reported to log. It makes and writes
// one metric after the other: all together, as client_golang has them, they would be 50 MB for 1,000 targets.
func (r *Recorder) Handler(log *log.Logger) http.Handler {
	scrapes := make(chan struct{}, maxScrapes)
	return http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		select {
		case scrapes <- struct{}{}:
			defer func() { <-scrapes }()
		default:
			http.Error(w, fmt.Sprintf("%d scrapes are being served already", maxScrapes), http.StatusServiceUnavailable)
			return
		}
		format, to := expfmt.NegotiateAccept(request.Header, expfmt.DefaultOpenMetricsAcceptedFormats()...), io.Writer(w)
		w.Header().Set("Content-Type", string(format))
		if strings.Contains(request.Header.Get("Accept-Encoding"), "gzip") {
			w.Header().Set("Content-Encoding", "gzip")
			zipped := gzip.NewWriter(w)
			defer func() { _ = zipped.Close() }()
			to = zipped
		}
		encoder := expfmt.NewEncoder(to, format)
		for family, err := range r.families() {
			if err != nil {
				log.Println(err)
			} else if err = encoder.Encode(family); err != nil {
				log.Println(err)
				return // the client is gone
			}
		}
		if end, ok := encoder.(expfmt.Closer); ok {
			_ = end.Close() // an error is that the client is gone
		}
	})
}

// families are all metrics, those of the process first and then ours by name, each made when it is asked for.
func (r *Recorder) families() iter.Seq2[*dto.MetricFamily, error] {
	return func(yield func(*dto.MetricFamily, error) bool) {
		process, err := r.registry.Gather()
		if err != nil && !yield(nil, err) {
			return
		}
		for _, family := range process {
			if !yield(family, nil) {
				return
			}
		}
		gauges, series := map[string][]*dto.Metric{}, r.scraped.all()
		r.collect(func(i Instrument, t probe.Description, s sample) {
			gauges[i.Name] = append(gauges[i.Name], &dto.Metric{Label: i.labelPairs(t, s.at, nil), Gauge: &dto.Gauge{Value: &s.value}})
		})
		for _, i := range slices.SortedFunc(slices.Values(Catalog()), func(a, b Instrument) int { return cmp.Compare(a.PrometheusName(), b.PrometheusName()) }) {
			metrics := gauges[i.Name]
			for _, s := range series[i.Name] {
				metrics = append(metrics, s.metric())
			}
			if len(metrics) > 0 && !yield(i.family(metrics), nil) {
				return
			}
		}
	}
}

// family is the metric with all its series, which it sorts by their labels.
func (i Instrument) family(series []*dto.Metric) *dto.MetricFamily {
	kind := dto.MetricType(dto.MetricType_value[strings.ToUpper(string(i.Kind))])
	f := &dto.MetricFamily{Name: new(i.PrometheusName()), Help: &i.Help, Type: &kind, Metric: series}
	if unit := i.prometheusUnit(); unit != "" {
		f.Unit = &unit
	}
	slices.SortFunc(series, func(a, b *dto.Metric) int {
		return slices.CompareFunc(a.Label, b.Label, func(a, b *dto.LabelPair) int { return cmp.Compare(a.GetValue(), b.GetValue()) })
	})
	return f
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

func (e *exposed) all() map[string][]*accumulated {
	e.mu.Lock()
	defer e.mu.Unlock()
	by := map[string][]*accumulated{}
	for _, all := range e.of {
		for _, s := range all {
			by[s.of.Name] = append(by[s.of.Name], s)
		}
	}
	return by
}
