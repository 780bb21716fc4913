package telemetry

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel"
	metricspb "go.opentelemetry.io/proto/otlp/metrics/v1"

	"github.com/llm-prober/prober/internal/golden"
	"github.com/llm-prober/prober/internal/probe"
)

// exportFailures is the metric.
func exportFailures(t *testing.T, of *Recorder) float64 {
	t.Helper()
	return scraped(gather(t, of))["llm_prober_export_failures_total"].Value
}

// formOf is a metric's unit and kind, and where it has them its temporality and its scale, or whether it is monotonic.
func formOf(m *metricspb.Metric) string {
	switch d := m.Data.(type) {
	case *metricspb.Metric_ExponentialHistogram:
		of := d.ExponentialHistogram
		return fmt.Sprint(m.Unit, " exponential ", of.AggregationTemporality, " scale ", of.DataPoints[0].Scale)
	case *metricspb.Metric_Histogram:
		return fmt.Sprint(m.Unit, " explicit ", d.Histogram.AggregationTemporality)
	case *metricspb.Metric_Sum:
		return fmt.Sprint(m.Unit, " sum ", d.Sum.AggregationTemporality, " monotonic ", d.Sum.IsMonotonic)
	}
	return m.Unit + " gauge"
}

// TestOTLPForm holds the names, units, kinds, temporality and scale of all metrics, the attributes of those by the
// GenAI conventions, and the resource.
func TestOTLPForm(t *testing.T) {
	c := newCollector(t)
	o, _ := newOTLPTo(t, c.endpoint, map[string]string{
		"OTEL_EXPORTER_OTLP_PROTOCOL": "grpc", "OTEL_RESOURCE_ATTRIBUTES": "deployment.environment.name=test",
	})
	fill(o)
	if err := o.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, m := range metricsOf(t, c) {
		lines = append(lines, m.Name+": "+formOf(m))
		for _, p := range m.GetHistogram().GetDataPoints() {
			lines = append(lines, fmt.Sprint(key(m.Name, pairs(p.Attributes)), " ", p.Count))
		}
	}
	about := pairs(c.metrics[0].Resource.Attributes)
	if host, _, ok := strings.Cut(about["service.instance.id"], "-"); !ok || host == "" {
		t.Errorf("service.instance.id: %q", about["service.instance.id"])
	}
	delete(about, "service.instance.id")
	delete(about, "telemetry.sdk.version")
	slices.Sort(lines)
	golden.Equal(t, "testdata/otlp.txt", strings.Join(append(lines, key("resource", about)), "\n")+"\n")
}

// TestNewNamesTheVariable that is wrong, if there is something to export.
func TestNewNamesTheVariable(t *testing.T) {
	withoutOTEL(t)
	t.Setenv("OTEL_RESOURCE_ATTRIBUTES", "nonsense")
	if o, err := New(t.Context(), Options{}); o.Exporting() || err != nil {
		t.Errorf("without an endpoint: exporting %t, %v", o.Exporting(), err)
	}
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://c:4318")
	o, err := New(t.Context(), Options{})
	if err == nil || o.Exporting() || !strings.Contains(err.Error(), "OTEL_RESOURCE_ATTRIBUTES") {
		t.Errorf("a resource that is not valid: %v", err)
	}
}

// TestHangingCollector: only Shutdown waits for a collector that does not
// answer, as long as its context allows.
func TestHangingCollector(t *testing.T) {
	asked, release := make(chan struct{}, 100), make(chan struct{})
	hanging := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		asked <- struct{}{}
		select {
		case <-release:
		case <-r.Context().Done():
		}
	}))
	defer hanging.Close()
	defer close(release)
	o, _ := newOTLPTo(t, hanging.URL, nil)
	o.Set(fixedTarget())
	flushed := make(chan error)
	ctx, cancel := context.WithCancel(t.Context())
	go func() { flushed <- o.metrics.ForceFlush(ctx) }()
	<-asked // an export is running
	for range 100 {
		o.Record(succeeded5())
		o.Skipped("a", probe.SkipLate)
	}
	cancel()
	if err := <-flushed; !errors.Is(err, context.Canceled) {
		t.Errorf("flush: %v", err)
	}
	if err := o.Shutdown(ctx); err == nil {
		t.Error("shut down in order")
	}
}

// TestFailedExports holds that a failure is counted and reported once for each signal, that Shutdown returns it, and
// that a redirect sends nothing, with its headers, elsewhere.
func TestFailedExports(t *testing.T) {
	elsewhere := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("it asked elsewhere, with %v", r.Header)
	}))
	defer elsewhere.Close()
	redirecting := httptest.NewServer(http.RedirectHandler(elsewhere.URL, http.StatusTemporaryRedirect))
	defer redirecting.Close()
	forbidding := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "no such tenant", http.StatusForbidden)
	}))
	defer forbidding.Close()
	c := newCollector(t)
	c.reject = "too many labels"
	for name, test := range map[string]struct {
		endpoint, says string
		failures       int
		env            map[string]string
	}{
		"a redirect": {redirecting.URL, errRedirected.Error(), 2, map[string]string{
			"OTEL_EXPORTER_OTLP_HEADERS": "x-api-key=secret",
		}},
		"a refusal":               {forbidding.URL, "no such tenant", 2, nil},
		"partial success by HTTP": {c.endpoint, c.reject, 1, map[string]string{"OTEL_TRACES_EXPORTER": "none"}},
		"partial success, and gRPC": {c.endpoint, c.reject, 1, map[string]string{
			"OTEL_TRACES_EXPORTER": "none", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			o, errs := newOTLPTo(t, test.endpoint, test.env)
			fill(o)
			if err := o.Shutdown(t.Context()); err == nil || !strings.Contains(err.Error(), test.says) {
				t.Errorf("shut down: %v", err)
			}
			got := errs()
			for _, err := range got {
				if !strings.Contains(err.Error(), test.says) {
					t.Errorf("reported %v, want %s", err, test.says)
				}
			}
			if len(got) != test.failures || exportFailures(t, o) != float64(test.failures) {
				t.Errorf("reported %v, %v failures; want %d", got, exportFailures(t, o), test.failures)
			}
		})
	}
}

// TestSettingsOfTheEnvironment holds that the standard variables name the service and choose the temporality,
// and that errors of the SDK are reported rather than printed.
func TestSettingsOfTheEnvironment(t *testing.T) {
	c := newCollector(t)
	o, errs := newOTLPTo(t, c.endpoint, map[string]string{
		"OTEL_SERVICE_NAME": "mine", "OTEL_RESOURCE_ATTRIBUTES": "service.instance.id=pod-0,service.version=other",
		"OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE": "delta",
	})
	fill(o)
	for range 2 {
		if err := o.metrics.ForceFlush(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	otel.Handle(errors.New("of the SDK"))
	if got := errs(); len(got) != 1 || got[0].Error() != "of the SDK" {
		t.Errorf("reported %v", got)
	}
	if err := o.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	about := pairs(c.metrics[0].Resource.Attributes)
	for name, want := range map[string]string{
		"service.name": "mine", "service.instance.id": "pod-0", "service.version": "other",
	} {
		if about[name] != want {
			t.Errorf("%s=%q, want %q", name, about[name], want)
		}
	}
	var frames []float64
	for _, export := range c.metrics {
		all, _ := received(t, export.ScopeMetrics[0].Metrics)
		if of, ok := all["llm_probe_frames_total,model=llama,prompt=cold,target=a"]; ok {
			frames = append(frames, of.Value)
		}
	}
	if diff := cmp.Diff([]float64{6}, frames); diff != "" {
		t.Errorf("frames by export (-want +got):\n%s", diff)
	}
}

func TestGenAIOff(t *testing.T) {
	back := newOTelBackend("")
	fill(newRecorder(Options{}, back))
	scopes, err := back.Produce(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range scopes[0].Metrics {
		if strings.HasPrefix(m.Name, "gen_ai.") {
			t.Errorf("%s is there", m.Name)
		}
	}
}
