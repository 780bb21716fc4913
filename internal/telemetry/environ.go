package telemetry

import (
	"fmt"
	"net/url"
	"os"
	"strings"
)

// The protocols of OTLP.
const protocolHTTP, protocolGRPC = "http/protobuf", "grpc"

// protocolOf is the protocol by which to export a signal, METRICS or TRACES; empty if
// it is off. It reads the variables that decide this; the SDK and its exporters read
// all others. The SDK has no way to export only if an endpoint is configured, and
// replaces what it does not understand by a default.
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
	switch name, protocol := firstSet("OTEL_EXPORTER_OTLP_"+signal+"_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL"); protocol {
	case "", protocolHTTP:
		return protocolHTTP, checkEndpoint(variable, endpoint, protocolHTTP)
	case protocolGRPC:
		return protocolGRPC, checkEndpoint(variable, endpoint, protocolGRPC)
	default:
		return "", fmt.Errorf("%s=%q: unknown protocol; want grpc or http/protobuf", name, protocol)
	}
}

// firstSet is the first of several variables that is set. Unset and empty are the
// same, as the OpenTelemetry specification says.
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
