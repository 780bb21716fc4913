package telemetry

import (
	"cmp"
	"fmt"
	"net/url"
	"strings"
)

// A protocol is a transport of OTLP.
type protocol string

// The protocols.
const (
	protocolNone protocol = "" // the signal is off
	protocolHTTP protocol = "http/protobuf"
	protocolGRPC protocol = "grpc"
)

// A plan is what to export, by the OTEL_* variables.
type plan struct{ metrics, traces protocol }

// planOf reads the variables that decide what is exported and how; the SDK and its
// exporters read all others. The SDK has no way to export only if an endpoint is
// configured, and replaces what it does not understand by a default.
func planOf(environ func(string) string) (p plan, err error) {
	e := environment(environ)
	if strings.EqualFold(e.get("OTEL_SDK_DISABLED"), "true") {
		return plan{}, nil
	}
	if p.metrics, err = e.signal("METRICS"); err == nil {
		p.traces, err = e.signal("TRACES")
	}
	if err != nil {
		return plan{}, err
	}
	return p, nil
}

// An environment looks up a variable. Unset and empty are the same, as the
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
	variable, value := e.first("OTEL_EXPORTER_OTLP_"+signal+"_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")
	p := protocol(cmp.Or(value, string(protocolHTTP)))
	if p != protocolHTTP && p != protocolGRPC {
		return protocolNone, fmt.Errorf("%s=%q: unknown protocol; want grpc or http/protobuf", variable, value)
	}
	return p, checkEndpoint(name, endpoint, p)
}

// checkEndpoint refuses what the exporters would silently replace by localhost.
func checkEndpoint(name, endpoint string, p protocol) error {
	u, err := url.Parse(endpoint)
	web := err == nil && (u.Scheme == "http" || u.Scheme == "https")
	grpcTarget := err == nil && !web && p == protocolGRPC // host:port, dns:///host, unix:///path
	if web && u.Host != "" || grpcTarget {
		return nil
	}
	if strings.Contains(endpoint, "@") {
		endpoint = "***" // a password may be before it
	}
	port := 4318
	if p == protocolGRPC {
		port = 4317
	}
	return fmt.Errorf("%s=%q: not an endpoint; want a URL such as http://collector:%d", name, endpoint, port)
}
