package telemetry

import (
	"encoding/binary"
	"errors"
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

// ServeHTTP takes an export. By gRPC, which alone is HTTP/2 here, each message is framed by five bytes.
func (c *collector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	byGRPC, kind := r.ProtoMajor == 2, "application/x-protobuf"
	if byGRPC {
		body, kind = body[5:], "application/grpc"
		w.Header().Set(http.TrailerPrefix+"Grpc-Status", "0")
	}
	reply, wrong := c.take(r.URL.Path, body)
	if errors.Join(err, wrong) != nil {
		http.Error(w, "no", http.StatusBadRequest)
		return
	}
	out, _ := proto.Marshal(reply)
	if byGRPC {
		out = append(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(out))), out...)
	}
	w.Header().Set("Content-Type", kind)
	_, _ = w.Write(out)
}

// take keeps what came to a path of either protocol, and returns the answer.
func (c *collector) take(path string, body []byte) (proto.Message, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch path {
	case "/v1/metrics", "/opentelemetry.proto.collector.metrics.v1.MetricsService/Export":
		var request metricspb.MetricsData // on the wire as a request
		reply, err := &collectormetrics.ExportMetricsServiceResponse{}, proto.Unmarshal(body, &request)
		c.metrics = append(c.metrics, request.ResourceMetrics...)
		if c.reject != "" {
			reply.PartialSuccess = &collectormetrics.ExportMetricsPartialSuccess{RejectedDataPoints: 1, ErrorMessage: c.reject}
		}
		return reply, err
	case "/v1/traces", "/opentelemetry.proto.collector.trace.v1.TraceService/Export":
		var request tracepb.TracesData
		err := proto.Unmarshal(body, &request)
		c.traces = append(c.traces, request.ResourceSpans...)
		return &tracepb.TracesData{}, err // empty, as the answer is
	}
	return nil, errors.New("another path")
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
			all[key(name(Histogram), pairs(p.Attributes))] = exponential(p)
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
