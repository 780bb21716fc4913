package telemetry

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"

	collectormetrics "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	metricspb "go.opentelemetry.io/proto/otlp/metrics/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// A collector receives OTLP on a loopback socket, by HTTP and by gRPC.
type collector struct {
	endpoint string
	reject   string // partial success to answer metrics with; empty for success

	mu      sync.Mutex
	metrics []*metricspb.ResourceMetrics
	traces  []*tracepb.ResourceSpans
}

func newCollector(t *testing.T) *collector {
	t.Helper()
	c := &collector{}
	server := httptest.NewUnstartedServer(c)
	server.Config.Protocols = new(http.Protocols)
	server.Config.Protocols.SetHTTP1(true)
	server.Config.Protocols.SetUnencryptedHTTP2(true)
	server.Start()
	t.Cleanup(server.Close)
	c.endpoint = server.URL
	return c
}

// ServeHTTP takes an export. What comes by HTTP/2 is gRPC: five bytes are before each message, a flag and its length.
func (c *collector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	isGRPC := r.ProtoMajor == 2
	contentType := "application/x-protobuf"
	if isGRPC {
		contentType = "application/grpc"
		body = body[5:]
		w.Header().Set(http.TrailerPrefix+"Grpc-Status", "0")
	}
	reply, wrong := c.receive(r.URL.Path, body)
	if errors.Join(err, wrong) != nil {
		http.Error(w, "not an export", http.StatusBadRequest)
		return
	}
	answer, _ := proto.Marshal(reply)
	if isGRPC {
		answer = append(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(answer))), answer...)
	}
	w.Header().Set("Content-Type", contentType)
	_, _ = w.Write(answer)
}

// receive keeps what came to a path of either protocol, and returns the answer.
func (c *collector) receive(path string, body []byte) (proto.Message, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch path {
	case "/v1/metrics", "/opentelemetry.proto.collector.metrics.v1.MetricsService/Export":
		var request metricspb.MetricsData // on the wire it is the same as a request
		err := proto.Unmarshal(body, &request)
		c.metrics = append(c.metrics, request.ResourceMetrics...)
		reply := &collectormetrics.ExportMetricsServiceResponse{}
		if c.reject != "" {
			reply.PartialSuccess = &collectormetrics.ExportMetricsPartialSuccess{
				RejectedDataPoints: 1, ErrorMessage: c.reject,
			}
		}
		return reply, err
	case "/v1/traces", "/opentelemetry.proto.collector.trace.v1.TraceService/Export":
		var request tracepb.TracesData
		err := proto.Unmarshal(body, &request)
		c.traces = append(c.traces, request.ResourceSpans...)
		return &tracepb.TracesData{}, err // empty, as the answer is
	}
	return nil, errors.New("unknown path")
}

// clearOTEL empties the OTEL_* variables of the process.
func clearOTEL(t *testing.T) {
	t.Helper()
	for _, variable := range os.Environ() {
		name, _, _ := strings.Cut(variable, "=")
		if strings.HasPrefix(name, "OTEL_") {
			t.Setenv(name, "")
		}
	}
}

// newExporting returns a recorder that exports to an endpoint, and the errors that it has reported so far. Of the
// options, only labels and vantage matter.
func newExporting(t *testing.T, o Options, endpoint string, env map[string]string) (*Recorder, func() []error) {
	t.Helper()
	clearOTEL(t)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint)
	for name, value := range env {
		t.Setenv(name, value)
	}
	var mu sync.Mutex
	var errs []error
	o.Build = Build{Version: "v1.2.3"}
	o.GenAI = true
	o.ExternalURL = "http://p/page"
	o.OnError = func(err error) {
		mu.Lock()
		defer mu.Unlock()
		errs = append(errs, err)
	}
	r, err := New(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	reported := func() []error {
		mu.Lock()
		defer mu.Unlock()
		return errs
	}
	return r, reported
}

// onlyMetrics returns the metrics of the only export that came.
func (c *collector) onlyMetrics(t *testing.T) []*metricspb.Metric {
	t.Helper()
	if len(c.metrics) != 1 || len(c.metrics[0].ScopeMetrics) != 1 {
		t.Fatalf("%d exports of metrics, want one with one scope", len(c.metrics))
	}
	return c.metrics[0].ScopeMetrics[0].Metrics
}

// attributesOf returns attributes as texts.
func attributesOf(attributes []*commonpb.KeyValue) map[string]string {
	all := map[string]string{}
	for _, kv := range attributes {
		all[kv.Key] = textOf(kv.Value)
	}
	return all
}

// textOf returns the value of an attribute as text, of a list its first one.
func textOf(v *commonpb.AnyValue) string {
	switch v := v.Value.(type) {
	case *commonpb.AnyValue_ArrayValue:
		return textOf(v.ArrayValue.Values[0])
	case *commonpb.AnyValue_BoolValue:
		return fmt.Sprint(v.BoolValue)
	case *commonpb.AnyValue_IntValue:
		return fmt.Sprint(v.IntValue)
	case *commonpb.AnyValue_DoubleValue:
		return fmt.Sprint(v.DoubleValue)
	}
	return v.GetStringValue()
}
