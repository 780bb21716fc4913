package daemon

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	metricspb "go.opentelemetry.io/proto/otlp/metrics/v1"
	"google.golang.org/protobuf/proto"

	"github.com/llm-prober/prober/internal/testing/simnet"
)

// TestTheLastExportHasEveryProbe holds that a prober that stops exports over OTLP what it measured since the last time,
// and the probe that ends while it stops. The SDK exports once a minute, and has exported nothing by then.
func TestTheLastExportHasEveryProbe(t *testing.T) {
	exports := make(chan []byte, 10)
	collector := httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		exports <- body
	}))
	collector.Config.SetKeepAlivesEnabled(false) // a kept connection would outlive the bubble
	collector.Start()
	defer collector.Close()
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.URL)
	t.Setenv("OTEL_TRACES_EXPORTER", "none")

	synctest.Test(t, func(t *testing.T) {
		d := &Daemon{Grace: 5 * time.Second, Flush: 5 * time.Second}
		prober := start(t, simnet.New(t, "a"), d, "PROBER_MAX_TOKENS", "4000", // four seconds
			"PROBER_GENAI_SEMCONV", "v1.41")
		for range 3 {
			prober.awaitProbe("a:80")
			time.Sleep(5 * time.Second)
		}
		prober.awaitProbe("a:80")
		prober.expectSlots("a:80", "ok=3")
		if len(exports) > 0 {
			t.Fatalf("%d exports before the prober stops", len(exports))
		}
		prober.end()
	})

	if len(exports) != 1 {
		t.Fatalf("%d exports, want one", len(exports))
	}
	var export metricspb.MetricsData
	if err := proto.Unmarshal(<-exports, &export); err != nil {
		t.Fatal(err)
	}
	probes := int64(0)
	hasGenAI := false
	for _, m := range export.ResourceMetrics[0].ScopeMetrics[0].Metrics {
		hasGenAI = hasGenAI || strings.HasPrefix(m.Name, "gen_ai.")
		if m.Name != "llm.probe.probes" {
			continue
		}
		for _, point := range m.GetSum().DataPoints {
			probes += point.GetAsInt()
		}
	}
	if !hasGenAI {
		t.Error("no metric of the GenAI conventions is exported")
	}
	if probes != 4 {
		t.Errorf("%d probes are exported, want 4", probes)
	}
}
