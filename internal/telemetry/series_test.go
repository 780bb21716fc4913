package telemetry

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	dto "github.com/prometheus/client_model/go"
	metricspb "go.opentelemetry.io/proto/otlp/metrics/v1"
)

// A recording is a recorder, and the collector that it exports metrics to.
type recording struct {
	*Recorder
	collector *collector
	exemplars int // of the last export
}

// newRecording returns a recording without targets. Of the options, only labels and vantage matter.
func newRecording(t *testing.T, o Options) *recording {
	t.Helper()
	c := newCollector(t)
	r, _ := newExporting(t, o, c.endpoint, map[string]string{"OTEL_TRACES_EXPORTER": "none"})
	t.Cleanup(func() { _ = r.Shutdown(context.Background()) })
	return &recording{Recorder: r, collector: c}
}

// export returns what the collector receives now.
func (r *recording) export(t *testing.T) []*metricspb.Metric {
	t.Helper()
	r.collector.metrics = nil
	if err := r.metrics.ForceFlush(t.Context()); err != nil {
		t.Fatal(err)
	}
	return r.collector.onlyMetrics(t)
}

// series returns all series as they are now. /metrics and OTLP must agree on them. Sums may differ in the last bits:
// after a scrape client_golang adds up in another order.
func (r *recording) series(t *testing.T) map[string]values {
	t.Helper()
	scraped := scrapedSeries(gather(t, r.Recorder))
	exported, exemplars := exportedSeries(t, r.export(t))
	r.exemplars = exemplars
	if diff := cmp.Diff(scraped, exported, cmpopts.EquateApprox(1e-14, 0)); diff != "" {
		t.Errorf("series (-/metrics +OTLP):\n%s", diff)
	}
	return scraped
}

// expect compares the series whose names begin with a prefix with lines such as /metrics has them. The number of a
// histogram is its count.
func (r *recording) expect(t *testing.T, prefix string, want ...string) {
	t.Helper()
	var got []string
	for series, v := range r.series(t) {
		if strings.HasPrefix(series, prefix) {
			got = append(got, series+" "+number(v.Value+float64(v.Count)))
		}
	}
	slices.Sort(got)
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("series %s… (-want +got):\n%s", prefix, diff)
	}
}

// number returns a number as text, without an exponent.
func number(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

// values are those of one series.
type values struct {
	Value float64 // of a counter or a gauge

	Count, Zero    uint64
	Sum, Threshold float64
	Scale          int32
	Native         map[int32]uint64 // by upper bound: 2^(n/16)
}

// seriesName returns the name and the labels of a series as /metrics has them.
func seriesName(metric string, labels map[string]string) string {
	var pairs []string
	for _, label := range slices.Sorted(maps.Keys(labels)) {
		pairs = append(pairs, label+`="`+labels[label]+`"`)
	}
	if pairs == nil {
		return metric
	}
	return metric + "{" + strings.Join(pairs, ",") + "}"
}

// gather returns the metrics of the catalog on /metrics.
func gather(t *testing.T, r *Recorder) []*dto.MetricFamily {
	t.Helper()
	families, err := r.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(families, func(f *dto.MetricFamily) bool {
		return !strings.HasPrefix(f.GetName(), "llm_probe")
	})
}

// scrapedSeries returns the series on /metrics, but for histograms without a value: over OTLP there are none.
func scrapedSeries(families []*dto.MetricFamily) map[string]values {
	all := map[string]values{}
	for _, family := range families {
		for _, m := range family.Metric {
			v := values{Value: m.GetCounter().GetValue() + m.GetGauge().GetValue()}
			if m.Histogram != nil {
				v = nativeValues(m.Histogram)
			}
			if m.Histogram == nil || v.Count > 0 {
				all[seriesName(family.GetName(), labelsOf(m))] = v
			}
		}
	}
	return all
}

func labelsOf(m *dto.Metric) map[string]string {
	labels := map[string]string{}
	for _, l := range m.Label {
		labels[l.GetName()] = l.GetValue()
	}
	return labels
}

// nativeValues returns the values of a native histogram. It stores spans of buckets, and of each count the difference
// to the one before.
func nativeValues(h *dto.Histogram) values {
	v := values{
		Count: h.GetSampleCount(), Sum: h.GetSampleSum(),
		Zero: h.GetZeroCount(), Threshold: h.GetZeroThreshold(),
		Scale: h.GetSchema(), Native: map[int32]uint64{},
	}
	bucket := int32(0)
	count := int64(0)
	deltas := h.PositiveDelta
	for _, span := range h.PositiveSpan {
		bucket += span.GetOffset()
		for range span.GetLength() {
			count += deltas[0]
			deltas = deltas[1:]
			if count > 0 {
				v.Native[bucket] = uint64(count)
			}
			bucket++
		}
	}
	return v
}

// exportedSeries returns the series that came over OTLP, but for those of the GenAI conventions, and the number of
// exemplars.
func exportedSeries(t *testing.T, metrics []*metricspb.Metric) (all map[string]values, exemplars int) {
	t.Helper()
	all = map[string]values{}
	for _, m := range metrics {
		if strings.HasPrefix(m.Name, "gen_ai.") {
			continue
		}
		name := func(k Kind) string { return Instrument{Name: m.Name, Unit: m.Unit, Kind: k}.PrometheusName() }
		for _, p := range m.GetSum().GetDataPoints() {
			all[seriesName(name(Counter), attributesOf(p.Attributes))] = values{Value: float64(p.GetAsInt())}
		}
		for _, p := range m.GetGauge().GetDataPoints() {
			all[seriesName(name(Gauge), attributesOf(p.Attributes))] = values{Value: p.GetAsDouble()}
		}
		for _, p := range m.GetExponentialHistogram().GetDataPoints() {
			all[seriesName(name(Histogram), attributesOf(p.Attributes))] = exponentialValues(p)
			for _, e := range p.Exemplars {
				if len(e.TraceId) != 16 || len(e.SpanId) != 8 {
					t.Errorf("%s: exemplar of trace %x, span %x", m.Name, e.TraceId, e.SpanId)
				}
				exemplars++
			}
		}
	}
	return all, exemplars
}

// exponentialValues returns the values of an exponential histogram, which numbers buckets by their lower bounds.
func exponentialValues(p *metricspb.ExponentialHistogramDataPoint) values {
	v := values{
		Count: p.Count, Sum: p.GetSum(),
		Zero: p.ZeroCount, Threshold: p.ZeroThreshold,
		Scale: p.Scale, Native: map[int32]uint64{},
	}
	for n, count := range p.Positive.GetBucketCounts() {
		if count > 0 {
			v.Native[p.Positive.Offset+int32(n)+1] = count
		}
	}
	return v
}
