package observe

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/llm-prober/prober/internal/config"
	"github.com/llm-prober/prober/internal/length"
	"github.com/llm-prober/prober/internal/probe"
	"github.com/llm-prober/prober/internal/telemetry"
	"github.com/llm-prober/prober/internal/testing/exposition"
)

// newObservers returns observers that log nothing.
func newObservers(t *testing.T) *Observers {
	t.Helper()
	o, err := New(t.Context(), &config.Config{}, telemetry.Build{}, zap.NewNop())
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// TestWarnsOfTheEnvironment holds that a variable of OpenTelemetry that has no effect is a warning at the start.
func TestWarnsOfTheEnvironment(t *testing.T) {
	t.Setenv("OTEL_CONFIG_FILE", "otel.yaml")
	core, logs := observer.New(zapcore.WarnLevel)
	_, err := New(t.Context(), &config.Config{}, telemetry.Build{}, zap.New(core))
	if err != nil {
		t.Fatal(err)
	}
	if logs.Len() != 1 || !strings.Contains(fmt.Sprint(logs.All()[0].ContextMap()["warning"]), "OTEL_CONFIG_FILE") {
		t.Errorf("logged %v", logs.All())
	}
}

// TestGenAIMetricsAreOffUnlessAskedFor holds that a collector gets the metrics of the GenAI conventions only if the
// configuration names their version.
func TestGenAIMetricsAreOffUnlessAskedFor(t *testing.T) {
	for version, want := range map[config.GenAI]bool{"": false, config.GenAIOff: false, config.GenAI141: true} {
		var exported bytes.Buffer
		collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(&exported, r.Body)
		}))
		t.Setenv("OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", collector.URL)
		o, err := New(t.Context(), &config.Config{GenAISemconv: version}, telemetry.Build{}, zap.NewNop())
		if err != nil {
			t.Fatal(err)
		}
		o.Metrics.Set(probe.Description{
			Name: "a", InFlight: func() (int, time.Time) { return 0, time.Time{} }, Stuck: func() int { return 0 },
		})
		o.Metrics.Record(&probe.Result{Target: "a", Outcome: probe.Connect})
		o.Shutdown(t.Context(), time.Minute)
		collector.Close()
		got := bytes.Contains(exported.Bytes(), []byte("gen_ai.client.operation.duration"))
		if got != want || !bytes.Contains(exported.Bytes(), []byte("llm.probe.probes")) {
			t.Errorf("version %q: GenAI metrics exported: %t, want %t", version, got, want)
		}
	}
}

// newTarget returns a target with a member that is not asked, and that knows one model or, if it is empty, none.
func newTarget(c config.Target, member probe.Target, model string) Target {
	c.QPS = 0.1
	c.Prompts = []config.Prompt{{Name: "cold", Share: 1}}
	member.Transport = probe.NewTransport(probe.Route{})
	return Target{
		Config: c, Member: probe.NewMember(member, model, 1),
		Length: func() length.Snapshot { return length.Snapshot{} },
	}
}

// TestWhatIsRecorded holds that canceled probes leave no trace, and neither do refused connections during a drain, when
// the server has been told to stop as well, and failures at an address that the last lookup lacked, unless the server
// answered there. Results of a target that is asked something else by now are dropped.
func TestWhatIsRecorded(t *testing.T) {
	o := newObservers(t)
	target := newTarget(config.Target{Name: "a"}, probe.Target{}, "")
	recorder := o.NewRecorder([]Target{target}, PanicLog{Log: zap.NewNop()})
	record := func(outcome probe.Outcome) {
		recorder.Record(&probe.Result{Target: "a", Prompt: "cold", Outcome: outcome, Err: errors.New("it failed")})
	}
	record(probe.Canceled)
	record(probe.Connect)
	target.Member.Draining.Store(true)
	record(probe.Connect)
	record(probe.Timeout)
	target.Member.Draining.Store(false)
	target.Member.Missing.Store(true)
	record(probe.Timeout)
	record(probe.Rejected)
	recorder.DropResults("a", "cold")
	record(probe.Stalled)

	page := exposition.Serve(o.Metrics.Handler(log.New(io.Discard, "", 0)), "/metrics")
	const want = "connect=1 rejected=1 timeout=1"
	if got := exposition.Slots(page)["a"]; got != want {
		t.Errorf("recorded %s, want %s", got, want)
	}
}
