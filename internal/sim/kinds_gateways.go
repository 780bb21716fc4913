package sim

import (
	"net/http"
	"slices"
)

// Gateways and hosted platforms.

// openRouterKind is OpenRouter: comments while it waits, a count at the end always, parameters that the backend does not
// know dropped. It stands under /api/v1 there; /v1 serves those who were given the bare host.
func openRouterKind() kind {
	deaf := []string{"min_tokens", "ignore_eos", "cache_salt", "stream_options.continuous_usage_stats"}
	counts := `{"prompt_tokens":$prompt,"completion_tokens":$completion,"total_tokens":$total,"cost":0,"prompt_tokens_details":{"cached_tokens":$cached},"completion_tokens_details":{"reasoning_tokens":$thought}}`
	k := vllmKind()
	k.name = "openrouter"
	k.prefixes = []string{"/api/v1", "/v1"}
	k.ids, k.salts = false, nil
	k.chat = routeFormat{
		ignores: deaf,
		id:      "gen-$request",
		chunk:   `data: {"id":$id,"provider":"Simulated","model":$model,"object":"chat.completion.chunk","created":$created,"choices":[$choice]$usage}`,
		token:   `{"index":0,"delta":{"role":"assistant",$delta},"finish_reason":null,"native_finish_reason":null,"logprobs":null}`,
		final:   `{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":$finish,"native_finish_reason":$finish,"logprobs":null}`,
		delta:   contentDelta, thought: `"content":"","reasoning":$text`,
		usage: counts, hushed: true, report: reportAlways,
	}
	k.text = routeFormat{
		ignores: deaf,
		id:      "gen-$request",
		chunk:   `data: {"id":$id,"provider":"Simulated","model":$model,"object":"text_completion","created":$created,"choices":[$choice]$usage}`,
		token:   `{"index":0,"text":$text,"finish_reason":null,"native_finish_reason":null,"logprobs":null}`,
		final:   `{"index":0,"text":"","finish_reason":$finish,"native_finish_reason":$finish,"logprobs":null}`,
		usage:   counts, hushed: true, report: reportAlways,
	}
	k.model = `{"id":$model,"canonical_slug":$model,"name":$model,"created":$created,"context_length":$length,"pricing":{"prompt":"0.0000001","completion":"0.0000002"},` +
		`"top_provider":{"context_length":$length,"max_completion_tokens":null,"is_moderated":false},"supported_parameters":["max_tokens","seed","stop","temperature","top_p"]}`
	k.models = `{"data":[$entry]}`
	k.openModel = true
	k.documents, k.routes = nil, nil
	k.computed = map[string]string{"X-Generation-Id": "gen-$request"}
	k.failure = `{"error":{"message":$message,"code":$code}}`
	k.lost = `{"error":{"message":"Not Found","code":404}}`
	k.broken = `data: {"id":$id,"provider":"Simulated","model":$model,"object":"chat.completion.chunk","created":$created,"error":{"code":$code,"message":$message},` +
		`"choices":[{"index":0,"delta":{"content":""},"finish_reason":"error","native_finish_reason":null,"logprobs":null}]}` + "\n\n" + doneFrame
	k.comment = ": OPENROUTER PROCESSING\n\n"
	k.waiting = k.comment
	return k
}

// liteLLMKind is the LiteLLM proxy: rebuilt chunks, unknown parameters dropped (drop_params), a response cache.
func liteLLMKind() kind {
	deaf := []string{"min_tokens", "ignore_eos", "cache_salt", "stream_options.continuous_usage_stats"}
	switches := map[string]func(*ask, bool){"cache.no-cache": func(q *ask, on bool) { q.fresh = on }}
	const counts = `{"completion_tokens":$completion,"prompt_tokens":$prompt,"total_tokens":$total,"completion_tokens_details":$parts,"prompt_tokens_details":{"cached_tokens":$cached}}`
	k := vllmKind()
	k.name, k.late, k.replays = "litellm", true, true
	k.ids, k.salts = false, nil
	k.chat = routeFormat{
		ignores: deaf, switches: switches,
		id:    "chatcmpl-$request",
		chunk: `data: {"id":$id,"created":$created,"model":$model,"object":"chat.completion.chunk","choices":[$choice]$usage}`,
		first: `{"index":0,"delta":{$delta,"role":"assistant"}}`,
		token: `{"index":0,"delta":{$delta}}`,
		final: `{"finish_reason":$finish,"index":0,"delta":{}}`,
		delta: contentDelta, thought: olderDelta,
		usage: counts, hushed: true,
	}
	k.text = routeFormat{
		ignores: deaf, switches: switches,
		id:    "cmpl-$request",
		chunk: `data: {"id":$id,"object":"text_completion","created":$created,"model":$model,"choices":[$choice]$usage}`,
		token: `{"text":$text,"index":0,"logprobs":null,"finish_reason":null}`,
		final: `{"text":"","index":0,"logprobs":null,"finish_reason":$finish}`,
		usage: counts, hushed: true,
	}
	k.model = `{"id":$model,"object":"model","created":1677610602,"owned_by":"openai"}`
	k.models = `{"data":[$entry],"object":"list"}`
	k.documents = map[string]string{"GET /health/readiness": `{"status":"healthy"}`, "GET /health/liveliness": `"I'm alive!"`}
	k.routes = nil
	k.computed = map[string]string{ // not on the list of models
		"X-Litellm-Version": "1.80.0", "X-Litellm-Call-Id": "$request", "X-Litellm-Model-Id": "sim-0", "X-Litellm-Attempted-Retries": "0", "X-Litellm-Attempted-Fallbacks": "0",
	}
	k.failure = `{"error":{"message":$message,"type":$type,"param":$param,"code":"$code"}}`
	k.errorTypes = map[int]string{
		http.StatusUnauthorized: "auth_error", http.StatusTooManyRequests: "throttling_error", 4: "invalid_request_error", 5: "internal_server_error",
	}
	k.broken = "data: " + k.failure + "\n\n"
	return k
}

// openAIKind is the OpenAI platform: a closed set of parameters, padding in every frame.
func openAIKind() kind {
	const counts = `{"prompt_tokens":$prompt,"completion_tokens":$completion,"total_tokens":$total,"prompt_tokens_details":{"cached_tokens":$cached,"audio_tokens":0},` +
		`"completion_tokens_details":{"reasoning_tokens":$thought,"audio_tokens":0,"accepted_prediction_tokens":0,"rejected_prediction_tokens":0}}`
	schema := []string{
		"model", "temperature", "top_p", "seed", "stop", "n", "user", "stream", "stream_options", "stream_options.include_usage", "stream_options.include_obfuscation",
		"frequency_penalty", "presence_penalty", "logit_bias", "logprobs", "max_tokens",
	}
	switches := map[string]func(*ask, bool){"stream_options.include_obfuscation": func(q *ask, on bool) { q.bare = !on }}
	k := vllmKind()
	k.name, k.platform = "openai", true
	k.ids, k.salts = false, nil
	k.chat = routeFormat{
		schema: append(slices.Clip(schema), "messages", "max_completion_tokens", "metadata", "store", "service_tier", "prompt_cache_key", "safety_identifier",
			"reasoning_effort", "verbosity", "response_format", "tools", "tool_choice", "parallel_tool_calls", "modalities", "top_logprobs"),
		instead: map[string]string{"max_tokens": "max_completion_tokens"}, switches: switches,
		id:     "chatcmpl-$request",
		chunk:  chatHead + `"service_tier":"default","system_fingerprint":null,"choices":[$choice]$usage$padding}`,
		role:   `{"index":0,"delta":{"role":"assistant","content":"","refusal":null},"finish_reason":null}`,
		token:  `{"index":0,"delta":{"content":$text},"finish_reason":null}`,
		final:  `{"index":0,"delta":{},"finish_reason":$finish}`,
		secret: true,
		usage:  counts, idle: "null", idling: true, hushed: true,
	}
	k.text = routeFormat{
		schema:   append(slices.Clip(schema), "prompt", "best_of", "echo", "suffix"),
		switches: switches,
		id:       "cmpl-$request",
		chunk:    `data: {"id":$id,"object":"text_completion","created":$created,"choices":[$choice],"model":$model$usage$padding}`,
		token:    `{"text":$text,"index":0,"logprobs":null,"finish_reason":null}`,
		last:     `{"text":$text,"index":0,"logprobs":null,"finish_reason":$finish}`,
		usage:    counts, idle: "null", idling: true,
	}
	k.model = `{"id":$model,"object":"model","created":$created,"owned_by":"openai"}`
	k.documents, k.routes = nil, nil
	k.headers = map[string]string{"X-Request-Id": "req_$request", "Openai-Version": "2020-10-01"}
	k.computed = map[string]string{"Openai-Processing-Ms": "$elapsed"}
	k.lost = `{"error":{"message":"Invalid URL ($route)","type":"invalid_request_error","param":null,"code":null}}`
	k.failure = `{"error":{"message":$message,"type":$type,"param":$param,"code":$name}}`
	k.errorTypes = map[int]string{http.StatusTooManyRequests: "requests", 4: "invalid_request_error", 5: "server_error"}
	k.errorCodes = map[int]string{
		http.StatusUnauthorized: "invalid_api_key", http.StatusNotFound: "model_not_found", http.StatusTooManyRequests: "rate_limit_exceeded",
	}
	k.broken = "data: " + k.failure + "\n\n"
	return k
}
