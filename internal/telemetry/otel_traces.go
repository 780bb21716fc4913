package telemetry

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/llm-prober/prober/internal/probe"
)

// recordSpan makes the span of a probe after it ended, unless its result names no span.
func recordSpan(tracer trace.Tracer, t probe.Description, vantage string, r *probe.Result) {
	own := spanOf(r)
	if !own.IsValid() {
		return
	}
	name := dialectOf(t).Operation // and the model if it is known, as the GenAI conventions say
	if t.Model != "" {
		name += " " + toValidUTF8(t.Model)
	}
	_, span := tracer.Start(context.WithValue(context.Background(), ownKey{}, own), name,
		trace.WithNewRoot(),
		trace.WithSpanKind(trace.SpanKindClient),
		trace.WithTimestamp(r.Start),
		trace.WithAttributes(genAIAttributes(t)...),
		trace.WithAttributes(spanAttributes(t, vantage, r)...),
	)
	addEvents(span, r)
	if r.Err != nil {
		span.SetStatus(codes.Error, toValidUTF8(r.Err.Error())) // without secrets and prompt: see [probe.Result]
	}
	span.End(trace.WithTimestamp(r.Start.Add(r.Elapsed)))
}

// spanAttributes returns the attributes of a span in addition to [genAIAttributes]. They never hold text of the prompt
// or of the answer.
func spanAttributes(t probe.Description, vantage string, r *probe.Result) []attribute.KeyValue {
	all := []attribute.KeyValue{
		semconv.GenAIRequestStream(true),
		attribute.String("llm.probe.target", toValidUTF8(t.Name)),
		attribute.String("llm.probe.group", toValidUTF8(t.Group)),
		attribute.String("llm.probe.prompt", toValidUTF8(t.Prompt)),
		attribute.String("llm.probe.outcome", string(r.Outcome)),
		attribute.Int64("llm.probe.round", int64(r.Round)),
	}
	for name, value := range t.Labels {
		all = append(all, attribute.String("llm.probe.label."+name, value))
	}
	optional := []struct {
		known     bool
		attribute attribute.KeyValue
	}{
		{vantage != "", attribute.String("llm.probe.vantage", vantage)},
		{r.Usage.Prompt.Known, semconv.GenAIUsageInputTokens(r.Usage.Prompt.N)},
		{r.Usage.Cached.Known, semconv.GenAIUsageCacheReadInputTokens(r.Usage.Cached.N)},
		{r.Usage.Generated().Known, semconv.GenAIUsageOutputTokens(r.Usage.Generated().N)},
		{r.Usage.Reasoning.Known, semconv.GenAIUsageReasoningOutputTokens(r.Usage.Reasoning.N)},
		{r.Wording.Characters > 0, attribute.Float64("llm.probe.answer_repeated", r.Wording.Run)},
		{r.Wording.Characters > 0, attribute.Float64("llm.probe.answer_distinct_words", r.Wording.Distinct)},
		{r.Wording.Characters > 0, attribute.Float64("llm.probe.answer_replaced", r.Wording.Replaced)},
		{r.ResponseID != "", semconv.GenAIResponseID(r.ResponseID)},
		{r.RequestID != "", attribute.String("llm.probe.request_id", r.RequestID)},
		{r.Finish != "", semconv.GenAIResponseFinishReasons(toValidUTF8(r.Finish))},
		{r.Status != 0, semconv.HTTPResponseStatusCode(r.Status)},
		{r.Outcome != probe.OK, semconv.ErrorTypeKey.String(string(r.Outcome))},
	}
	for _, o := range optional {
		if o.known {
			all = append(all, o.attribute)
		}
	}
	first, ok := r.TTFT()
	if ok {
		all = append(all, semconv.GenAIResponseTimeToFirstChunk(first.Seconds()))
	}
	return all
}

// addEvents adds an event for each point that a probe reached. Only the durations of the connection's phases are known:
// the events assume that each phase began when the one before ended.
func addEvents(span trace.Span, r *probe.Result) {
	reached := func(name string, at time.Duration, ok bool) {
		if ok {
			span.AddEvent(name, trace.WithTimestamp(r.Start.Add(at)))
		}
	}
	p := r.Timeline.Phases
	reached("dns done", p.DNS, p.DNS > 0)
	reached("connect done", p.DNS+p.Connect, p.Connect > 0)
	reached("tls done", p.DNS+p.Connect+p.TLS, p.TLS > 0)
	reached("request written", p.Wrote, p.Wrote > 0)
	reached("response headers", p.Header, p.Header > 0)
	first, ok := r.TTFT()
	reached("first token", first, ok)
	n := len(r.Timeline.Frames)
	if n > 0 {
		reached("last token", r.Timeline.Frames[n-1].At, true)
	}
}

// ownKey is the key of a span's own ids in a context.
type ownKey struct{}

// ownIDs is an [sdktrace.IDGenerator] that gives a span the ids that its probe sent as traceparent.
type ownIDs struct{}

// NewIDs returns the ids in ctx.
func (ownIDs) NewIDs(ctx context.Context) (trace.TraceID, trace.SpanID) {
	own, _ := ctx.Value(ownKey{}).(trace.SpanContext)
	return own.TraceID(), own.SpanID()
}

// NewSpanID returns the id in ctx. The SDK asks for it only for spans with a parent, of which there are none.
func (g ownIDs) NewSpanID(ctx context.Context, _ trace.TraceID) trace.SpanID {
	_, id := g.NewIDs(ctx)
	return id
}

// spanOf returns the span of a probe. It is not valid if the result names none.
func spanOf(r *probe.Result) trace.SpanContext {
	traceID, _ := trace.TraceIDFromHex(r.TraceID)
	spanID, _ := trace.SpanIDFromHex(r.SpanID)
	return trace.NewSpanContext(trace.SpanContextConfig{
		TraceID:    traceID,
		SpanID:     spanID,
		TraceFlags: trace.FlagsSampled,
	})
}
