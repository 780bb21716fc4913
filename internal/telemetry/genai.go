package telemetry

import (
	"cmp"

	"go.opentelemetry.io/otel/attribute"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"

	"github.com/llm-prober/prober/internal/probe"
)

// genAI are the client metrics of the OpenTelemetry GenAI conventions of semconv v1.41.0, the last that were released
// (https://github.com/open-telemetry/semantic-conventions/tree/v1.41.0/docs/gen-ai). None of them is TPOT or ITL: their
// output chunk is a frame.
func genAI() []Instrument {
	return []Instrument{
		{Name: "gen_ai.client.operation.duration", Unit: "s", Kind: Histogram, Scope: ScopeGenAI, Bounds: genAIBounds,
			Labels: []Label{{Name: string(semconv.ErrorTypeKey), Values: append([]string{""}, failures()...)}}, ofResult: operationDuration,
			Help: "End-to-end latency of a probe in seconds, or, with error.type, the time from its start to its failure."},
		{Name: "gen_ai.client.operation.time_to_first_chunk", Unit: "s", Kind: Histogram, Scope: ScopeGenAI, Bounds: genAIBounds,
			ofResult: once((*probe.Result).TTFT, validTTFT, exemplar),
			Help:     "Time to first token in seconds, as llm.probe.ttft."},
		{Name: "gen_ai.client.operation.time_per_output_chunk", Unit: "s", Kind: Histogram, Scope: ScopeGenAI, Bounds: genAIBounds,
			ofResult: gaps((*probe.Result).ChunkGaps),
			Help:     "Time between consecutive token frames in seconds, as llm.probe.chunk_gap."},
		{Name: "gen_ai.client.token.usage", Unit: "{token}", Kind: Histogram, Scope: ScopeGenAI,
			Bounds: []float64{1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216, 67108864},
			Labels: []Label{{Name: string(semconv.GenAITokenTypeKey), Values: []string{tokenInput, tokenOutput}}}, ofResult: tokenUsage,
			Help: "Tokens of a probe as the server reports them; no sample if it does not."},
	}
}

const tokenInput, tokenOutput = "input", "output"

func operationDuration(_ probe.Description, r *probe.Result, to func(sample)) {
	if !succeeded(r) {
		to(sample{at: point{string(r.Outcome)}, value: r.Elapsed.Seconds(), marked: true})
		return
	}
	if d, ok := r.E2EL(); ok {
		to(sample{value: d.Seconds(), marked: true})
	}
}

func tokenUsage(_ probe.Description, r *probe.Result, to func(sample)) {
	known(tokenInput, r.Usage.Prompt, to)
	known(tokenOutput, r.Usage.Generated(), to)
}

// operation is the name that the conventions give to a request of an API: all but chat is text completion. The provider
// follows the API and not the engine: vLLM, SGLang and all others with OpenAI's API are "openai".
func operation(api string) (name, provider string) {
	chat, openAI := semconv.GenAIOperationNameChat.Value.AsString(), semconv.GenAIProviderNameOpenAI.Value.AsString()
	completion := semconv.GenAIOperationNameTextCompletion.Value.AsString()
	switch api {
	case "openai-completions":
		return completion, openAI
	case "sglang", "tgi", "triton", "llama-server", "ollama":
		return completion, api
	case "anthropic":
		return chat, semconv.GenAIProviderNameAnthropic.Value.AsString()
	case "azure-openai":
		return chat, semconv.GenAIProviderNameAzureAIOpenAI.Value.AsString()
	}
	return chat, openAI
}

// genAIAttributes are the attributes of the conventions that every metric and span of a target has. They mark the
// traffic as synthetic, so that panels of real users can leave it out.
func genAIAttributes(t probe.Description) []attribute.KeyValue {
	name, provider := operation(t.API)
	all := []attribute.KeyValue{
		semconv.GenAIOperationNameKey.String(name),
		semconv.GenAIProviderNameKey.String(provider),
		semconv.GenAIRequestModel(valid(cmp.Or(t.Model, unknown))),
		semconv.UserAgentSyntheticTypeTest,
	}
	if host, port := serverOf(t.URL); host != "" {
		all = append(all, semconv.ServerAddress(host), semconv.ServerPort(port))
	}
	return all
}
