package telemetry

import (
	"fmt"
	"net/url"
	"strings"
)

// A protocol is how OTLP is spoken.
type protocol string

// The protocols.
const (
	protocolNone protocol = "" // the signal is off
	protocolHTTP protocol = "http/protobuf"
	protocolGRPC protocol = "grpc"
)

// A plan is what the OTEL_* variables ask of us.
type plan struct{ metrics, traces protocol }

// planOf reads the variables that decide what is exported and how. All others
// are read by the SDK and its exporters themselves.
func planOf(environ func(string) string) (plan, error) {
	e := environment(environ)
	if strings.EqualFold(e.get("OTEL_SDK_DISABLED"), "true") {
		return plan{}, nil
	}
	metrics, err := e.signal("METRICS")
	if err != nil {
		return plan{}, err
	}
	traces, err := e.signal("TRACES")
	if err != nil {
		return plan{}, err
	}
	return plan{metrics: metrics, traces: traces}, nil
}

// An environment is a look-up of variables. Unset and empty are the same, as the
// OpenTelemetry specification says.
type environment func(string) string

func (e environment) get(name string) string { return strings.TrimSpace(e(name)) }

// first is the first of several variables that is set.
func (e environment) first(names ...string) (name, value string) {
	for _, name := range names {
		if value := e.get(name); value != "" {
			return name, value
		}
	}
	return "", ""
}

// signal is the protocol of a signal, METRICS or TRACES.
func (e environment) signal(signal string) (protocol, error) {
	name := "OTEL_" + signal + "_EXPORTER"
	switch value := e.get(name); value {
	case "", "otlp":
	case "none":
		return protocolNone, nil
	default:
		return protocolNone, fmt.Errorf("%s=%q: unknown exporter; want otlp or none", name, value)
	}
	name, endpoint := e.first("OTEL_EXPORTER_OTLP_"+signal+"_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
	if endpoint == "" {
		return protocolNone, nil
	}
	p, err := e.protocol(signal)
	if err != nil {
		return protocolNone, err
	}
	return p, checkEndpoint(name, endpoint, p)
}

func (e environment) protocol(signal string) (protocol, error) {
	name, value := e.first("OTEL_EXPORTER_OTLP_"+signal+"_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")
	switch p := protocol(value); p {
	case "":
		return protocolHTTP, nil
	case protocolHTTP, protocolGRPC:
		return p, nil
	}
	return protocolNone, fmt.Errorf("%s=%q: unknown protocol; want grpc or http/protobuf", name, value)
}

// checkEndpoint refuses what the exporters would replace by localhost, with a
// line on stderr at most.
func checkEndpoint(name, endpoint string, p protocol) error {
	u, err := url.Parse(endpoint)
	web := err == nil && (u.Scheme == "http" || u.Scheme == "https")
	switch {
	case web && u.Host != "":
		return nil
	case err == nil && !web && p == protocolGRPC:
		return nil // host:port, dns:///host, unix:///path: what a gRPC target may be
	}
	if strings.Contains(endpoint, "@") {
		endpoint = "***" // a password may be before it
	}
	port := 4318
	if p == protocolGRPC {
		port = 4317
	}
	return fmt.Errorf("%s=%q: no endpoint; want a URL such as http://collector:%d", name, endpoint, port)
}
