package sim

import (
	"maps"
	"net/http"
	"time"
)

// vLLM, and what is put in front of it or built around it.

// What several kinds have in common.
const (
	chatHead = `data: {"id":$id,"object":"chat.completion.chunk","created":$created,"model":$model,`
	textHead = `data: {"id":$id,"object":"text_completion","created":$created,"model":$model,`

	plainUsage  = `{"prompt_tokens":$prompt,"total_tokens":$total,"completion_tokens":$completion}`
	cachedUsage = `{"prompt_tokens":$prompt,"total_tokens":$total,"completion_tokens":$completion,"prompt_tokens_details":{"cached_tokens":$cached}}`
	fullUsage   = `{"prompt_tokens":$prompt,"total_tokens":$total,"completion_tokens":$completion,"prompt_tokens_details":{"cached_tokens":$cached}$thoughts}`

	contentDelta = `"content":$text`
	thoughtDelta = `"reasoning":$text`
	olderDelta   = `"reasoning_content":$text` // vLLM before it renamed the field, and who followed it

	nestedError = `{"error":{"message":$message,"type":$type,"param":$param,"code":$code}}`
	flatError   = `{"object":"error","message":$message,"type":$type,"param":$param,"code":$code}`

	fastAPILost = `{"detail":"Not Found"}`
)

func vllmKind() kind {
	return kind{
		name: "vllm", prefixes: []string{"/v1"}, limit: openAIBodyLimit,
		chat: routeFormat{
			id:    "chatcmpl-$request",
			chunk: chatHead + `"choices":[$choice]$usage}`,
			role:  `{"index":0,"delta":{"role":"assistant","content":""},"logprobs":null,"finish_reason":null}`,
			token: `{"index":0,"delta":{$delta},"logprobs":null,"finish_reason":null}`,
			last:  `{"index":0,"delta":{$delta},"logprobs":null,"finish_reason":$finish,"stop_reason":null}`,
			delta: contentDelta, thought: thoughtDelta,
			usage: fullUsage, running: plainUsage,
		},
		text: routeFormat{
			id:    "cmpl-$request",
			chunk: textHead + `"choices":[$choice]$usage}`,
			token: `{"index":0,"text":$text,"logprobs":null,"finish_reason":null,"stop_reason":null}`,
			last:  `{"index":0,"text":$text,"logprobs":null,"finish_reason":$finish,"stop_reason":null}`,
			usage: cachedUsage, running: plainUsage,
		},
		model:     `{"id":$model,"object":"model","created":$created,"owned_by":"vllm","root":$model,"parent":null,"max_model_len":$length}`,
		models:    `{"object":"list","data":[$entry]}`,
		documents: map[string]string{"GET /version": `{"version":"0.11.0"}`},
		routes:    []kindRoute{{"POST /tokenize", true, (*Server).tokenize}},
		lost:      fastAPILost,
		ids:       true,
		salts:     []string{"cache_salt"},
		failure:   nestedError,
		errorTypes: map[int]string{
			http.StatusUnauthorized: "authentication_error", http.StatusForbidden: "authentication_error",
			http.StatusNotFound: "NotFoundError", http.StatusTooManyRequests: "RateLimitError",
			http.StatusServiceUnavailable: "ServiceUnavailableError", statusOverloaded: "overloaded_error",
			4: "BadRequestError", 5: "InternalServerError",
		},
		broken:  "data: " + nestedError + "\n\n" + doneFrame,
		comment: ": ping\n\n",
	}
}

// stackKind is the production-stack router before vLLM: it passes everything on but its own errors.
func stackKind() kind {
	k := vllmKind()
	k.name = "production-stack"
	k.needsModel = true
	k.outer = `{"error":$message}`
	k.headers = map[string]string{"X-Request-Id": "$request"}
	k.documents["GET /engines"] = `[{"engine_id":"engine-0","serving_models":[$model],"created":$created}]`
	return k
}

// rayKind is Ray Serve LLM: vLLM's answers, dumped again with their nulls and released every 50 ms
// (ray-project/ray#59681).
func rayKind() kind {
	k := vllmKind()
	k.name = "ray-serve"
	k.late, k.batch = true, 50*time.Millisecond
	k.chat.token = `{"index":0,"delta":{"role":null,$delta,"tool_calls":null},"logprobs":null,"finish_reason":null,"stop_reason":null,"token_ids":null}`
	k.chat.last = `{"index":0,"delta":{"role":null,$delta,"tool_calls":null},"logprobs":null,"finish_reason":$finish,"stop_reason":null,"token_ids":null}`
	k.chat.delta, k.chat.thought = `"content":$text,"reasoning":null`, `"content":null,"reasoning":$text`
	k.chat.idle = "null"
	k.text.token = `{"index":0,"text":$text,"logprobs":null,"finish_reason":null,"stop_reason":null,"prompt_logprobs":null,"token_ids":null}`
	k.text.last = `{"index":0,"text":$text,"logprobs":null,"finish_reason":$finish,"stop_reason":null,"prompt_logprobs":null,"token_ids":null}`
	k.text.idle = "null"
	k.model = `{"id":$model,"object":"model","owned_by":"organization-owner","permission":[],"metadata":{"model_id":$model,"input_modality":"text","max_request_context_length":$length}}`
	k.documents = map[string]string{"GET /-/healthz": `"success"`}
	k.routes = []kindRoute{{"POST /tokenize", true, (*Server).tokenizeText}}
	return k
}

// kserveKind is KServe's Hugging Face server over vLLM: another prefix, the model list of its own protocol beside OpenAI's,
// and codes that are text (https://github.com/kserve/kserve/blob/master/python/kserve/kserve/protocol/rest).
func kserveKind() kind {
	k := vllmKind()
	k.name = "kserve"
	k.prefixes = []string{"/openai/v1"}
	k.model = `{"id":$model,"object":"model","created":$created,"owned_by":""}`
	k.failure = `{"error":{"message":$message,"type":$type,"param":$param,"code":"$code"}}`
	k.broken = "data: " + k.failure + "\n\n" + doneFrame
	k.tooLongAs = http.StatusInternalServerError
	k.documents = map[string]string{
		"GET /v1/models": `{"models":[$model]}`, "GET /v2/health/ready": `{"ready":true}`, "GET /v2/health/live": `{"live":true}`,
	}
	k.routes = nil
	return k
}

// nimKind is NVIDIA NIM 2.x: vLLM, and what the container says about itself
// (https://docs.nvidia.com/nim/large-language-models/2.0.1/reference/api-reference.html).
func nimKind() kind {
	k := vllmKind()
	k.name = "nim"
	maps.Copy(k.documents, map[string]string{
		"GET /v1/health/ready": `{"object":"health.response","message":"Service is ready."}`,
		"GET /v1/health/live":  `{"object":"health.response","message":"Service is live."}`,
		"GET /v1/version":      `{"release":"2.0.1","api":"2.0.1"}`,
		"GET /v1/metadata": `{"version":"2.0.1","modelInfo":[{"modelUrl":"ngc://nim/$plain","shortName":"$plain"}],"assetInfo":[],` +
			`"licenseInfo":{"name":"NVIDIA AI Product License","path":"/opt/nim/LICENSE","sha":"0000000000000000000000000000000000000000"},"repository_override":"","selectedModelProfileId":"vllm-sim"}`,
	})
	return k
}

// dynamoKind is NVIDIA Dynamo's frontend over vLLM. continuous_usage_stats does nothing (ai-dynamo/dynamo#11708), and an
// error inside the stream is a comment of an event without data.
func dynamoKind() kind {
	const (
		null  = `"function_call":null,"tool_calls":null,"role":null,"refusal":null`
		spoke = `"function_call":null,"tool_calls":null,"role":"assistant","refusal":null`
	)
	k := vllmKind()
	k.name = "dynamo"
	deaf := []string{"stream_options.continuous_usage_stats", "cache_salt"}
	k.salts, k.tokenData, k.ids = []string{"nvext.cache_salt"}, "nvext.token_data", false
	k.chat = routeFormat{
		ignores: deaf,
		id:      "chatcmpl-$request",
		chunk:   `data: {"id":$id,"choices":[$choice],"created":$created,"model":$model,"object":"chat.completion.chunk"$usage}`,
		first:   `{"index":0,"delta":{$delta,` + spoke + `},"finish_reason":null,"logprobs":null}`,
		token:   `{"index":0,"delta":{$delta,` + null + `},"finish_reason":null,"logprobs":null}`,
		last:    `{"index":0,"delta":{$delta,` + null + `},"finish_reason":$finish,"logprobs":null}`,
		delta:   contentDelta, thought: olderDelta,
		usage: fullUsage, idle: "null",
	}
	k.text = routeFormat{
		ignores: deaf,
		id:      "cmpl-$request",
		chunk:   `data: {"id":$id,"choices":[$choice],"created":$created,"model":$model,"object":"text_completion"$usage}`,
		token:   `{"text":$text,"index":0,"finish_reason":null,"logprobs":null}`,
		last:    `{"text":$text,"index":0,"finish_reason":$finish,"logprobs":null}`,
		usage:   cachedUsage, idle: "null",
	}
	k.model = `{"id":$model,"object":"model","created":$created,"owned_by":"nvidia"}`
	k.documents = map[string]string{"GET /live": `{"status":"live"}`}
	k.routes = nil
	k.lost = `{"message":"Route not found","code":404}`
	k.failure = `{"message":$message,"code":$code}`
	k.broken = "event: error\n: $plain\n\n"
	return k
}
