package telemetry

import (
	"cmp"
	"strings"
	"testing"
)

func TestProtocols(t *testing.T) {
	const (
		endpoint     = "OTEL_EXPORTER_OTLP_ENDPOINT"
		metrics      = "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT"
		traces       = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"
		proto        = "OTEL_EXPORTER_OTLP_PROTOCOL"
		metricsProto = "OTEL_EXPORTER_OTLP_METRICS_PROTOCOL"
		tracesProto  = "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL"
	)
	const both, off = protocolHTTP + " " + protocolHTTP, " "
	for _, test := range []struct {
		name string
		env  map[string]string
		want string // the protocols of metrics and of traces, or how the error begins
	}{
		{"nothing is set", nil, off},
		{"the general endpoint", map[string]string{endpoint: "http://c:4318"}, both},
		{"blanks around it", map[string]string{endpoint: " http://c:4318 "}, both},
		{"metrics alone", map[string]string{metrics: "http://c:4318/v1/metrics"}, protocolHTTP + " "},
		{"traces alone", map[string]string{traces: "http://c:4318/v1/traces"}, " " + protocolHTTP},
		{"gRPC", map[string]string{endpoint: "http://c:4317", proto: "grpc"}, "grpc grpc"},
		{"gRPC for traces alone", map[string]string{endpoint: "http://c:4317", tracesProto: "grpc"}, protocolHTTP + " grpc"},
		{"a gRPC target that is no URL", map[string]string{endpoint: "c:4317", proto: "grpc"}, "grpc grpc"},
		{"a socket", map[string]string{endpoint: "unix:///run/otel.sock", proto: "grpc"}, "grpc grpc"},
		{"no metrics", map[string]string{endpoint: "http://c:4318", "OTEL_METRICS_EXPORTER": "none"}, " " + protocolHTTP},
		{"no traces", map[string]string{endpoint: "http://c:4318", "OTEL_TRACES_EXPORTER": "none"}, protocolHTTP + " "},
		{"otlp by name", map[string]string{endpoint: "http://c:4318", "OTEL_METRICS_EXPORTER": "otlp"}, both},
		{"the SDK is disabled", map[string]string{
			endpoint: "http://c:4318", proto: "nonsense", "OTEL_SDK_DISABLED": "TRUE",
		}, off},
		{"an unknown protocol", map[string]string{endpoint: "http://c:4318", proto: "http/json"}, proto + `="http/json"`},
		{"an unknown protocol of a signal", map[string]string{endpoint: "http://c", metricsProto: "kafka"},
			metricsProto + `="kafka"`},
		{"an unknown exporter", map[string]string{endpoint: "http://c:4318", "OTEL_METRICS_EXPORTER": "prometheus"},
			`OTEL_METRICS_EXPORTER="prometheus"`},
		{"HTTP without a scheme", map[string]string{endpoint: "c:4318"}, `OTEL_EXPORTER_OTLP_ENDPOINT="c:4318"`},
		{"an address without a scheme", map[string]string{metrics: "10.0.0.1:4317", proto: "grpc"},
			metrics + `="10.0.0.1:4317"`},
		{"a password", map[string]string{endpoint: "u:p@c:4318"}, `OTEL_EXPORTER_OTLP_ENDPOINT="***"`},
		{"no host", map[string]string{endpoint: "http://"}, `OTEL_EXPORTER_OTLP_ENDPOINT="http://"`},
	} {
		t.Run(test.name, func(t *testing.T) {
			withoutOTEL(t)
			for name, value := range test.env {
				t.Setenv(name, value)
			}
			metricsBy, err := protocolOf("METRICS")
			tracesBy, wrong := protocolOf("TRACES")
			got := metricsBy + " " + tracesBy
			err = cmp.Or(err, wrong)
			if err != nil {
				got = err.Error()
			}
			explained := err != nil && strings.HasPrefix(got, test.want+": ") && strings.Contains(got, "want ")
			if got != test.want && !explained {
				t.Errorf("%s, want %s", got, test.want)
			}
		})
	}
}
