package telemetry

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"

	dto "github.com/prometheus/client_model/go"
	"go.opentelemetry.io/otel/attribute"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
)

// values are those of one series of either recorder.
type values struct {
	Value float64 // of a counter or a gauge

	Count, Zero uint64
	Scale       int32
	Native      map[int32]uint64 // by upper bound: 2^(n/16)
}

// key is a series's name and labels, as text.
func key(name string, labels map[string]string) string {
	var b strings.Builder
	b.WriteString(name)
	for _, l := range slices.Sorted(maps.Keys(labels)) {
		b.WriteString("," + l + "=" + labels[l])
	}
	return b.String()
}

// gather is everything on /metrics that is ours.
func gather(t *testing.T, p *Recorder) []*dto.MetricFamily {
	t.Helper()
	families, err := p.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(families, func(f *dto.MetricFamily) bool { return !strings.HasPrefix(f.GetName(), "llm_probe") })
}

// scraped are all series of families, but for histograms without a value, which
// OpenTelemetry does not have.
func scraped(families []*dto.MetricFamily) map[string]values {
	all := map[string]values{}
	for _, family := range families {
		for _, m := range family.Metric {
			labels := map[string]string{}
			for _, l := range m.Label {
				labels[l.GetName()] = l.GetValue()
			}
			s := values{Value: m.GetCounter().GetValue() + m.GetGauge().GetValue()}
			if h := m.Histogram; h != nil {
				s = native(h)
			}
			if m.Histogram == nil || s.Count > 0 {
				all[key(family.GetName(), labels)] = s
			}
		}
	}
	return all
}

func native(h *dto.Histogram) values {
	s := values{Count: h.GetSampleCount(), Zero: h.GetZeroCount(), Scale: h.GetSchema(), Native: map[int32]uint64{}}
	at, n, delta := int32(0), int64(0), 0
	for _, span := range h.PositiveSpan {
		at += span.GetOffset()
		for range span.GetLength() {
			n += h.PositiveDelta[delta]
			if n > 0 {
				s.Native[at] = uint64(n)
			}
			at, delta = at+1, delta+1
		}
	}
	return s
}

// exponential is native for the OpenTelemetry form, whose buckets are numbered by
// their lower bounds.
func exponential(count, zero uint64, scale, offset int32, counts []uint64) values {
	s := values{Count: count, Zero: zero, Scale: scale, Native: map[int32]uint64{}}
	for n, c := range counts {
		if c > 0 {
			s.Native[offset+int32(n)+1] = c
		}
	}
	return s
}

// collect is everything that a manual reader reads, by instrument.
func collect(t *testing.T, from sdkmetric.Reader) []metricdata.Metrics {
	t.Helper()
	var all metricdata.ResourceMetrics
	if err := from.Collect(context.Background(), &all); err != nil {
		t.Fatal(err)
	}
	if len(all.ScopeMetrics) != 1 {
		t.Fatalf("%d scopes, want 1", len(all.ScopeMetrics))
	}
	return all.ScopeMetrics[0].Metrics
}

// read are all series that were collected, by the names that Prometheus gives
// them; those of the GenAI conventions left out.
func read(t *testing.T, metrics []metricdata.Metrics) map[string]values {
	t.Helper()
	all := map[string]values{}
	for _, m := range metrics {
		if strings.HasPrefix(m.Name, "gen_ai.") {
			continue
		}
		name := func(k Kind) string { return Instrument{Name: m.Name, Unit: m.Unit, Kind: k}.PrometheusName() }
		switch d := m.Data.(type) {
		case metricdata.Sum[int64]:
			for _, p := range d.DataPoints {
				all[key(name(Counter), words(p.Attributes))] = values{Value: float64(p.Value)}
			}
		case metricdata.Gauge[float64]:
			for _, p := range d.DataPoints {
				all[key(name(Gauge), words(p.Attributes))] = values{Value: p.Value}
			}
		case metricdata.ExponentialHistogram[float64]:
			for _, p := range d.DataPoints {
				all[key(name(Histogram), words(p.Attributes))] = exponential(
					p.Count, p.ZeroCount, p.Scale, p.PositiveBucket.Offset, p.PositiveBucket.Counts)
			}
		default:
			t.Fatalf("%s is a %T", m.Name, m.Data)
		}
	}
	return all
}

func words(set attribute.Set) map[string]string {
	all := map[string]string{}
	for _, kv := range set.ToSlice() {
		all[string(kv.Key)] = kv.Value.String()
	}
	return all
}

// scrapedOnly is a recorder without OTLP.
func scrapedOnly(b Build) *Recorder { return newRecorder(Options{Build: b}, nil) }

// manual is a recorder whose OTLP metrics are read by hand instead of exported.
func manual(genAI bool) (*Recorder, *sdkmetric.ManualReader) {
	back := newMeters("")
	from := sdkmetric.NewManualReader(sdkmetric.WithProducer(back))
	sdkmetric.NewMeterProvider(sdkmetric.WithReader(from))
	return newRecorder(Options{GenAI: genAI}, back), from
}
