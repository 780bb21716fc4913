package telemetry

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"

	"github.com/llm-prober/prober/internal/probe"
	"github.com/llm-prober/prober/internal/testing/golden"
	"github.com/llm-prober/prober/internal/wire"
)

// spans returns all spans that a collector received, as text: times are since the day, those of events since the start.
func (c *collector) spans() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var b strings.Builder
	for _, resource := range c.traces {
		for _, s := range resource.ScopeSpans[0].Spans {
			start := time.Unix(0, int64(s.StartTimeUnixNano))
			end := time.Unix(0, int64(s.EndTimeUnixNano))
			fmt.Fprintf(&b, "%s, %s, from %v until %v\n", s.Name, s.Kind, start.Sub(day()), end.Sub(day()))
			fmt.Fprintf(&b, "trace %x, span %x, parent %q\n", s.TraceId, s.SpanId, s.ParentSpanId)
			fmt.Fprintf(&b, "%s %q\n", s.Status.GetCode(), s.Status.GetMessage())
			attributes := attributesOf(s.Attributes)
			for _, name := range slices.Sorted(maps.Keys(attributes)) {
				fmt.Fprintf(&b, "  %s=%s\n", name, attributes[name])
			}
			for _, e := range s.Events {
				fmt.Fprintf(&b, "  %v %s\n", time.Unix(0, int64(e.TimeUnixNano)).Sub(start), e.Name)
			}
		}
	}
	return b.String()
}

// TestSpans holds that each probe has a span with the ids that it sent, and that nothing of its prompt and its answer
// is in it: the golden file is complete.
func TestSpans(t *testing.T) {
	for _, protocol := range []string{protocolHTTP, protocolGRPC} {
		t.Run(protocol, func(t *testing.T) {
			c := newCollector(t)
			r, _ := newExporting(t, Options{Vantage: "eu-1"}, c.endpoint, map[string]string{
				"OTEL_EXPORTER_OTLP_PROTOCOL": protocol,
				"OTEL_METRICS_EXPORTER":       "none",
				"OTEL_TRACES_SAMPLER":         "always_off", // every probe is sampled all the same
			})
			r.Set(fixedTarget())
			r.Record(succeeded5())
			r.Record(stalled())
			r.Record(with(refused(), func(r *probe.Result) { r.Outcome = probe.Canceled }))
			r.Record(with(refused(), func(r *probe.Result) { r.Target = "never set" }))
			r.Record(with(refused(), func(r *probe.Result) { r.TraceID = "" }))
			if err := r.Shutdown(t.Context()); err != nil {
				t.Fatal(err)
			}
			golden.Equal(t, "testdata/spans.txt", c.spans())
			if len(c.metrics) != 0 {
				t.Error("metrics came, though they are off")
			}
		})
	}
}

// TestEveryAPIHasAGenAIOperation holds that a new dialect names its operation and its provider, and that the words of
// the conventions are spelled as there.
func TestEveryAPIHasAGenAIOperation(t *testing.T) {
	operations := []string{
		semconv.GenAIOperationNameChat.Value.AsString(), semconv.GenAIOperationNameTextCompletion.Value.AsString(),
	}
	for _, api := range wire.APIs() {
		dialect := dialectOf(probe.Description{API: api})
		if !slices.Contains(operations, dialect.Operation) || dialect.Provider == "" {
			t.Errorf("%s has the GenAI operation %q and provider %q: add Operation (one of %q) and Provider to its wire.Dialect",
				api, dialect.Operation, dialect.Provider, operations)
		}
	}
	for api, want := range map[string]attribute.KeyValue{
		"":             semconv.GenAIProviderNameOpenAI,
		"anthropic":    semconv.GenAIProviderNameAnthropic,
		"azure-openai": semconv.GenAIProviderNameAzureAIOpenAI,
	} {
		got := dialectOf(probe.Description{API: api}).Provider
		if got != want.Value.AsString() {
			t.Errorf("the provider of the API %q is %q, want %q", api, got, want.Value.AsString())
		}
	}
}

// TestAnUnknownModelIsNotNamed holds that the GenAI attributes of a target and its spans name no model before it is
// known.
func TestAnUnknownModelIsNotNamed(t *testing.T) {
	target := fixedTarget()
	target.Model = ""
	for _, a := range genAIAttributes(target) {
		if a.Key == semconv.GenAIRequestModelKey {
			t.Errorf("%s is %q", a.Key, a.Value.AsString())
		}
	}
	c := newCollector(t)
	r, _ := newExporting(t, Options{}, c.endpoint, map[string]string{"OTEL_METRICS_EXPORTER": "none"})
	r.Set(target)
	r.Record(with(refused(), func(r *probe.Result) { r.Model = "" }))
	if err := r.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	if name := c.traces[0].ScopeSpans[0].Spans[0].Name; name != "chat" {
		t.Errorf("the span is called %q, want chat", name)
	}
}

// TestURLs holds which host, port and URL are shown of the URL of a target.
func TestURLs(t *testing.T) {
	for url, want := range map[string]string{
		"https://u:p@h/v1?key=k#f": "h 443 https://h/v1",
		"http://h":                 "h 80 http://h",
		"http://[::1]:9":           "::1 9 http://[::1]:9",
		"http://h:%zz":             " 0 ", // not a URL
	} {
		host, port := serverOf(url)
		if got := fmt.Sprint(host, " ", port, " ", withoutSecrets(url)); got != want {
			t.Errorf("%s: %q, want %q", url, got, want)
		}
	}
}
