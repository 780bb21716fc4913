package telemetry

import (
	"cmp"
	"strings"
	"testing"
)

// TestProtocols holds by which protocol metrics and traces are exported. Variables are without OTEL_EXPORTER_OTLP_
// unless they begin with OTEL_.
func TestProtocols(t *testing.T) {
	const (
		off        = "off, off"
		both       = "http/protobuf, http/protobuf"
		bothByGRPC = "grpc, grpc"
	)
	for name, test := range map[string]struct {
		env  string // variables with a semicolon between
		want string // the protocol of metrics and that of traces, or how the error begins
	}{
		"nothing is set":           {"", off},
		"one endpoint for both":    {"ENDPOINT=http://c:4318", both},
		"blanks around it":         {"ENDPOINT= http://c:4318 ", both},
		"an endpoint for metrics":  {"METRICS_ENDPOINT=http://c:4318/v1/metrics", "http/protobuf, off"},
		"gRPC":                     {"ENDPOINT=http://c:4317;PROTOCOL=grpc", bothByGRPC},
		"gRPC for traces":          {"ENDPOINT=http://c:4317;TRACES_PROTOCOL=grpc", "http/protobuf, grpc"},
		"a gRPC target, not a URL": {"ENDPOINT=c:4317;PROTOCOL=grpc", bothByGRPC},
		"traces are off":           {"ENDPOINT=http://c:4318;OTEL_TRACES_EXPORTER=none", "http/protobuf, off"},
		"the exporter by its name": {"ENDPOINT=http://c:4318;OTEL_METRICS_EXPORTER=otlp", both},
		"the SDK is disabled":      {"ENDPOINT=http://c:4318;PROTOCOL=nonsense;OTEL_SDK_DISABLED=TRUE", off},
		"an unknown protocol":      {"ENDPOINT=http://c:4318;PROTOCOL=http/json", `PROTOCOL="http/json"`},
		"the wrong one of two":     {"ENDPOINT=http://c;METRICS_PROTOCOL=kafka;PROTOCOL=grpc", `METRICS_PROTOCOL="kafka"`},
		"an unknown exporter":      {"ENDPOINT=http://c;OTEL_METRICS_EXPORTER=p", `OTEL_METRICS_EXPORTER="p"`},
		"HTTP without a scheme": {"ENDPOINT=c:4318",
			`ENDPOINT="c:4318": not an endpoint; want a URL such as http://collector:4318`},
		"an address without scheme": {"METRICS_ENDPOINT=10.0.0.1:4317;PROTOCOL=grpc",
			`METRICS_ENDPOINT="10.0.0.1:4317": not an endpoint; want a URL such as http://collector:4317`},
		"a password is not repeated": {"ENDPOINT=u:p@c:4318", `ENDPOINT="***"`},
		"no host":                    {"ENDPOINT=http://", `ENDPOINT="http://"`},
	} {
		t.Run(name, func(t *testing.T) {
			clearOTEL(t)
			for variable := range strings.SplitSeq(test.env, ";") {
				name, value, _ := strings.Cut(variable, "=")
				if !strings.HasPrefix(name, "OTEL_") {
					name = "OTEL_EXPORTER_OTLP_" + name
				}
				t.Setenv(name, value)
			}
			metrics, metricsErr := protocolOf("METRICS")
			traces, tracesErr := protocolOf("TRACES")
			err := cmp.Or(metricsErr, tracesErr)
			if err == nil {
				got := cmp.Or(metrics, "off") + ", " + cmp.Or(traces, "off")
				if got != test.want {
					t.Errorf("%s, want %s", got, test.want)
				}
				return
			}
			got := strings.TrimPrefix(err.Error(), "OTEL_EXPORTER_OTLP_")
			if !strings.HasPrefix(got, test.want) || !strings.Contains(got, "want ") {
				t.Errorf("%s, want %s: … want …", got, test.want)
			}
		})
	}
}

// TestAConfigurationFileIsAWarning holds that a file of OpenTelemetry's declarative configuration, which other SDKs
// read instead of all variables, is not ignored without a word.
func TestAConfigurationFileIsAWarning(t *testing.T) {
	clearOTEL(t)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://c:4318")
	if got := EnvironmentWarnings(); got != nil {
		t.Errorf("without a file: %q", got)
	}
	for _, name := range []string{"OTEL_EXPERIMENTAL_CONFIG_FILE", "OTEL_CONFIG_FILE"} {
		t.Setenv(name, "/etc/otel.yaml")
		got := EnvironmentWarnings()
		if len(got) != 1 || !strings.HasPrefix(got[0], name+" has no effect") {
			t.Errorf("%s: %q", name, got)
		}
	}
}
