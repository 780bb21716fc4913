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

	"github.com/llm-prober/prober/internal/format"
	"github.com/llm-prober/prober/internal/probe"
	"github.com/llm-prober/prober/internal/testing/golden"
)

// formOf returns a metric's unit and kind, and where it has them its temporality and its scale, or whether it is
// monotonic.
func formOf(m *metricspb.Metric) string {
	switch d := m.Data.(type) {
	case *metricspb.Metric_ExponentialHistogram:
		h := d.ExponentialHistogram
		return fmt.Sprint(m.Unit, " exponential ", h.AggregationTemporality, " scale ", h.DataPoints[0].Scale)
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
	r, _ := newExporting(t, Options{}, c.endpoint, map[string]string{
		"OTEL_EXPORTER_OTLP_PROTOCOL": "grpc",
		"OTEL_RESOURCE_ATTRIBUTES":    "deployment.environment.name=test",
	})
	everything(r)
	if err := r.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, m := range c.onlyMetrics(t) {
		lines = append(lines, m.Name+": "+formOf(m))
		for _, p := range m.GetHistogram().GetDataPoints() {
			lines = append(lines, fmt.Sprint(seriesName(m.Name, attributesOf(p.Attributes)), " ", p.Count))
		}
	}
	slices.Sort(lines)
	resource := attributesOf(c.metrics[0].Resource.Attributes)
	host, _, ok := strings.Cut(resource["service.instance.id"], "-")
	if !ok || host == "" {
		t.Errorf("service.instance.id: %q", resource["service.instance.id"])
	}
	delete(resource, "service.instance.id")
	delete(resource, "telemetry.sdk.version")
	lines = append(lines, seriesName("resource", resource))
	golden.Equal(t, "testdata/otlp.txt", strings.Join(lines, "\n")+"\n")
}

// TestNewNamesTheVariable holds that an error names the variable that is wrong, and that there is none if nothing is
// exported.
func TestNewNamesTheVariable(t *testing.T) {
	clearOTEL(t)
	t.Setenv("OTEL_RESOURCE_ATTRIBUTES", "nonsense")
	r, err := New(t.Context(), Options{})
	if r.Exporting() || err != nil {
		t.Errorf("without an endpoint: exporting %t, %v", r.Exporting(), err)
	}
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://c:4318")
	r, err = New(t.Context(), Options{})
	if r.Exporting() || err == nil || !strings.Contains(err.Error(), "OTEL_RESOURCE_ATTRIBUTES") {
		t.Errorf("with an endpoint: exporting %t, %v", r.Exporting(), err)
	}
}

// TestHangingCollector holds that only Shutdown waits for a collector that does not answer, as long as its context
// allows.
func TestHangingCollector(t *testing.T) {
	asked := make(chan struct{}, 100)
	release := make(chan struct{})
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
	r, _ := newExporting(t, Options{}, hanging.URL, map[string]string{"OTEL_TRACES_EXPORTER": "none"})
	r.Set(fixedTarget())
	flushed := make(chan error)
	ctx, cancel := context.WithCancel(t.Context())
	go func() { flushed <- r.metrics.ForceFlush(ctx) }()
	<-asked // an export is running
	for range 100 {
		r.Record(succeeded5())
		r.Skipped("a", "cold", probe.SkipLate)
	}
	cancel()
	if err := <-flushed; !errors.Is(err, context.Canceled) {
		t.Errorf("flush: %v", err)
	}
	if err := r.Shutdown(ctx); err == nil {
		t.Error("shut down in order")
	}
}

// TestFailedExportsShowNoHeader holds that what is sent with each export is not reported, however a collector repeats
// it.
func TestFailedExportsShowNoHeader(t *testing.T) {
	for name, env := range map[string]map[string]string{
		"for all":           {"OTEL_EXPORTER_OTLP_HEADERS": "x-team=search,api-key=otlp%2Fplanted%3D1"},
		"a bearer":          {"OTEL_EXPORTER_OTLP_HEADERS": "authorization=Bearer%20otlp/planted=1"},
		"for metrics alone": {"OTEL_EXPORTER_OTLP_METRICS_HEADERS": "a=otlp/planted=1"},
		"for traces alone":  {"OTEL_EXPORTER_OTLP_TRACES_HEADERS": "a=otlp/planted=1"},
		"with none":         {},
	} {
		t.Run(name, func(t *testing.T) {
			echo := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.WriteHeader(http.StatusUnauthorized)
				fmt.Fprintf(w, "no %v %q \x1b[1mOTLP/plan\x1b[0mted=1 otlp%%2fplanted%%3d1", r.Header, "otlp/planted=1")
			}))
			defer echo.Close()
			r, reported := newExporting(t, Options{}, echo.URL, env)
			r.Set(fixedTarget())
			r.Record(succeeded5())
			shut := r.Shutdown(t.Context())
			errs := append(reported(), shut)
			if len(errs) < 3 {
				t.Errorf("%d errors, want one for each signal and at the end", len(errs))
			}
			for _, err := range errs {
				text := strings.ToLower(format.Clean(fmt.Sprint(err)))
				if strings.Contains(text, "planted") != (len(env) == 0) {
					t.Errorf("%v", err)
				}
			}
		})
	}
}

// TestFailedExports holds that a failure is counted and reported once for each signal, that Shutdown returns it, and
// that a redirect sends nothing, with its headers, elsewhere.
func TestFailedExports(t *testing.T) {
	elsewhere := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("the redirect was followed, with %v", r.Header)
	}))
	defer elsewhere.Close()
	redirecting := httptest.NewServer(http.RedirectHandler(elsewhere.URL, http.StatusTemporaryRedirect))
	defer redirecting.Close()
	rejecting := newCollector(t)
	rejecting.reject = "too many labels"
	noTraces := map[string]string{"OTEL_TRACES_EXPORTER": "none"}
	for name, test := range map[string]struct {
		endpoint string
		env      map[string]string
		failures int
		reason   string
	}{
		"a redirect":        {redirecting.URL, nil, 2, errRedirected.Error()},
		"a partial success": {rejecting.endpoint, noTraces, 1, "too many labels"},
	} {
		t.Run(name, func(t *testing.T) {
			r, reported := newExporting(t, Options{}, test.endpoint, test.env)
			r.Set(fixedTarget())
			r.Record(succeeded5())
			if err := r.Shutdown(t.Context()); err == nil || !strings.Contains(err.Error(), test.reason) {
				t.Errorf("shut down: %v", err)
			}
			errs := reported()
			for _, err := range errs {
				if !strings.Contains(err.Error(), test.reason) {
					t.Errorf("reported %v, want %s", err, test.reason)
				}
			}
			counted := scrapedSeries(gather(t, r))["llm_prober_export_failures_total"].Value
			if len(errs) != test.failures || counted != float64(test.failures) {
				t.Errorf("reported %v, counted %v; want %d", errs, counted, test.failures)
			}
		})
	}
}

// TestOTELVariables holds that the standard variables name the service and choose the temporality, and that errors of
// the SDK are reported rather than printed.
func TestOTELVariables(t *testing.T) {
	c := newCollector(t)
	r, reported := newExporting(t, Options{}, c.endpoint, map[string]string{
		"OTEL_SERVICE_NAME":                                 "mine",
		"OTEL_RESOURCE_ATTRIBUTES":                          "service.instance.id=pod-0,service.version=other",
		"OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE": "delta",
	})
	r.Set(fixedTarget())
	r.Record(succeeded5())
	for range 2 {
		if err := r.metrics.ForceFlush(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	otel.Handle(errors.New("of the SDK"))
	if got := reported(); len(got) != 1 || got[0].Error() != "of the SDK" {
		t.Errorf("reported %v", got)
	}
	if err := r.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	resource := attributesOf(c.metrics[0].Resource.Attributes)
	got := []string{resource["service.name"], resource["service.instance.id"], resource["service.version"]}
	if diff := cmp.Diff([]string{"mine", "pod-0", "other"}, got); diff != "" {
		t.Errorf("resource (-want +got):\n%s", diff)
	}
	var frames []float64
	for _, export := range c.metrics {
		all, _ := exportedSeries(t, export.ScopeMetrics[0].Metrics)
		v, ok := all[framesTotal+ofA]
		if ok {
			frames = append(frames, v.Value)
		}
	}
	if diff := cmp.Diff([]float64{4}, frames); diff != "" {
		t.Errorf("frames by export (-want +got):\n%s", diff)
	}
}
