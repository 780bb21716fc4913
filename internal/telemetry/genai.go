package telemetry

import (
	"cmp"
	"iter"

	"go.opentelemetry.io/otel/attribute"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"

	"github.com/llm-prober/prober/internal/probe"
	"github.com/llm-prober/prober/internal/wire"
)

// genAI are the client metrics of the OpenTelemetry GenAI conventions of semconv
// v1.41.0, the last that were released
// (https://github.com/open-telemetry/semantic-conventions/tree/v1.41.0/docs/gen-ai).
// None of them is our TPOT or ITL: an output chunk is a frame.
func genAI() []Instrument {
	return []Instrument{
		{
			Name: "gen_ai.client.operation.duration", Unit: "s", Kind: Histogram, Scope: ScopeGenAI, Bounds: genAIBounds(),
			Labels:   []Label{{Name: string(semconv.ErrorTypeKey), Values: append([]string{""}, failureNames()...)}},
			Help:     "End-to-end latency of a probe, or, with error.type, the time after which it failed.",
			ofResult: operationDuration,
		},
		{
			Name: "gen_ai.client.operation.time_to_first_chunk", Unit: "s", Kind: Histogram, Scope: ScopeGenAI, Bounds: genAIBounds(),
			Help:     "The same as llm.probe.ttft.",
			ofResult: unspoilt((*probe.Result).TTFT).once(true),
		},
		{
			Name: "gen_ai.client.operation.time_per_output_chunk", Unit: "s", Kind: Histogram, Scope: ScopeGenAI, Bounds: genAIBounds(),
			Help:     "The same as llm.probe.chunk_gap.",
			ofResult: chunkGaps,
		},
		{
			Name: "gen_ai.client.token.usage", Unit: "{token}", Kind: Histogram, Scope: ScopeGenAI, Bounds: genAITokenBounds(),
			Labels:   []Label{{Name: string(semconv.GenAITokenTypeKey), Values: []string{tokenInput, tokenOutput}}},
			Help:     "Tokens of a probe as the server counts them; no sample if it does not tell.",
			ofResult: tokenUsage,
		},
	}
}

// The token types of the conventions.
const (
	tokenInput  = "input"
	tokenOutput = "output"
)

func operationDuration(_ probe.Description, r *probe.Result) iter.Seq[sample] {
	if r.Outcome != probe.OK {
		return only(sample{at: point{string(r.Outcome)}, value: r.Elapsed.Seconds(), marked: true}, true)
	}
	d, ok := r.E2EL()
	return only(sample{value: d.Seconds(), marked: true}, ok)
}

func tokenUsage(_ probe.Description, r *probe.Result) iter.Seq[sample] {
	return func(yield func(sample) bool) {
		in, out := r.Usage.Prompt, r.Usage.Generated()
		if in.Known && !yield(ofType(tokenInput, in)) {
			return
		}
		if out.Known {
			yield(ofType(tokenOutput, out))
		}
	}
}

func ofType(name string, c wire.Count) sample {
	return sample{at: point{name}, value: float64(c.N)}
}

// operation is what the conventions call a request of an API: everything but
// chat completes text.
func operation(api string) string {
	switch api {
	case "openai-completions", "sglang", "tgi", "triton", "llama-server", "ollama":
		return semconv.GenAIOperationNameTextCompletion.Value.AsString()
	}
	return semconv.GenAIOperationNameChat.Value.AsString()
}

// provider is what the conventions call whom the client believes to talk to,
// which is the API and not the engine: vLLM, SGLang and all others that speak
// OpenAI's are "openai".
func provider(api string) string {
	switch api {
	case "sglang", "tgi", "triton", "llama-server", "ollama":
		return api
	case "anthropic":
		return semconv.GenAIProviderNameAnthropic.Value.AsString()
	case "azure-openai":
		return semconv.GenAIProviderNameAzureAIOpenAI.Value.AsString()
	}
	return semconv.GenAIProviderNameOpenAI.Value.AsString()
}

// genAIAttributes are what every metric and span of a target carries in the words
// of the conventions. The traffic is marked as synthetic, so that panels of real
// users can leave it out.
func genAIAttributes(t probe.Description) []attribute.KeyValue {
	all := []attribute.KeyValue{
		semconv.GenAIOperationNameKey.String(operation(t.API)),
		semconv.GenAIProviderNameKey.String(provider(t.API)),
		semconv.GenAIRequestModel(valid(cmp.Or(t.Model, unknown))),
		semconv.UserAgentSyntheticTypeTest,
	}
	if host, port := serverOf(t.URL); host != "" {
		all = append(all, semconv.ServerAddress(host), semconv.ServerPort(port))
	}
	return all
}
