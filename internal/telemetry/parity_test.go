package telemetry

import (
	"math"
	"testing"

	"go.opentelemetry.io/otel/trace"

	"github.com/llm-prober/prober/internal/probe"
)

// TestBothRecordersAgree holds that a collector receives the series that a scrape shows, with the same values in every
// bucket, and exemplars.
func TestBothRecordersAgree(t *testing.T) {
	r, b := newRecording(t), fixedTarget()
	b.Name, b.API, b.URL = "b", "tgi", "http://tgi.example"
	r.Set(fixedTarget())
	r.Set(b)
	r.Reloaded(day(), true)
	r.Skipped("a", probe.SkipLate)
	for _, result := range random(1000) {
		r.Record(result)
	}
	all := r.both(t)
	if r.exemplars == 0 {
		t.Error("no exemplars")
	}
	for _, name := range []string{"llm_probe_itl_seconds,model=llama,prompt=cold,target=a", "llm_prober_read_delay_seconds"} {
		if v := all[name]; v.Scale != 4 || v.Zero == 0 || len(v.Native) < 50 {
			t.Errorf("the results are no test of the buckets of %s: %+v", name, v)
		}
	}
	for _, name := range []string{
		"llm_probe_tainted_total,model=llama,prompt=cold,reason=late,target=a",
		"llm_probe_tainted_total,model=llama,prompt=cold,reason=coalesced,target=b",
		"llm_prober_refused_stamps_total",
	} {
		if all[name].Value == 0 {
			t.Errorf("the results are no test of %s", name)
		}
	}
}

// TestThresholdIsZeroInBothRecorders: a value equal to the threshold is zero, the next above is not.
func TestThresholdIsZeroInBothRecorders(t *testing.T) {
	for series, threshold := range map[string]float64{
		"llm_probe_itl_seconds,model=llama,prompt=cold,target=a": math.Pow(2, -13),
		"llm_prober_read_delay_seconds":                          math.Pow(2, -17),
	} {
		r := newRecording(t)
		r.Set(fixedTarget())
		to := r.targets["a"].series[seriesID{name: "llm.probe.itl"}]
		if series == "llm_prober_read_delay_seconds" {
			to = r.prober[seriesID{name: "llm.prober.read_delay"}]
		}
		for _, value := range []float64{0, math.Nextafter(threshold, 0), threshold, math.Nextafter(threshold, 1)} {
			add(to, value, trace.SpanContext{})
		}
		if got := r.both(t)[series]; got.Zero != 3 || got.Count != 4 {
			t.Errorf("%s: %d of %d values in the zero bucket, want 3 of 4", series, got.Zero, got.Count)
		}
	}
}
