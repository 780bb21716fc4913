package telemetry

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"reflect"
	"strings"
	"sync"
	"testing"

	collectormetrics "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	collectortrace "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	metricspb "go.opentelemetry.io/proto/otlp/metrics/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
)

// A collector receives OTLP on a loopback socket.
type collector struct {
	collectormetrics.UnimplementedMetricsServiceServer
	endpoint string
	reject   string // partial success to answer metrics with; empty for success

	mu      sync.Mutex
	metrics []*metricspb.ResourceMetrics
	traces  []*tracepb.ResourceSpans
}

// Export takes metrics by gRPC.
func (c *collector) Export(_ context.Context, r *collectormetrics.ExportMetricsServiceRequest) (*collectormetrics.ExportMetricsServiceResponse, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.metrics = append(c.metrics, r.ResourceMetrics...)
	if c.reject == "" {
		return &collectormetrics.ExportMetricsServiceResponse{}, nil
	}
	return &collectormetrics.ExportMetricsServiceResponse{PartialSuccess: &collectormetrics.ExportMetricsPartialSuccess{
		RejectedDataPoints: 1, ErrorMessage: c.reject,
	}}, nil
}

// A traceCollector is the part of a collector that takes traces by gRPC.
type traceCollector struct {
	collectortrace.UnimplementedTraceServiceServer
	to *collector
}

func (c traceCollector) Export(_ context.Context, r *collectortrace.ExportTraceServiceRequest) (*collectortrace.ExportTraceServiceResponse, error) {
	c.to.mu.Lock()
	defer c.to.mu.Unlock()
	c.to.traces = append(c.to.traces, r.ResourceSpans...)
	return &collectortrace.ExportTraceServiceResponse{}, nil
}

// newCollector serves both protocols.
func newCollector(t *testing.T) *collector {
	t.Helper()
	c, byGRPC := &collector{}, grpc.NewServer()
	collectormetrics.RegisterMetricsServiceServer(byGRPC, c)
	collectortrace.RegisterTraceServiceServer(byGRPC, traceCollector{to: c})
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ProtoMajor == 2 {
			byGRPC.ServeHTTP(w, r)
		} else {
			c.ServeHTTP(w, r)
		}
	}))
	server.Config.Protocols = new(http.Protocols)
	server.Config.Protocols.SetHTTP1(true)
	server.Config.Protocols.SetUnencryptedHTTP2(true)
	server.Start()
	t.Cleanup(server.Close)
	c.endpoint = server.URL
	return c
}

// ServeHTTP takes metrics and traces by HTTP.
func (c *collector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	var reply proto.Message
	switch {
	case err != nil:
	case r.URL.Path == "/v1/metrics":
		var request collectormetrics.ExportMetricsServiceRequest
		if err = proto.Unmarshal(body, &request); err == nil {
			reply, err = c.Export(r.Context(), &request)
		}
	case r.URL.Path == "/v1/traces":
		var request collectortrace.ExportTraceServiceRequest
		if err = proto.Unmarshal(body, &request); err == nil {
			reply, err = traceCollector{to: c}.Export(r.Context(), &request)
		}
	}
	if err != nil || reply == nil {
		http.Error(w, "no", http.StatusBadRequest)
		return
	}
	out, _ := proto.Marshal(reply)
	w.Header().Set("Content-Type", "application/x-protobuf")
	_, _ = w.Write(out)
}

// withoutOTEL empties the OTEL_* variables of the process.
func withoutOTEL(t *testing.T) {
	t.Helper()
	for _, variable := range os.Environ() {
		if name, _, _ := strings.Cut(variable, "="); strings.HasPrefix(name, "OTEL_") {
			t.Setenv(name, "")
		}
	}
}

// newOTLPTo is a recorder that sends to an endpoint, and the errors that it reported.
func newOTLPTo(t *testing.T, endpoint string, env map[string]string) (*Recorder, func() []error) {
	t.Helper()
	withoutOTEL(t)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint)
	for name, value := range env {
		t.Setenv(name, value)
	}
	var mu sync.Mutex
	var errs []error
	o, err := New(t.Context(), Options{
		Build: Build{Version: "v1.2.3"}, GenAI: true,
		OnError: func(err error) {
			mu.Lock()
			defer mu.Unlock()
			errs = append(errs, err)
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return o, func() []error {
		mu.Lock()
		defer mu.Unlock()
		return errs
	}
}

// metricsOf are the metrics of the only export that came.
func metricsOf(t *testing.T, c *collector) []*metricspb.Metric {
	t.Helper()
	if len(c.metrics) != 1 || len(c.metrics[0].ScopeMetrics) != 1 {
		t.Fatalf("%d exports of metrics, want one with one scope", len(c.metrics))
	}
	return c.metrics[0].ScopeMetrics[0].Metrics
}

// received are all series that came by OTLP, as [scraped] has them but for those of
// the GenAI conventions, and the number of exemplars.
func received(t *testing.T, metrics []*metricspb.Metric) (all map[string]values, exemplars int) {
	t.Helper()
	all = map[string]values{}
	for _, m := range metrics {
		if strings.HasPrefix(m.Name, "gen_ai.") {
			continue
		}
		name := func(k Kind) string { return Instrument{Name: m.Name, Unit: m.Unit, Kind: k}.PrometheusName() }
		for _, p := range m.GetSum().GetDataPoints() {
			all[key(name(Counter), pairs(p.Attributes))] = values{Value: float64(p.GetAsInt())}
		}
		for _, p := range m.GetGauge().GetDataPoints() {
			all[key(name(Gauge), pairs(p.Attributes))] = values{Value: p.GetAsDouble()}
		}
		for _, p := range m.GetExponentialHistogram().GetDataPoints() {
			all[key(name(Histogram), pairs(p.Attributes))] = exponential(
				p.Count, p.ZeroCount, p.Scale, p.Positive.GetOffset(), p.Positive.GetBucketCounts())
			for _, e := range p.Exemplars {
				if len(e.TraceId) != 16 || len(e.SpanId) != 8 {
					t.Errorf("%s: exemplar of trace %x, span %x", m.Name, e.TraceId, e.SpanId)
				}
				exemplars++
			}
		}
	}
	return all, exemplars
}

// pairs are attributes as text.
func pairs(attributes []*commonpb.KeyValue) map[string]string {
	all := map[string]string{}
	for _, kv := range attributes {
		all[kv.Key] = text(kv.Value)
	}
	return all
}

// text is a value as text, the first one of a list.
func text(v *commonpb.AnyValue) string {
	if list := v.GetArrayValue().GetValues(); len(list) > 0 {
		return text(list[0])
	}
	return fmt.Sprint(reflect.ValueOf(v.Value).Elem().Field(0))
}
