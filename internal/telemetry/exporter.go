package telemetry

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"

	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetricgrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// newExporters returns the exporters that the OTEL_* variables ask for; nil for a signal that is off.
func newExporters(ctx context.Context) (metrics sdkmetric.Exporter, traces sdktrace.SpanExporter, err error) {
	metricsBy, wrong := protocolOf("METRICS")
	tracesBy, err := protocolOf("TRACES")
	if err := cmp.Or(wrong, err); err != nil {
		return nil, nil, err
	}
	switch metricsBy {
	case protocolHTTP:
		metrics, err = otlpmetrichttp.New(ctx, otlpmetrichttp.WithProxy(noRedirect))
	case protocolGRPC:
		metrics, err = otlpmetricgrpc.New(ctx)
	}
	switch tracesBy {
	case protocolHTTP:
		traces, wrong = otlptracehttp.New(ctx, otlptracehttp.WithProxy(noRedirect))
	case protocolGRPC:
		traces, wrong = otlptracegrpc.New(ctx)
	}
	if err := errors.Join(err, wrong); err != nil {
		return nil, nil, fmt.Errorf("make OTLP exporters: %w", err)
	}
	return metrics, traces, nil
}

var errRedirected = errors.New("the collector redirects: configure its final URL")

// noRedirect is the proxy of the environment, and an error for a redirect: the exporters would follow one anywhere,
// with the secret headers of OTEL_EXPORTER_OTLP_HEADERS, and have no option against it.
func noRedirect(r *http.Request) (*url.URL, error) {
	if r.Response != nil {
		return nil, errRedirected
	}
	return http.ProxyFromEnvironment(r)
}

const protocolHTTP, protocolGRPC = "http/protobuf", "grpc"

// protocolOf is the protocol by which to export a signal, METRICS or TRACES; empty if it is off. It reads the variables
// that decide this; the SDK and its exporters read all others. The SDK has no way to export only if an endpoint is
// configured, and replaces what it does not understand by a default.
func protocolOf(signal string) (string, error) {
	if _, disabled := firstSet("OTEL_SDK_DISABLED"); strings.EqualFold(disabled, "true") {
		return "", nil
	}
	switch name, exporter := firstSet("OTEL_" + signal + "_EXPORTER"); exporter {
	case "", "otlp":
	case "none":
		return "", nil
	default:
		return "", fmt.Errorf("%s=%q: unknown exporter; want otlp or none", name, exporter)
	}
	variable, endpoint := firstSet("OTEL_EXPORTER_OTLP_"+signal+"_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
	if endpoint == "" {
		return "", nil
	}
	name, protocol := firstSet("OTEL_EXPORTER_OTLP_"+signal+"_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")
	switch protocol = cmp.Or(protocol, protocolHTTP); protocol {
	case protocolHTTP, protocolGRPC:
		return protocol, checkEndpoint(variable, endpoint, protocol)
	}
	return "", fmt.Errorf("%s=%q: unknown protocol; want grpc or http/protobuf", name, protocol)
}

// firstSet is the first of several variables with a value: empty is unset, as the OpenTelemetry specification says.
func firstSet(names ...string) (name, value string) {
	for _, name := range names {
		if value := strings.TrimSpace(os.Getenv(name)); value != "" {
			return name, value
		}
	}
	return "", ""
}

// checkEndpoint refuses what the exporters would silently replace by localhost.
func checkEndpoint(variable, endpoint, protocol string) error {
	u, err := url.Parse(endpoint)
	web := err == nil && (u.Scheme == "http" || u.Scheme == "https")
	grpcTarget := err == nil && !web && protocol == protocolGRPC // host:port, dns:///host, unix:///path
	if web && u.Host != "" || grpcTarget {
		return nil
	}
	if strings.Contains(endpoint, "@") {
		endpoint = "***" // a password may be before it
	}
	port := 4318
	if protocol == protocolGRPC {
		port = 4317
	}
	return fmt.Errorf("%s=%q: not an endpoint; want a URL such as http://collector:%d", variable, endpoint, port)
}
