package test

import (
	"math"
	"testing"
	"time"
)

// TestBenchAndReport holds the tables of a bench against those that the report
// verb makes of what the same run sent to Prometheus: counts are equal, and
// quantiles within one native bucket.
func TestBenchAndReport(t *testing.T) {
	t.Parallel()
	simulator := start(t, nil, "simulate", "--profile", "production-stack,ray-serve", "--listen", "127.0.0.1:0")
	a, b := simulator.after(t, "production-stack"), simulator.after(t, "ray-serve")
	p := startPrometheus(t, "", nil, "--web.enable-otlp-receiver")
	span := [2]time.Time{time.Now().Add(-time.Second)}
	measured := summaries(t, start(t, []string{"OTEL_EXPORTER_OTLP_METRICS_ENDPOINT=" + p.url + "/api/v1/otlp/v1/metrics"},
		"bench", "a="+a, "b="+b, "--qps", "1", "--requests", "21", "--prompt-tokens", "2000", "--max-tokens", "50", "--format", "json"))
	span[1] = time.Now().Add(2 * time.Second)

	stored := reported(t, p, span)
	for _, want := range measured {
		got := stored[want.Target]
		if want.Succeeded == 0 || got.Succeeded != want.Succeeded || got.Failed != want.Failed || got.Input != want.Input || got.Output != want.Output {
			t.Errorf("%s: stored %+v, measured %+v", want.Target, got, want)
		}
		for _, name := range []string{"ttft", "tpot", "itl", "e2el"} {
			near(t, want.Target+" "+name, got.of(name), want.of(name))
		}
	}
	if len(measured) != 2 || len(stored) != 2 {
		t.Errorf("%d targets measured, %d stored", len(measured), len(stored))
	}
}

// near holds that two distributions have the same samples, as far as buckets
// tell, and means: but that OTLP sends as 0 what is not above 2^-13 s.
func near(t *testing.T, what string, stored, measured spread) {
	t.Helper()
	const rounding = 2e-9
	less := measured.Mean - stored.Mean
	if stored.Count != measured.Count || less < -rounding || less > 0x1p-13 {
		t.Errorf("%s: %d with mean %v stored, %d with %v measured", what, stored.Count, stored.Mean, measured.Count, measured.Mean)
	}
	for i, q := range stored.Quantiles {
		bucket := math.Exp2(1.0 / 16)
		if v := measured.Quantiles[i].Value; v < q.Low/bucket || v > q.High*bucket {
			t.Errorf("%s: quantile %v is in %v to %v, measured %v", what, q.Share, q.Low, q.High, v)
		}
	}
}
