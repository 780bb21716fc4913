package telemetry

import (
	"strings"
	"testing"
)

func TestProtocols(t *testing.T) {
	const (
		endpoint = "OTEL_EXPORTER_OTLP_ENDPOINT"
		metrics  = "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT"
		traces   = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"
		proto    = "OTEL_EXPORTER_OTLP_PROTOCOL"
	)
	type plan struct{ metrics, traces string }
	for _, test := range []struct {
		name string
		env  map[string]string
		want plan
		err  string // that the error must say; empty for none
	}{
		{"nothing is set", nil, plan{}, ""},
		{"the general endpoint", map[string]string{endpoint: "http://c:4318"}, plan{protocolHTTP, protocolHTTP}, ""},
		{"blanks around it", map[string]string{endpoint: " http://c:4318 "}, plan{protocolHTTP, protocolHTTP}, ""},
		{"metrics alone", map[string]string{metrics: "http://c:4318/v1/metrics"}, plan{metrics: protocolHTTP}, ""},
		{"traces alone", map[string]string{traces: "http://c:4318/v1/traces"}, plan{traces: protocolHTTP}, ""},
		{"gRPC", map[string]string{endpoint: "http://c:4317", proto: "grpc"}, plan{protocolGRPC, protocolGRPC}, ""},
		{"gRPC for traces alone", map[string]string{endpoint: "http://c:4317", "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL": "grpc"}, plan{protocolHTTP, protocolGRPC}, ""},
		{"a gRPC target that is no URL", map[string]string{endpoint: "c:4317", proto: "grpc"}, plan{protocolGRPC, protocolGRPC}, ""},
		{"a socket", map[string]string{endpoint: "unix:///run/otel.sock", proto: "grpc"}, plan{protocolGRPC, protocolGRPC}, ""},
		{"no metrics", map[string]string{endpoint: "http://c:4318", "OTEL_METRICS_EXPORTER": "none"}, plan{traces: protocolHTTP}, ""},
		{"no traces", map[string]string{endpoint: "http://c:4318", "OTEL_TRACES_EXPORTER": "none"}, plan{metrics: protocolHTTP}, ""},
		{"otlp by name", map[string]string{endpoint: "http://c:4318", "OTEL_METRICS_EXPORTER": "otlp"}, plan{protocolHTTP, protocolHTTP}, ""},
		{"the SDK is disabled", map[string]string{endpoint: "http://c:4318", proto: "nonsense", "OTEL_SDK_DISABLED": "TRUE"}, plan{}, ""},
		{"an unknown protocol", map[string]string{endpoint: "http://c:4318", proto: "http/json"}, plan{}, `OTEL_EXPORTER_OTLP_PROTOCOL="http/json"`},
		{"an unknown protocol of a signal", map[string]string{endpoint: "http://c", "OTEL_EXPORTER_OTLP_METRICS_PROTOCOL": "kafka"}, plan{}, `OTEL_EXPORTER_OTLP_METRICS_PROTOCOL="kafka"`},
		{"an unknown exporter", map[string]string{endpoint: "http://c:4318", "OTEL_METRICS_EXPORTER": "prometheus"}, plan{}, `OTEL_METRICS_EXPORTER="prometheus"`},
		{"HTTP without a scheme", map[string]string{endpoint: "c:4318"}, plan{}, `OTEL_EXPORTER_OTLP_ENDPOINT="c:4318"`},
		{"an address without a scheme", map[string]string{metrics: "10.0.0.1:4317", proto: "grpc"}, plan{}, `OTEL_EXPORTER_OTLP_METRICS_ENDPOINT="10.0.0.1:4317"`},
		{"a password", map[string]string{endpoint: "u:p@c:4318"}, plan{}, `OTEL_EXPORTER_OTLP_ENDPOINT="***"`},
		{"no host", map[string]string{endpoint: "http://"}, plan{}, `OTEL_EXPORTER_OTLP_ENDPOINT="http://"`},
	} {
		t.Run(test.name, func(t *testing.T) {
			withoutOTEL(t)
			for name, value := range test.env {
				t.Setenv(name, value)
			}
			var got plan
			var err error
			if got.metrics, err = protocolOf("METRICS"); err == nil {
				got.traces, err = protocolOf("TRACES")
			}
			if test.err == "" && err != nil {
				t.Fatal(err)
			}
			if test.err != "" && (err == nil || !strings.Contains(err.Error(), test.err) || !strings.Contains(err.Error(), "want ")) {
				t.Fatalf("error %v does not say %s", err, test.err)
			}
			if err == nil && got != test.want {
				t.Errorf("%+v, want %+v", got, test.want)
			}
		})
	}
}
