package test

import (
	"testing"
	"time"
)

// TestBenchAndReport checks that the report verb finds in Prometheus what a bench sent there by OTLP.
func TestBenchAndReport(t *testing.T) {
	t.Parallel()
	simulator := start(t, nil, "simulate", "--profile", "production-stack,ray-serve", "--listen", "127.0.0.1:0")
	a, b := simulator.after(t, "production-stack"), simulator.after(t, "ray-serve")
	p := startPrometheus(t, "", nil, "--web.enable-otlp-receiver")
	span := [2]time.Time{time.Now().Add(-time.Second)}
	measured := summaries(t, start(t, []string{
		"OTEL_EXPORTER_OTLP_METRICS_ENDPOINT=" + p.url + "/api/v1/otlp/v1/metrics", "OTEL_METRIC_EXPORT_INTERVAL=500", // increase() is between samples
	}, "bench", "a="+a, "b="+b, "--qps", "1", "--requests", "21", "--prompt-tokens", "2000", "--max-tokens", "50", "--format", "json"))
	span[1] = time.Now().Add(2 * time.Second)

	stored := reported(t, p, span)
	for _, want := range measured {
		got := stored[want.Target]
		if want.Succeeded == 0 || 2*got.Succeeded < want.Succeeded || 2*want.Succeeded < got.Succeeded || got.Failed != want.Failed {
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

// near checks that the stored median is the measured one but for what is lost at the ends of a range of
// seconds: its half at least, and its double at most.
func near(t *testing.T, what string, stored, measured spread) {
	t.Helper()
	if len(stored.Quantiles) != 5 || len(measured.Quantiles) != 5 {
		t.Fatalf("%s: %+v stored, %+v measured", what, stored, measured)
	}
	if got, want := stored.Quantiles[0].Value, measured.Quantiles[0].Value; got < want/2 || got > 2*want {
		t.Errorf("%s: median %v stored, %v measured", what, got, want)
	}
}
