package telemetry

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"sync/atomic"

	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetricgrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// newMetricExporter returns the exporter of a protocol. It reads the environment
// by itself, and connects when it first exports.
func newMetricExporter(ctx context.Context, p protocol) (sdkmetric.Exporter, error) {
	if p == protocolGRPC {
		return otlpmetricgrpc.New(ctx)
	}
	return otlpmetrichttp.New(ctx, otlpmetrichttp.WithProxy(straight))
}

// newSpanExporter is newMetricExporter for traces.
func newSpanExporter(ctx context.Context, p protocol) (sdktrace.SpanExporter, error) {
	if p == protocolGRPC {
		return otlptracegrpc.New(ctx)
	}
	return otlptracehttp.New(ctx, otlptracehttp.WithProxy(straight))
}

var errRedirected = errors.New("it redirects: give the URL of the collector itself")

// straight is the proxy of the environment, and an error for a request that an
// answer made: the exporters would follow a redirect anywhere, with the headers of
// OTEL_EXPORTER_OTLP_HEADERS, and their client can only be replaced as a whole.
func straight(r *http.Request) (*url.URL, error) {
	if r.Response != nil {
		return nil, errRedirected
	}
	return http.ProxyFromEnvironment(r)
}

// failures counts what fails, and tells of it.
type failures struct {
	count atomic.Uint64
	tell  func(error) // nil: nobody
}

func (f *failures) report(err error) {
	f.count.Add(1)
	if f.tell != nil {
		f.tell(err)
	}
}

// Handle implements the SDK's error handler. Exports that failed were reported
// already.
func (f *failures) Handle(err error) {
	if _, again := errors.AsType[reported](err); !again {
		f.report(err)
	}
}

// reported marks the error of an export as reported: the SDK gives it to its error
// handler once more.
type reported struct{ error }

func (r reported) Unwrap() error { return r.error }

// exported reports the error of an export, if any, and marks it.
func (f *failures) exported(err error) error {
	if err == nil {
		return nil
	}
	f.report(err)
	return reported{err}
}

// metricExporter reports exports that failed.
type metricExporter struct {
	sdkmetric.Exporter
	failures *failures
}

// Export implements [sdkmetric.Exporter].
func (e metricExporter) Export(ctx context.Context, all *metricdata.ResourceMetrics) error {
	return e.failures.exported(e.Exporter.Export(ctx, all))
}

// spanExporter reports exports that failed.
type spanExporter struct {
	sdktrace.SpanExporter
	failures *failures
}

// ExportSpans implements [sdktrace.SpanExporter].
func (e spanExporter) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	return e.failures.exported(e.SpanExporter.ExportSpans(ctx, spans))
}
