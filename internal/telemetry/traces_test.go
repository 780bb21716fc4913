package telemetry

import (
	"encoding/hex"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/llm-prober/prober/internal/probe"
)

// A shape is what a span says, as text.
type shape struct {
	Name, Kind, Trace, Span, Parent string
	From, Until                     time.Duration // since the day
	Status, Message                 string
	Attributes                      map[string]string
	Events                          map[string]time.Duration // since the start
}

func shapeOf(s *tracepb.Span) shape {
	start := time.Unix(0, int64(s.StartTimeUnixNano))
	f := shape{
		Name: s.Name, Kind: s.Kind.String(),
		Trace: hex.EncodeToString(s.TraceId), Span: hex.EncodeToString(s.SpanId), Parent: hex.EncodeToString(s.ParentSpanId),
		From: start.Sub(day()), Until: time.Unix(0, int64(s.EndTimeUnixNano)).Sub(day()),
		Status: s.Status.GetCode().String(), Message: s.Status.GetMessage(),
		Attributes: pairs(s.Attributes), Events: map[string]time.Duration{},
	}
	for _, e := range s.Events {
		f.Events[e.Name] = time.Unix(0, int64(e.TimeUnixNano)).Sub(start)
	}
	return f
}

// shapes are all spans that a collector received.
func shapes(c *collector) []shape {
	c.mu.Lock()
	defer c.mu.Unlock()
	var all []shape
	for _, resource := range c.traces {
		for _, scope := range resource.ScopeSpans {
			for _, s := range scope.Spans {
				all = append(all, shapeOf(s))
			}
		}
	}
	return all
}

// TestSpans: one of each probe, with the ids that it sent, and nothing of what was
// asked or answered: the lists are exact.
func TestSpans(t *testing.T) {
	for _, protocol := range []string{protocolHTTP, protocolGRPC} {
		t.Run(protocol, func(t *testing.T) {
			c := newCollector(t)
			o, _ := newOTLPTo(t, c.endpoint, map[string]string{
				"OTEL_EXPORTER_OTLP_PROTOCOL": protocol, "OTEL_METRICS_EXPORTER": "none",
				"OTEL_TRACES_SAMPLER": "always_off", // every probe is sampled all the same
			})
			o.Set(fixedTarget())
			o.Record(succeeded5())
			o.Record(stalled())
			o.Record(with(refused(), func(r *probe.Result) { r.Outcome = probe.Canceled }))
			o.Record(with(refused(), func(r *probe.Result) { r.Target = "never set" }))
			o.Record(with(refused(), func(r *probe.Result) { r.TraceID = "" }))
			if err := o.Shutdown(t.Context()); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]shape{succeededShape(), stalledShape()}, shapes(c)); diff != "" {
				t.Errorf("spans (-want +got):\n%s", diff)
			}
			if len(c.metrics) != 0 {
				t.Error("metrics came, though they are off")
			}
		})
	}
}

func succeededShape() shape {
	return shape{
		Name: "chat llama", Kind: "SPAN_KIND_CLIENT", Status: "STATUS_CODE_UNSET",
		Trace: "0102030405060708090a0b0c0d0e0f10", Span: "1112131415161718",
		From: 0, Until: ms(700),
		Attributes: map[string]string{
			"gen_ai.operation.name": "chat", "gen_ai.provider.name": "openai", "gen_ai.request.model": "llama",
			"gen_ai.request.stream": "true", "server.address": "llm.example", "server.port": "8443",
			"user_agent.synthetic.type": "test",
			"llm.probe.target":          "a", "llm.probe.group": "g", "llm.probe.prompt": "cold", "llm.probe.round": "7",
			"llm.probe.outcome":         "ok",
			"gen_ai.usage.input_tokens": "100", "gen_ai.usage.cache_read.input_tokens": "16", "gen_ai.usage.output_tokens": "5",
			"gen_ai.response.finish_reasons": "length", "gen_ai.response.time_to_first_chunk": "0.6",
			"http.response.status_code": "200",
		},
		Events: map[string]time.Duration{
			"dns done": ms(1), "connect done": ms(3), "tls done": ms(8), "request written": ms(10),
			"response headers": ms(90), "first token": ms(600), "last token": ms(660),
		},
	}
}

func stalledShape() shape {
	s := succeededShape()
	s.Trace, s.Span = "aa02030405060708090a0b0c0d0e0f10", "aa12131415161718"
	s.From, s.Until = 10*time.Second, ms(40620)
	s.Status, s.Message = "STATUS_CODE_ERROR", "no token for 30s"
	s.Attributes["llm.probe.outcome"], s.Attributes["error.type"] = "stalled", "stalled"
	for _, gone := range []string{"gen_ai.usage.cache_read.input_tokens", "gen_ai.usage.output_tokens", "gen_ai.response.finish_reasons"} {
		delete(s.Attributes, gone)
	}
	s.Events["last token"] = ms(620)
	return s
}

func TestOperations(t *testing.T) {
	for api, want := range map[string][2]string{
		"openai-chat": {"chat", "openai"}, "openai-completions": {"text_completion", "openai"},
		"tgi": {"text_completion", "tgi"}, "": {"chat", "openai"},
	} {
		if name, provider := operation(api); name != want[0] || provider != want[1] {
			t.Errorf("%s: %s, %s, want %v", api, name, provider, want)
		}
	}
}

func TestURLs(t *testing.T) {
	for url, want := range map[string]string{
		"https://u:p@h/v1?key=k#f": "h 443 https://h/v1", "http://h": "h 80 http://h", "http://[::1]:9": "::1 9 http://[::1]:9",
		"http://h:%zz": " 0 ", "": " 80 ",
	} {
		host, port := serverOf(url)
		if got := fmt.Sprint(host, " ", port, " ", shownURL(url)); got != want {
			t.Errorf("%s: %q, want %q", url, got, want)
		}
	}
}
