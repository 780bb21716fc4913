package telemetry

import (
	"context"
	"encoding/hex"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
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

func newGRPCCollector(t *testing.T) *collector {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := &collector{endpoint: "http://" + listener.Addr().String()}
	server := grpc.NewServer()
	collectormetrics.RegisterMetricsServiceServer(server, c)
	collectortrace.RegisterTraceServiceServer(server, traceCollector{to: c})
	served := make(chan error)
	go func() { served <- server.Serve(listener) }()
	t.Cleanup(func() {
		server.Stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	return c
}

func newHTTPCollector(t *testing.T) *collector {
	t.Helper()
	c := &collector{}
	server := httptest.NewServer(c)
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

// received are all series that came by OTLP, as [read] has them, and exemplars
// whose trace id is 16 bytes.
func received(t *testing.T, all []*metricspb.ResourceMetrics) (map[string]values, int) {
	t.Helper()
	found, exemplars := map[string]values{}, 0
	for _, resource := range all {
		for _, scope := range resource.ScopeMetrics {
			for _, m := range scope.Metrics {
				if strings.HasPrefix(m.Name, "gen_ai.") {
					continue
				}
				name := func(k Kind) string { return Instrument{Name: m.Name, Unit: m.Unit, Kind: k}.PrometheusName() }
				for _, p := range m.GetSum().GetDataPoints() {
					found[key(name(Counter), pairs(p.Attributes))] = values{Value: float64(p.GetAsInt())}
				}
				for _, p := range m.GetGauge().GetDataPoints() {
					found[key(name(Gauge), pairs(p.Attributes))] = values{Value: p.GetAsDouble()}
				}
				for _, p := range m.GetExponentialHistogram().GetDataPoints() {
					found[key(name(Histogram), pairs(p.Attributes))] = exponential(
						p.Count, p.ZeroCount, p.Scale, p.Positive.GetOffset(), p.Positive.GetBucketCounts())
					for _, e := range p.Exemplars {
						if len(e.TraceId) != 16 || len(e.SpanId) != 8 {
							t.Errorf("%s: exemplar of trace %s, span %s", m.Name, hex.EncodeToString(e.TraceId), hex.EncodeToString(e.SpanId))
						}
						exemplars++
					}
				}
			}
		}
	}
	return found, exemplars
}

func pairs(attributes []*commonpb.KeyValue) map[string]string {
	all := map[string]string{}
	for _, kv := range attributes {
		all[kv.Key] = kv.Value.GetStringValue()
	}
	return all
}
