package telemetry

import (
	"cmp"
	"context"
	"crypto/rand"
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
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"

	"github.com/llm-prober/prober/internal/format"
)

// EnvironmentWarnings returns what is set in the OTEL_* variables and probably has not the effect that is meant: a
// sentence each, without secrets.
func EnvironmentWarnings() []string {
	name, _ := firstSet("OTEL_CONFIG_FILE", "OTEL_EXPERIMENTAL_CONFIG_FILE")
	if name == "" {
		return nil
	}
	return []string{name + " has no effect: OpenTelemetry's Go SDK does not read such a file; " +
		"set OTEL_EXPORTER_OTLP_ENDPOINT and the other OTEL_* variables instead"}
}

// newExporters returns the exporters that the OTEL_* variables ask for; nil for a signal that is off.
func newExporters(ctx context.Context) (metrics sdkmetric.Exporter, traces sdktrace.SpanExporter, err error) {
	metricsProtocol, metricsErr := protocolOf("METRICS")
	tracesProtocol, tracesErr := protocolOf("TRACES")
	err = cmp.Or(metricsErr, tracesErr)
	if err != nil {
		return nil, nil, err
	}
	switch metricsProtocol {
	case protocolHTTP:
		metrics, metricsErr = otlpmetrichttp.New(ctx, otlpmetrichttp.WithProxy(noRedirect))
	case protocolGRPC:
		metrics, metricsErr = otlpmetricgrpc.New(ctx)
	}
	switch tracesProtocol {
	case protocolHTTP:
		traces, tracesErr = otlptracehttp.New(ctx, otlptracehttp.WithProxy(noRedirect))
	case protocolGRPC:
		traces, tracesErr = otlptracegrpc.New(ctx)
	}
	err = errors.Join(metricsErr, tracesErr)
	if err != nil {
		return nil, nil, fmt.Errorf("make OTLP exporters: %w", err)
	}
	return metrics, traces, nil
}

// The protocols of OTLP.
const (
	protocolHTTP = "http/protobuf"
	protocolGRPC = "grpc"
)

// protocolOf returns the protocol by which to export a signal, METRICS or TRACES; empty if the signal is off. It reads
// the variables that decide this itself: the SDK would export to localhost without an endpoint, and would replace a
// value that it does not understand by a default. The SDK and its exporters read all other variables.
func protocolOf(signal string) (string, error) {
	_, disabled := firstSet("OTEL_SDK_DISABLED")
	if strings.EqualFold(disabled, "true") {
		return "", nil
	}
	exporterName, exporter := firstSet("OTEL_" + signal + "_EXPORTER")
	switch exporter {
	case "", "otlp":
	case "none":
		return "", nil
	default:
		return "", fmt.Errorf("%s=%q: unknown exporter; want otlp or none", exporterName, exporter)
	}
	endpointName, endpoint := firstSet("OTEL_EXPORTER_OTLP_"+signal+"_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
	if endpoint == "" {
		return "", nil
	}
	protocolName, protocol := firstSet("OTEL_EXPORTER_OTLP_"+signal+"_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")
	protocol = cmp.Or(protocol, protocolHTTP)
	if protocol != protocolHTTP && protocol != protocolGRPC {
		return "", fmt.Errorf("%s=%q: unknown protocol; want grpc or http/protobuf", protocolName, protocol)
	}
	return protocol, checkEndpoint(endpointName, endpoint, protocol)
}

// firstSet returns the first of several variables that has a value. An empty variable counts as unset, as the
// OpenTelemetry specification says.
func firstSet(names ...string) (name, value string) {
	for _, name := range names {
		value := strings.TrimSpace(os.Getenv(name))
		if value != "" {
			return name, value
		}
	}
	return "", ""
}

// checkEndpoint refuses an endpoint that the exporters would silently replace by localhost.
func checkEndpoint(variable, endpoint, protocol string) error {
	u, err := url.Parse(endpoint)
	isWeb := err == nil && (u.Scheme == "http" || u.Scheme == "https")
	isGRPCTarget := err == nil && !isWeb && protocol == protocolGRPC // host:port, dns:///host, unix:///path
	if isWeb && u.Host != "" || isGRPCTarget {
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

var errRedirected = errors.New("the collector redirects: configure its final URL")

// noRedirect returns the proxy that the environment configures, and an error for a redirect. The exporters would follow
// a redirect to any host, with the secret headers of OTEL_EXPORTER_OTLP_HEADERS, and have no option to forbid it.
func noRedirect(r *http.Request) (*url.URL, error) {
	if r.Response != nil {
		return nil, errRedirected
	}
	return http.ProxyFromEnvironment(r)
}

// newResource returns the attributes of this process in exports. The OTEL_* variables override all but the SDK's name.
func newResource(ctx context.Context, build Build) (*resource.Resource, error) {
	host, _ := os.Hostname() // the id is unique without it
	instance := cmp.Or(host, "prober") + "-" + rand.Text()[:8]
	about, err := resource.New(ctx,
		resource.WithAttributes(
			semconv.ServiceName("prober"),
			semconv.ServiceVersion(build.Version),
			semconv.ServiceInstanceID(instance),
		),
		resource.WithFromEnv(),
		resource.WithTelemetrySDK(),
	)
	if err != nil {
		return nil, fmt.Errorf("OTEL_RESOURCE_ATTRIBUTES: %w; want key=value pairs with commas between", err)
	}
	return about, nil
}

// withoutHeaders returns an error of the exporters without the values of the headers that go out with each export: a
// collector may repeat them.
func withoutHeaders(err error) error {
	if err == nil {
		return nil
	}
	text := format.Redact(err.Error(), headerSecrets())
	if text == err.Error() {
		return err
	}
	return errors.New(text)
}

// headerSecrets returns the words of the values of OTEL_EXPORTER_OTLP_HEADERS, and of its like for one signal, as they
// are written and as they are sent. Short words are no secrets.
func headerSecrets() []string {
	const shortest = 6 // bytes
	var secrets []string
	for _, signal := range []string{"", "METRICS_", "TRACES_"} {
		for pair := range strings.SplitSeq(os.Getenv("OTEL_EXPORTER_OTLP_"+signal+"HEADERS"), ",") {
			_, value, _ := strings.Cut(pair, "=")
			sent, err := url.PathUnescape(value)
			if err != nil {
				sent = value
			}
			for _, word := range append(strings.Fields(value), strings.Fields(sent)...) {
				if len(word) >= shortest && !strings.EqualFold(word, "Bearer") {
					secrets = append(secrets, word)
				}
			}
		}
	}
	return secrets
}
