package telemetry

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetricgrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// exporters send by OTLP. Each is nil if its signal is off.
type exporters struct {
	metrics sdkmetric.Exporter
	traces  sdktrace.SpanExporter
}

// newExporters returns the exporters that the OTEL_* variables ask for. They read
// their settings from the environment, and connect when they first export.
func newExporters(ctx context.Context) (e exporters, err error) {
	metrics, err := protocolOf("METRICS")
	if err != nil {
		return exporters{}, err
	}
	traces, err := protocolOf("TRACES")
	if err != nil {
		return exporters{}, err
	}
	switch metrics {
	case protocolHTTP:
		e.metrics, err = otlpmetrichttp.New(ctx, otlpmetrichttp.WithProxy(noRedirect))
	case protocolGRPC:
		e.metrics, err = otlpmetricgrpc.New(ctx)
	}
	if err != nil {
		return exporters{}, fmt.Errorf("make OTLP exporter of metrics: %w", err)
	}
	switch traces {
	case protocolHTTP:
		e.traces, err = otlptracehttp.New(ctx, otlptracehttp.WithProxy(noRedirect))
	case protocolGRPC:
		e.traces, err = otlptracegrpc.New(ctx)
	}
	if err != nil {
		return exporters{}, fmt.Errorf("make OTLP exporter of traces: %w", err)
	}
	return e, nil
}

var errRedirected = errors.New("the collector redirects: configure its final URL")

// noRedirect is the proxy of the environment, and an error for a redirect: the
// exporters would follow one anywhere, with the secret headers of
// OTEL_EXPORTER_OTLP_HEADERS, and have no option against it.
func noRedirect(r *http.Request) (*url.URL, error) {
	if r.Response != nil {
		return nil, errRedirected
	}
	return http.ProxyFromEnvironment(r)
}
