package telemetry

import (
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/trace"

	"github.com/llm-prober/prober/internal/probe"
)

// The histograms of which these tests look at buckets.
const (
	itlOfA    = "llm_probe_itl_seconds" + ofA
	readDelay = "llm_prober_read_delay_seconds"
)

// TestBothRecordersAgree holds that a collector receives the series that a scrape shows, with the same values in every
// bucket, the same counts and sums, and exemplars. The results must use many buckets and the rarer counters.
func TestBothRecordersAgree(t *testing.T) {
	r := newRecording(t, Options{})
	r.Set(fixedTarget())
	r.setChanged(func(d *probe.Description) { d.Name, d.API, d.URL = "b", "tgi", "http://tgi.example" })
	r.Reloaded(day(), true)
	r.SetRejectedTargets([]probe.Description{{Name: "c"}, {Name: "d"}})
	r.Skipped("a", "cold", probe.SkipLate)
	for _, result := range random(1000) {
		r.Record(result)
	}
	all := r.series(t)
	if r.exemplars == 0 {
		t.Error("no exemplars")
	}
	for _, name := range []string{itlOfA, readDelay} {
		v := all[name]
		if v.Scale != 4 || v.Zero == 0 || len(v.Native) < 50 {
			t.Errorf("the results are no test of the buckets of %s: %+v", name, v)
		}
	}
	for _, name := range []string{
		`llm_probe_tainted_total{model="llama",prompt="cold",reason="late",target="a"}`,
		`llm_probe_tainted_total{model="llama",prompt="cold",reason="coalesced",target="b"}`,
		"llm_prober_kernel_timestamps_rejected_total",
	} {
		if all[name].Value == 0 {
			t.Errorf("the results are no test of %s", name)
		}
	}
}

// TestOutliersCostNoResolution holds that the shortest value that a clock gives and the longest that a probe may take
// change no other bucket: the SDK, unless it may have enough buckets between them, merges all buckets for ever.
func TestOutliersCostNoResolution(t *testing.T) {
	r := newRecording(t, Options{})
	r.Set(fixedTarget())
	itl := r.prompts[probe.PromptID{Target: "a", Prompt: "cold"}].series[idOf("llm.probe.itl")]
	for _, d := range []time.Duration{time.Nanosecond, 123 * time.Microsecond, 18 * time.Millisecond, 24 * time.Hour} {
		itl.observe(d.Seconds(), trace.SpanContext{})
	}
	want := values{
		Count: 4, Sum: 86400.018123001, Zero: 1, Threshold: zeroThreshold, Scale: 4,
		// Keys are 16 · log2 of the value in seconds, rounded up.
		Native: map[int32]uint64{-207: 1, -92: 1, 263: 1},
	}
	if diff := cmp.Diff(want, r.series(t)[itlOfA], cmpopts.EquateApprox(1e-15, 0)); diff != "" {
		t.Errorf("histogram (-want +got):\n%s", diff)
	}
}

// TestThresholdIsZeroInBothRecorders holds that a value equal to the threshold is in the zero bucket, and the next one
// above is not.
func TestThresholdIsZeroInBothRecorders(t *testing.T) {
	r := newRecording(t, Options{})
	r.Set(fixedTarget())
	for _, test := range []struct {
		name      string
		series    series
		threshold float64
	}{
		{itlOfA, r.prompts[probe.PromptID{Target: "a", Prompt: "cold"}].series[idOf("llm.probe.itl")], math.Pow(2, -13)},
		{readDelay, r.proberSeries[idOf("llm.prober.read_delay")], math.Pow(2, -17)},
	} {
		above := math.Nextafter(test.threshold, 1)
		for _, value := range []float64{0, math.Nextafter(test.threshold, 0), test.threshold, above} {
			test.series.observe(value, trace.SpanContext{})
		}
		got := r.series(t)[test.name]
		if got.Zero != 3 || got.Count != 4 {
			t.Errorf("%s: %d of %d values in the zero bucket, want 3 of 4", test.name, got.Zero, got.Count)
		}
	}
}

// TestAboveTheBucketLimit holds what a series shows that has populated more buckets than any in practice: /metrics
// halves its resolution and loses no count, and OTLP keeps both. A day after its start the series on /metrics begins
// anew, with full resolution, while OTLP goes on. Both grow alike from then on.
func TestAboveTheBucketLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		otlp := newOTelBackend("")
		r := newRecorder(Options{}, otlp)
		r.Set(fixedTarget())
		observeAll := func(buckets int) {
			for n := range buckets {
				value := zeroThreshold * math.Exp2((float64(n)+0.5)/16) // the middle of a bucket
				r.prompts[probe.PromptID{Target: "a", Prompt: "cold"}].series[idOf("llm.probe.itl")].observe(value, trace.SpanContext{})
			}
		}
		expect := func(when string, scraped, exported shape) {
			t.Helper()
			v := scrapedSeries(gather(t, r))[itlOfA]
			got := shape{v.Scale, len(v.Native), v.Count}
			if got != scraped {
				t.Errorf("%s: /metrics has %+v, want %+v", when, got, scraped)
			}
			got = exportedShape(t, otlp)
			if got != exported {
				t.Errorf("%s: OTLP has %+v, want %+v", when, got, exported)
			}
		}
		time.Sleep(time.Hour)
		observeAll(nativeBuckets)
		expect("at the limit", shape{4, 512, 512}, shape{4, 512, 512})
		observeAll(nativeBuckets + 2)
		expect("above it", shape{3, 257, 1026}, shape{4, 514, 1026})
		time.Sleep(23 * time.Hour)
		synctest.Wait()
		observeAll(10)
		expect("a day after its start", shape{4, 10, 10}, shape{4, 514, 1036})
		observeAll(10)
		expect("later", shape{4, 10, 20}, shape{4, 514, 1046})
	})
}

// A shape is the resolution of a histogram, how many of its buckets are populated, and its count.
type shape struct {
	scale   int32
	buckets int
	count   uint64
}

// exportedShape returns the shape of the ITL on OTLP.
func exportedShape(t *testing.T, otlp *otelBackend) (s shape) {
	t.Helper()
	scopes, err := otlp.Produce(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range scopes[0].Metrics {
		if m.Name != "llm.probe.itl" {
			continue
		}
		p := m.Data.(metricdata.ExponentialHistogram[float64]).DataPoints[0]
		s = shape{scale: p.Scale, count: p.Count}
		for _, count := range p.PositiveBucket.Counts {
			s.buckets += int(min(count, 1))
		}
	}
	return s
}
