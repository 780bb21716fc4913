package telemetry

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
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
					all[k] = &recount{Classic: append([]uint64(nil), make([]uint64, len(i.Bounds))...)}
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

func TestRecount(t *testing.T) {
	r := newRecording(t)
	for _, target := range randomTargets() {
		r.Set(target)
	}
	for _, result := range random(1000) {
		r.Record(result)
	}
	got := map[string]*recount{}
	for _, family := range gather(t, r.Recorder) {
		for _, m := range family.Metric {
			if m.GetHistogram().GetSampleCount() == 0 {
				continue
			}
			c := &recount{Count: m.Histogram.GetSampleCount(), Sum: m.Histogram.GetSampleSum()}
			for _, b := range m.Histogram.Bucket {
				c.Classic = append(c.Classic, b.GetCumulativeCount())
			}
			got[key(family.GetName(), labelsOf(m.Label))] = c
		}
	}
	for _, m := range r.export(t) {
		name := Instrument{Name: m.Name, Unit: m.Unit, Kind: Histogram}.PrometheusName()
		for _, p := range m.GetExponentialHistogram().GetDataPoints() {
			of := got[key(name, pairs(p.Attributes))]
			if of == nil || of.Count != p.Count {
				t.Fatalf("%s: %d samples on OTLP, and on /metrics %+v", m.Name, p.Count, of)
			}
			of.Zeroed = p.GetSum()
		}
	}
	if diff := cmp.Diff(recounted(1000), got); diff != "" {
		t.Errorf("histograms (-recounted +recorded):\n%s", diff)
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
			r := newRecording(t)
			r.Set(fixedTarget())
			to, ok := r.prober[seriesID{name: name}]
			if !ok {
				to = r.targets["a"].series[seriesID{name: name}]
			}
			to(value, trace.SpanContext{})
			if got, want := r.both(t)[series].Zero, map[bool]uint64{true: 1, false: 0}[value <= threshold]; got != want {
				t.Errorf("%s of %g: %d in the zero bucket, want %d", name, value, got, want)
			}
		}
	}
}
