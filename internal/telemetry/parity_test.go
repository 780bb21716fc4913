package telemetry

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.opentelemetry.io/otel/trace"

	"github.com/llm-prober/prober/internal/probe"
)

// TestBothRecordersAgree holds that a collector receives the series that a scrape shows, with the same values in every
// bucket, the same counts and sums, and exemplars.
func TestBothRecordersAgree(t *testing.T) {
	r, b := newRecording(t), fixedTarget()
	b.Name, b.API, b.URL = "b", "tgi", "http://tgi.example"
	r.Set(fixedTarget())
	r.Set(b)
	r.Reloaded(day(), true)
	r.SetRejectedTargets([]string{"c", "d"})
	r.Skipped("a", probe.SkipLate)
	for _, result := range random(1000) {
		r.Record(result)
	}
	all := r.both(t)
	if r.exemplars == 0 {
		t.Error("no exemplars")
	}
	for _, name := range []string{
		"llm_probe_itl_seconds,model=llama,prompt=cold,target=a", "llm_prober_read_delay_seconds",
	} {
		if v := all[name]; v.Scale != 4 || v.Zero == 0 || v.Sum == 0 || len(v.Native) < 50 {
			t.Errorf("the results are no test of the buckets of %s: %+v", name, v)
		}
	}
	for _, name := range []string{
		"llm_probe_tainted_total,model=llama,prompt=cold,reason=late,target=a",
		"llm_probe_tainted_total,model=llama,prompt=cold,reason=coalesced,target=b",
		"llm_prober_kernel_timestamps_rejected_total",
	} {
		if all[name].Value == 0 {
			t.Errorf("the results are no test of %s", name)
		}
	}
}

// TestOutliersCostNoResolution: between the shortest value that a clock gives and the longest that a probe may take
// there are more buckets than the SDK of OpenTelemetry has unless told so, and it would merge them for ever.
func TestOutliersCostNoResolution(t *testing.T) {
	r := newRecording(t)
	r.Set(fixedTarget())
	to := r.targets["a"].series[seriesID{instrument: "llm.probe.itl"}]
	for _, value := range []time.Duration{time.Nanosecond, 123 * time.Microsecond, 18 * time.Millisecond, 24 * time.Hour} {
		observe(to, value.Seconds(), trace.SpanContext{})
	}
	got := r.both(t)["llm_probe_itl_seconds,model=llama,prompt=cold,target=a"]
	want := values{
		Count: 4, Sum: 86400.018123001, Zero: 1, Threshold: zeroThreshold, Scale: 4,
		// Keys are 16 · log2 of the value in seconds, rounded up.
		Native: map[int32]uint64{-207: 1, -92: 1, 263: 1},
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateApprox(1e-15, 0)); diff != "" {
		t.Errorf("histogram (-want +got):\n%s", diff)
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
		to := r.targets["a"].series[seriesID{instrument: "llm.probe.itl"}]
		if series == "llm_prober_read_delay_seconds" {
			to = r.proberSeries[seriesID{instrument: "llm.prober.read_delay"}]
		}
		for _, value := range []float64{0, math.Nextafter(threshold, 0), threshold, math.Nextafter(threshold, 1)} {
			observe(to, value, trace.SpanContext{})
		}
		if got := r.both(t)[series]; got.Zero != 3 || got.Count != 4 {
			t.Errorf("%s: %d of %d values in the zero bucket, want 3 of 4", series, got.Zero, got.Count)
		}
	}
}
