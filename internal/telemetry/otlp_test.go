package telemetry

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	dto "github.com/prometheus/client_model/go"
	"go.opentelemetry.io/otel"
	metricspb "go.opentelemetry.io/proto/otlp/metrics/v1"
	"google.golang.org/protobuf/encoding/protodelim"

	"github.com/llm-prober/prober/internal/probe"
)

// protobufScrape is /metrics as a Prometheus with native histograms scrapes it.
func protobufScrape(t *testing.T, p *Recorder) []*dto.MetricFamily {
	t.Helper()
	body := scrape(t, p, "application/vnd.google.protobuf; proto=io.prometheus.client.MetricFamily; encoding=delimited").Body
	var all []*dto.MetricFamily
	for {
		var family dto.MetricFamily
		err := protodelim.UnmarshalFrom(body, &family)
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(family.GetName(), "llm_probe") {
			all = append(all, &family)
		}
	}
}

// exportFailures is the metric.
func exportFailures(t *testing.T, of *Recorder) float64 {
	t.Helper()
	return scraped(gather(t, of))["llm_prober_export_failures_total"].Value
}

// TestOTLPEqualsScrape: a collector receives the series that a Prometheus scrapes,
// with the same values in every bucket.
func TestOTLPEqualsScrape(t *testing.T) {
	for _, protocol := range []string{protocolHTTP, protocolGRPC} {
		t.Run(protocol, func(t *testing.T) {
			c := newCollector(t)
			o, errs := newOTLPTo(t, c.endpoint, map[string]string{"OTEL_EXPORTER_OTLP_PROTOCOL": protocol})
			for _, target := range randomTargets() {
				o.Set(target)
			}
			o.Reloaded(day(), true)
			o.Skipped("a", probe.SkipLate)
			for _, r := range random(1000) {
				o.Record(r)
			}
			if err := o.Shutdown(t.Context()); err != nil {
				t.Fatal(err)
			}
			got, exemplars := received(t, metricsOf(t, c))
			onMetrics := scraped(protobufScrape(t, o))
			if diff := cmp.Diff(onMetrics, got); diff != "" {
				t.Errorf("series (-/metrics +OTLP):\n%s", diff)
			}
			everythingHappened(t, onMetrics)
			if exemplars == 0 {
				t.Error("no exemplars")
			}
			if got := errs(); len(got) != 0 || exportFailures(t, o) != 0 {
				t.Errorf("told %v, %v failures", got, exportFailures(t, o))
			}
		})
	}
}

// everythingHappened holds that the results fill the buckets, and lead to what is
// rare.
func everythingHappened(t *testing.T, all map[string]values) {
	t.Helper()
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

// TestOTLPForm: names, units, temporality, scale and resource.
func TestOTLPForm(t *testing.T) {
	c := newCollector(t)
	o, _ := newOTLPTo(t, c.endpoint, map[string]string{
		"OTEL_EXPORTER_OTLP_PROTOCOL": "grpc", "OTEL_RESOURCE_ATTRIBUTES": "deployment.environment.name=test",
	})
	fill(o)
	if err := o.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	type form struct {
		Unit, Kind string
		Cumulative bool
		Scale      int32
	}
	got := map[string]form{}
	for _, m := range metricsOf(t, c) {
		f := form{Unit: m.Unit}
		switch d := m.Data.(type) {
		case *metricspb.Metric_ExponentialHistogram:
			f.Kind, f.Scale = "exponential", d.ExponentialHistogram.DataPoints[0].Scale
			f.Cumulative = d.ExponentialHistogram.AggregationTemporality == metricspb.AggregationTemporality_AGGREGATION_TEMPORALITY_CUMULATIVE
		case *metricspb.Metric_Histogram:
			f.Kind = "explicit"
			f.Cumulative = d.Histogram.AggregationTemporality == metricspb.AggregationTemporality_AGGREGATION_TEMPORALITY_CUMULATIVE
		case *metricspb.Metric_Sum:
			f.Kind = map[bool]string{true: "monotonic sum", false: "sum"}[d.Sum.IsMonotonic]
			f.Cumulative = d.Sum.AggregationTemporality == metricspb.AggregationTemporality_AGGREGATION_TEMPORALITY_CUMULATIVE
		case *metricspb.Metric_Gauge:
			f.Kind = "gauge"
		}
		got[m.Name] = f
	}
	want := map[string]form{}
	for _, i := range Catalog() {
		switch {
		case i.Kind == Histogram && i.Scope == ScopeGenAI:
			want[i.Name] = form{i.Unit, "explicit", true, 0}
		case i.Kind == Histogram:
			want[i.Name] = form{i.Unit, "exponential", true, 4}
		case i.Kind == Counter:
			want[i.Name] = form{i.Unit, "monotonic sum", true, 0}
		default:
			want[i.Name] = form{i.Unit, "gauge", false, 0}
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("metrics (-want +got):\n%s", diff)
	}
	about := pairs(c.metrics[0].Resource.Attributes)
	if host, _, ok := strings.Cut(about["service.instance.id"], "-"); !ok || host == "" {
		t.Errorf("service.instance.id: %q", about["service.instance.id"])
	}
	delete(about, "service.instance.id")
	delete(about, "telemetry.sdk.version")
	wantAbout := map[string]string{
		"service.name": "prober", "service.version": "v1.2.3", "deployment.environment.name": "test",
		"telemetry.sdk.name": "opentelemetry", "telemetry.sdk.language": "go",
	}
	if diff := cmp.Diff(wantAbout, about); diff != "" {
		t.Errorf("resource (-want +got):\n%s", diff)
	}
}

func TestGenAI(t *testing.T) {
	c := newCollector(t)
	o, _ := newOTLPTo(t, c.endpoint, nil)
	fill(o)
	if err := o.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	got := map[string]uint64{}
	for _, m := range metricsOf(t, c) {
		for _, p := range m.GetHistogram().GetDataPoints() {
			got[key(m.Name, pairs(p.Attributes))] = p.Count
		}
	}
	const base = ",gen_ai.operation.name=chat,gen_ai.provider.name=openai,gen_ai.request.model=llama"
	const tail = ",server.address=llm.example,server.port=8443,user_agent.synthetic.type=test"
	want := map[string]uint64{
		"gen_ai.client.operation.duration" + base + tail:                        1,
		"gen_ai.client.operation.duration,error.type=stalled" + base + tail:     1,
		"gen_ai.client.operation.duration,error.type=connect" + base + tail:     1,
		"gen_ai.client.operation.time_to_first_chunk" + base + tail:             1,
		"gen_ai.client.operation.time_per_output_chunk" + base + tail:           3,
		"gen_ai.client.token.usage" + base + ",gen_ai.token.type=input" + tail:  2,
		"gen_ai.client.token.usage" + base + ",gen_ai.token.type=output" + tail: 1,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("series (-want +got):\n%s", diff)
	}
}

// TestNewNamesTheVariable that is wrong, if there is something to export.
func TestNewNamesTheVariable(t *testing.T) {
	withoutOTEL(t)
	t.Setenv("OTEL_RESOURCE_ATTRIBUTES", "nonsense")
	if o, err := New(t.Context(), Options{}); o.Exporting() || err != nil {
		t.Errorf("without an endpoint: exporting %t, %v", o.Exporting(), err)
	}
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://c:4318")
	if o, err := New(t.Context(), Options{}); err == nil || o.Exporting() || !strings.Contains(err.Error(), "OTEL_RESOURCE_ATTRIBUTES") {
		t.Errorf("a resource that is none: %v", err)
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
		"a redirect":                {redirecting.URL, errRedirected.Error(), 2, map[string]string{"OTEL_EXPORTER_OTLP_HEADERS": "x-api-key=secret"}},
		"a refusal":                 {forbidding.URL, "no such tenant", 2, nil},
		"partial success by HTTP":   {c.endpoint, c.reject, 1, map[string]string{"OTEL_TRACES_EXPORTER": "none"}},
		"partial success, and gRPC": {c.endpoint, c.reject, 1, map[string]string{"OTEL_TRACES_EXPORTER": "none", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}},
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
	for name, want := range map[string]string{"service.name": "mine", "service.instance.id": "pod-0", "service.version": "other"} {
		if about[name] != want {
			t.Errorf("%s=%q, want %q", name, about[name], want)
		}
	}
	frames := []int64{}
	for _, export := range c.metrics {
		for _, m := range export.ScopeMetrics[0].Metrics {
			for _, p := range m.GetSum().GetDataPoints() {
				if m.Name == "llm.probe.frames" {
					frames = append(frames, p.GetAsInt())
				}
			}
		}
	}
	if diff := cmp.Diff([]int64{6}, frames); diff != "" {
		t.Errorf("frames by export (-want +got):\n%s", diff)
	}
}

func TestGenAIOff(t *testing.T) {
	back := newMeters("")
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
