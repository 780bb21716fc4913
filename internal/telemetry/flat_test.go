package telemetry

import (
	"maps"
	"slices"
	"strings"
	"testing"

	dto "github.com/prometheus/client_model/go"
	metricspb "go.opentelemetry.io/proto/otlp/metrics/v1"
)

// values are those of one series of either recorder.
type values struct {
	Value float64 // of a counter or a gauge

	Count, Zero    uint64
	Sum, Threshold float64
	Scale          int32
	Native         map[int32]uint64 // by upper bound: 2^(n/16)
}

// key returns the name and the labels of a series as text.
func key(name string, labels map[string]string) string {
	var b strings.Builder
	b.WriteString(name)
	for _, l := range slices.Sorted(maps.Keys(labels)) {
		b.WriteString("," + l + "=" + labels[l])
	}
	return b.String()
}

// gather returns everything on /metrics that is ours.
func gather(t *testing.T, p *Recorder) []*dto.MetricFamily {
	t.Helper()
	families, err := p.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(families, func(f *dto.MetricFamily) bool {
		return !strings.HasPrefix(f.GetName(), "llm_probe")
	})
}

// scraped returns all series of families, but for histograms without a value, which
// OpenTelemetry does not have.
func scraped(families []*dto.MetricFamily) map[string]values {
	all := map[string]values{}
	for _, family := range families {
		for _, m := range family.Metric {
			s := values{Value: m.GetCounter().GetValue() + m.GetGauge().GetValue()}
			if h := m.Histogram; h != nil {
				s = native(h)
			}
			if m.Histogram == nil || s.Count > 0 {
				all[key(family.GetName(), labelsOf(m.Label))] = s
			}
		}
	}
	return all
}

func labelsOf(all []*dto.LabelPair) map[string]string {
	labels := map[string]string{}
	for _, l := range all {
		labels[l.GetName()] = l.GetValue()
	}
	return labels
}

func native(h *dto.Histogram) values {
	s := values{
		Count: h.GetSampleCount(), Sum: h.GetSampleSum(),
		Zero: h.GetZeroCount(), Threshold: h.GetZeroThreshold(),
		Scale: h.GetSchema(), Native: map[int32]uint64{},
	}
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

// exponential is [native] for the OpenTelemetry form, whose buckets are numbered by
// their lower bounds.
func exponential(p *metricspb.ExponentialHistogramDataPoint) values {
	s := values{
		Count: p.Count, Sum: p.GetSum(),
		Zero: p.ZeroCount, Threshold: p.ZeroThreshold,
		Scale: p.Scale, Native: map[int32]uint64{},
	}
	for n, c := range p.Positive.GetBucketCounts() {
		if c > 0 {
			s.Native[p.Positive.Offset+int32(n)+1] = c
		}
	}
	return s
}

// scrapedOnly returns a recorder without OTLP.
func scrapedOnly(b Build) *Recorder { return newRecorder(Options{Build: b}, nil) }
