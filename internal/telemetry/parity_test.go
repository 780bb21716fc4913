package telemetry

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/trace"

	"github.com/llm-prober/prober/internal/probe"
)

// A recount is what a histogram must hold, counted without a library.
type recount struct {
	Count       uint64
	Sum, Zeroed float64 // as they are; with what is not above the zero threshold as 0
	Classic     []uint64
}

// recounted are the histograms of n random results, by name and labels.
func recounted(n int) map[string]*recount {
	all := map[string]*recount{}
	targets := map[string]probe.Description{}
	for _, target := range randomTargets() {
		targets[target.Name] = target
	}
	for _, i := range Catalog() {
		if i.Kind != Histogram || i.Scope == ScopeGenAI {
			continue
		}
		for _, r := range random(n) {
			if r.Outcome == probe.Canceled {
				continue
			}
			i.ofResult(targets[r.Target], r, func(s sample) {
				labels := map[string]string{}
				values := i.labelValues(targets[r.Target], s.at)
				for n, name := range i.labelNames() {
					labels[name] = values[n]
				}
				k := key(i.PrometheusName(), labels)
				if all[k] == nil {
					all[k] = &recount{Classic: make([]uint64, len(i.Bounds))}
				}
				all[k].add(i, s.value)
			})
		}
	}
	return all
}

func (c *recount) add(to Instrument, value float64) {
	c.Count++
	c.Sum += value
	if value > math.Pow(2, thresholds(to.Name)) {
		c.Zeroed += value
	}
	for n, bound := range to.Bounds {
		if value <= bound {
			c.Classic[n]++
		}
	}
}

// thresholds is the power of two that a value of a histogram must be above not to
// count as zero.
func thresholds(name string) float64 {
	if name == "llm.prober.read_delay" {
		return -17
	}
	return -13
}

func TestRecountOfPrometheus(t *testing.T) {
	p := scrapedOnly(Build{})
	for _, target := range randomTargets() {
		p.Set(target)
	}
	for _, r := range random(1000) {
		p.Record(r)
	}
	got := map[string]*recount{}
	for _, family := range gather(t, p) {
		for _, m := range family.Metric {
			if m.GetHistogram().GetSampleCount() == 0 {
				continue
			}
			labels := map[string]string{}
			for _, l := range m.Label {
				labels[l.GetName()] = l.GetValue()
			}
			c := &recount{Count: m.Histogram.GetSampleCount(), Sum: m.Histogram.GetSampleSum()}
			for _, b := range m.Histogram.Bucket {
				c.Classic = append(c.Classic, b.GetCumulativeCount())
			}
			got[key(family.GetName(), labels)] = c
		}
	}
	want := recounted(1000)
	for _, c := range want {
		c.Zeroed = 0
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("histograms (-recounted +/metrics):\n%s", diff)
	}
}

func TestRecountOfOTLP(t *testing.T) {
	o, from := manual(false)
	for _, target := range randomTargets() {
		o.Set(target)
	}
	for _, r := range random(1000) {
		o.Record(r)
	}
	got := map[string]*recount{}
	for _, m := range collect(t, from) {
		h, ok := m.Data.(metricdata.ExponentialHistogram[float64])
		if !ok {
			continue
		}
		for _, p := range h.DataPoints {
			name := Instrument{Name: m.Name, Unit: m.Unit, Kind: Histogram}.PrometheusName()
			got[key(name, words(p.Attributes))] = &recount{Count: p.Count, Zeroed: p.Sum}
		}
	}
	want := recounted(1000)
	for _, c := range want {
		c.Sum, c.Classic = 0, nil
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("histograms (-recounted +OTLP):\n%s", diff)
	}
}

// TestThresholdIsZeroInBothRecorders: a value equal to the threshold is zero, the next
// above is not.
func TestThresholdIsZeroInBothRecorders(t *testing.T) {
	for name, series := range map[string]string{
		"llm.probe.itl":         "llm_probe_itl_seconds,model=llama,prompt=cold,target=a",
		"llm.prober.read_delay": "llm_prober_read_delay_seconds",
	} {
		threshold := math.Pow(2, thresholds(name))
		for _, value := range []float64{0, math.Nextafter(threshold, 0), threshold, math.Nextafter(threshold, 1)} {
			r, from := manual(false)
			r.Set(fixedTarget())
			to, ok := r.prober[seriesID{name: name}]
			if !ok {
				to = r.targets["a"].series[seriesID{name: name}]
			}
			to(value, trace.SpanContext{})
			onMetrics, onOTLP := scraped(gather(t, r))[series], read(t, collect(t, from))[series]
			if diff := cmp.Diff(onMetrics, onOTLP); diff != "" {
				t.Errorf("%s of %g (-/metrics +OTLP):\n%s", name, value, diff)
			}
			if want := map[bool]uint64{true: 1, false: 0}[value <= threshold]; onMetrics.Zero != want {
				t.Errorf("%s of %g: %d in the zero bucket, want %d", name, value, onMetrics.Zero, want)
			}
		}
	}
}
