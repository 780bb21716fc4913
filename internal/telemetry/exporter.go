package telemetry

import (
	"context"
	"errors"
	"net/http"
	"net/url"

	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetricgrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// newMetricExporter returns the exporter of a protocol. The exporter reads its
// settings from the environment, and connects when it first exports.
func newMetricExporter(ctx context.Context, p protocol) (sdkmetric.Exporter, error) {
	if p == protocolGRPC {
		return otlpmetricgrpc.New(ctx)
	}
	return otlpmetrichttp.New(ctx, otlpmetrichttp.WithProxy(noRedirect))
}

// newSpanExporter is newMetricExporter for traces.
func newSpanExporter(ctx context.Context, p protocol) (sdktrace.SpanExporter, error) {
	if p == protocolGRPC {
		return otlptracegrpc.New(ctx)
	}
	return otlptracehttp.New(ctx, otlptracehttp.WithProxy(noRedirect))
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

// An errorHandler counts failures of exports and of the SDK, and passes them on.
type errorHandler struct {
	own     *own
	onError func(error)
}

// Handle implements the SDK's error handler, which gets errors of exports once
// more.
func (h *errorHandler) Handle(err error) {
	if _, again := errors.AsType[reported](err); !again {
		_ = h.export(err)
	}
}

// reported marks an error that was passed on.
type reported struct{ error }

func (r reported) Unwrap() error { return r.error }

// export passes on the error of an export, if any, and marks it.
func (h *errorHandler) export(err error) error {
	if err == nil {
		return nil
	}
	h.own.Add(ExportFailures, 1)
	h.onError(err)
	return reported{err}
}

// metricExporter reports exports that failed.
type metricExporter struct {
	sdkmetric.Exporter
	errs *errorHandler
}

// Export implements [sdkmetric.Exporter].
func (e metricExporter) Export(ctx context.Context, all *metricdata.ResourceMetrics) error {
	return e.errs.export(e.Exporter.Export(ctx, all))
}

// spanExporter reports exports that failed.
type spanExporter struct {
	sdktrace.SpanExporter
	errs *errorHandler
}

// ExportSpans implements [sdktrace.SpanExporter].
func (e spanExporter) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	return e.errs.export(e.SpanExporter.ExportSpans(ctx, spans))
}
