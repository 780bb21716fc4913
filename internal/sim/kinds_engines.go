package sim

import (
	"net/http"
	"slices"
)

// Engines with an OpenAI API of their own.

// tgiKind is Hugging Face TGI under /v1: its native routes are another style of API (tgi.go).
func tgiKind() kind {
	const head = `data: {"object":"$object","id":"","created":$created,"model":$model,"system_fingerprint":"3.3.6-sim","choices":[$choice]$usage}`
	deaf := []string{"min_tokens", "ignore_eos", "cache_salt", "stream_options.continuous_usage_stats"}
	counts := `{"prompt_tokens":$prompt,"completion_tokens":$completion,"total_tokens":$total}`
	return kind{
		name: "tgi", prefixes: []string{"/v1"}, limit: tgiBodyLimit, single: true, anyModel: true, noClamp: true,
		chat: routeFormat{
			ignores: deaf,
			chunk:   head,
			token:   `{"index":0,"delta":{"role":"assistant","content":$text},"logprobs":null,"finish_reason":null}`,
			last:    `{"index":0,"delta":{"role":"assistant","content":$text},"logprobs":null,"finish_reason":$finish}`,
			usage:   counts, idle: "null",
		},
		text: routeFormat{
			ignores: deaf,
			chunk:   head,
			token:   `{"index":0,"text":$text,"logprobs":null,"finish_reason":""}`,
			last:    `{"index":0,"text":$text,"logprobs":null,"finish_reason":$finish}`,
			usage:   counts, report: reportInside,
		},
		model:  `{"id":$model,"object":"model","created":0,"owned_by":$model}`,
		models: `{"object":"list","data":[$entry]}`,
		routes: []kindRoute{
			{"GET /info", true, (*Server).tgiInfo},
			{"POST /tokenize", false, (*Server).tgiTokenize},
			{"POST /chat_tokenize", false, (*Server).tgiChatTokenize},
		},
		computed: map[string]string{"X-Accel-Buffering": "no", "X-Compute-Type": "1-simulated"},
		lost:     fastAPILost,
		failure:  `{"error":$message,"error_type":$type}`,
		inside:   `data: {"error":{"message":$message,"http_status_code":422}}` + "\n\n" + doneFrame,
		statuses: map[int]int{http.StatusBadRequest: http.StatusUnprocessableEntity},
		errorTypes: map[int]string{
			http.StatusUnauthorized: "authentication_error", http.StatusForbidden: "authentication_error",
			http.StatusTooManyRequests: "overloaded", http.StatusServiceUnavailable: "overloaded", statusOverloaded: "overloaded",
			http.StatusFailedDependency: "generation", 4: "validation", 5: "incomplete_generation",
		},
		broken:  `data: {"error":{"message":"Request failed during generation: simulated fault","http_status_code":422}}` + "\n\n" + doneFrame,
		comment: ":\n\n",
	}
}

// sglangKind is SGLang: nulls everywhere, no chat frame without text, and a finish frame of its own.
func sglangKind() kind {
	const usage = `{"prompt_tokens":$prompt,"total_tokens":$total,"completion_tokens":$completion,"prompt_tokens_details":$details,"reasoning_tokens":$thought}`
	const running = `{"prompt_tokens":$prompt,"total_tokens":$total,"completion_tokens":$completion,"prompt_tokens_details":null,"reasoning_tokens":$thought}`
	k := vllmKind()
	k.name, k.late = "sglang", true
	k.salts = []string{"cache_salt", "extra_key"}
	k.chat = routeFormat{
		id:    "$request",
		chunk: chatHead + `"choices":[$choice]$usage}`,
		role:  `{"index":0,"delta":{"role":"assistant","content":"","reasoning_content":null,"tool_calls":null},"logprobs":null,"finish_reason":null,"matched_stop":null}`,
		token: `{"index":0,"delta":{"role":null,$delta,"tool_calls":null},"logprobs":null,"finish_reason":null,"matched_stop":null}`,
		final: `{"index":0,"delta":{"role":null,"content":null,"reasoning_content":null,"tool_calls":null},"logprobs":null,"finish_reason":$finish,"matched_stop":$matched}`,
		delta: `"content":$text,"reasoning_content":null`, thought: `"content":null,"reasoning_content":$text`,
		usage: usage, running: running, idle: "null", hushed: true,
	}
	k.text = routeFormat{
		id:    "$request",
		chunk: textHead + `"choices":[$choice]$usage}`,
		token: `{"index":0,"text":$text,"logprobs":null,"finish_reason":null,"matched_stop":null}`,
		last:  `{"index":0,"text":$text,"logprobs":null,"finish_reason":$finish,"matched_stop":$matched}`,
		usage: usage, running: running, idle: "null",
	}
	k.model = `{"id":$model,"object":"model","created":$created,"owned_by":"sglang","root":$model,"parent":null,"max_model_len":$length}`
	k.documents = nil
	k.routes = []kindRoute{{"POST /tokenize", true, (*Server).tokenizeSGLang}, {"POST /v1/tokenize", false, (*Server).tokenizeSGLang}}
	k.failure = flatError
	k.broken = `data: {"error":` + flatError + "}\n\n" + doneFrame
	return k
}

// trtllmKind is trtllm-serve: a strict schema, usage by default inside stream_options, and an error inside the stream is
// the end of the connection.
func trtllmKind() kind {
	schema := []string{
		"model", "max_tokens", "min_tokens", "ignore_eos", "temperature", "top_p", "top_k", "seed", "stop", "n", "stream", "stream_options",
		"stream_options.include_usage", "stream_options.continuous_usage_stats", "detokenize", "truncate_prompt_tokens", "user",
		"frequency_penalty", "presence_penalty", "repetition_penalty", "add_special_tokens", "stop_token_ids", "end_id",
	}
	ids := func(q *ask, on bool) { q.ids, q.mute = !on, !on }
	k := vllmKind()
	k.name, k.strict, k.optioned = "trtllm", true, true
	k.salts, k.tokenData = nil, "prompt_token_ids"
	k.chat = routeFormat{
		schema:   append(slices.Clip(schema), "messages", "max_completion_tokens", "prompt_token_ids", "add_generation_prompt", "chat_template_kwargs"),
		switches: map[string]func(*ask, bool){"detokenize": ids},
		id:       "chatcmpl-$request",
		chunk:    chatHead + `"choices":[$choice]$usage}`,
		role:     `{"index":0,"delta":{"role":"assistant","content":""},"logprobs":null,"finish_reason":null}`,
		roleEnd:  " \n\n",
		token:    `{"index":0,"delta":{$delta},"token_ids":$ids,"logprobs":null,"finish_reason":null,"stop_reason":null,"avg_decoded_tokens_per_iter":1.0}`,
		last:     `{"index":0,"delta":{$delta},"token_ids":$ids,"logprobs":null,"finish_reason":$finish,"stop_reason":null,"avg_decoded_tokens_per_iter":1.0}`,
		delta:    `"content":$text,"reasoning_content":""`, thought: `"content":"","reasoning_content":$text`,
		usage: cachedUsage, running: cachedUsage,
	}
	k.text = routeFormat{
		schema:   append(slices.Clip(schema), "prompt"),
		switches: map[string]func(*ask, bool){"detokenize": ids},
		id:       "cmpl-$request",
		chunk:    textHead + `"choices":[$choice]$usage}`,
		token:    `{"index":0,"text":$text,"token_ids":$ids,"logprobs":null,"context_logits":null,"finish_reason":null,"stop_reason":null,"disaggregated_params":null,"avg_decoded_tokens_per_iter":1.0}`,
		last:     `{"index":0,"text":$text,"token_ids":$ids,"logprobs":null,"context_logits":null,"finish_reason":$finish,"stop_reason":null,"disaggregated_params":null,"avg_decoded_tokens_per_iter":1.0}`,
		usage:    cachedUsage, running: cachedUsage, idle: "null",
	}
	k.model = `{"id":$model,"object":"model","created":$created,"owned_by":"tensorrt_llm"}`
	k.documents = map[string]string{"GET /version": `{"version":"1.2.0"}`}
	k.routes = nil
	k.failure, k.broken, k.cuts = flatError, "", true
	return k
}

// lmdeployKind is LMDeploy's api_server: a role in every delta, a finish frame of its own, and no count of the
// end-of-sequence token.
func lmdeployKind() kind {
	const chunk = `"choices":[$choice]$usage}`
	deaf := []string{"cache_salt", "stream_options.continuous_usage_stats", "min_tokens"}
	k := vllmKind()
	k.name, k.uncounted = "lmdeploy", true
	k.salts = nil
	k.chat = routeFormat{
		ignores:  deaf,
		renames:  map[string]string{"min_new_tokens": "min_tokens"},
		switches: map[string]func(*ask, bool){"return_token_ids": func(q *ask, on bool) { q.ids = on }},
		id:       "$number",
		chunk:    chatHead + chunk,
		token:    `{"index":0,"delta":{"role":"assistant",$delta},"output_ids":$ids,"logprobs":null,"finish_reason":null}`,
		final:    `{"index":0,"delta":{"role":"assistant","content":""},"output_ids":null,"logprobs":null,"finish_reason":$finish}`,
		delta:    contentDelta, thought: olderDelta,
		usage: fullUsage, idle: "null", hushed: true,
	}
	k.text = routeFormat{
		ignores: deaf,
		id:      "$number",
		chunk:   textHead + chunk,
		token:   `{"index":0,"text":$text,"logprobs":null,"finish_reason":null}`,
		final:   `{"index":0,"text":"","logprobs":null,"finish_reason":$finish}`,
		usage:   plainUsage, idle: "null", hushed: true,
	}
	k.model = `{"id":$model,"object":"model","created":$created,"owned_by":"lmdeploy","root":$model,"parent":null,"permission":[]}`
	k.documents = nil
	k.routes = []kindRoute{{"POST /v1/encode", false, (*Server).encode}}
	k.failure = `{"message":$message,"type":$type,"code":$code,"param":$param,"object":"error"}`
	k.broken = `data: {"error":` + k.failure + "}\n\n" + doneFrame
	k.errorTypes = map[int]string{4: "invalid_request_error", 5: "internal_server_error"}
	return k
}

// llamaKind is llama-server under /v1: no frame without text, timings instead of continuous usage, a cache switch
// instead of a salt.
func llamaKind() kind {
	const tail = `,"created":$created,"id":$id,"model":$model,"system_fingerprint":"b9465-sim","object":`
	const usage = `{"completion_tokens":$completion,"prompt_tokens":$prompt,"total_tokens":$total,"prompt_tokens_details":{"cached_tokens":$cached}}`
	deaf := []string{"min_tokens", "cache_salt", "stream_options.continuous_usage_stats"}
	other := map[string]string{"n_predict": "max_tokens"}
	switches := map[string]func(*ask, bool){
		"timings_per_token": func(q *ask, on bool) { q.timings = on },
		"cache_prompt":      func(q *ask, on bool) { q.uncached = !on },
	}
	k := vllmKind()
	k.name, k.late, k.anyModel, k.openModel = "llama-server", true, true, true
	k.salts = nil
	k.chat = routeFormat{
		ignores: deaf, renames: other, switches: switches,
		id:    "chatcmpl-$request",
		chunk: `data: {"choices":[$choice]` + tail + `"chat.completion.chunk"$usage$timings}`,
		role:  `{"finish_reason":null,"index":0,"delta":{"role":"assistant","content":null}}`,
		token: `{"finish_reason":null,"index":0,"delta":{$delta}}`,
		final: `{"finish_reason":$finish,"index":0,"delta":{}}`,
		delta: contentDelta, thought: olderDelta,
		usage: usage, hushed: true, joined: true,
	}
	k.text = routeFormat{
		ignores: deaf, renames: other, switches: switches,
		id:    "chatcmpl-$request",
		chunk: `data: {"choices":[$choice]` + tail + `"text_completion"$usage$timings}`,
		token: `{"text":$text,"index":0,"logprobs":null,"finish_reason":null}`,
		final: `{"text":"","index":0,"logprobs":null,"finish_reason":$finish}`,
		usage: usage, hushed: true, report: reportInside,
	}
	k.model = `{"id":$model,"object":"model","created":$created,"owned_by":"llamacpp","meta":{"vocab_type":2,"n_vocab":128256,"n_ctx_train":$length,"n_embd":4096}}`
	k.documents = map[string]string{"GET /props": `{"default_generation_settings":{"n_ctx":$length},"total_slots":4,"model_path":$model,"build_info":"b9465-sim"}`}
	k.routes = []kindRoute{{"POST /tokenize", false, (*Server).tokenizeLlama}}
	k.headers = map[string]string{"Server": "llama.cpp"}
	k.lost = `{"error":{"code":404,"message":"File Not Found","type":"not_found_error"}}`
	k.failure = `{"error":{"code":$code,"message":$message,"type":$type}}`
	k.tooLong = `{"error":{"code":$code,"message":$message,"type":"exceed_context_size_error","n_prompt_tokens":$tokens,"n_ctx":$length}}`
	k.errorTypes = map[int]string{
		http.StatusUnauthorized: "authentication_error", http.StatusForbidden: "permission_error", http.StatusNotFound: "not_found_error",
		http.StatusServiceUnavailable: "unavailable_error", 4: "invalid_request_error", 5: "server_error",
	}
	k.broken = "data: " + k.failure + "\n\n"
	k.comment = ":\n\n"
	return k
}
