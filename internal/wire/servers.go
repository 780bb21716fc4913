package wire

import "slices"

// standardOnly are the extensions to OpenAI's API, for servers without them.
var standardOnly = []Field{FieldContinuousUsage, FieldCacheSalt, FieldMinTokens, FieldIgnoreEOS, FieldPriority}

// What is known of each server type, by what it is told from the others, and where that was read. Recognition takes the first
// that fits, so a router before vLLM comes before vLLM. A field that a type merely ignores is omitted as well.
var servers = []Server{
	{ // https://docs.litellm.ai/docs/proxy/response_headers; its /health asks every model something, at its owner's cost
		Name: "litellm", Health: "/health/readiness", Omit: []Field{FieldContinuousUsage},
		Extra:  map[string]any{"cache.no-cache": true}, // else its response cache may answer
		Cached: Unknown, Tokenize: noTokens,
		Note: "retries and fallbacks of the gateway are invisible in the answer: they look like a slow first token",
		marks: []mark{
			{entry: "max_input_tokens", word: "openai"}, // the key alone: Anthropic
			{header: "X-Litellm-Version", answers: true}, {header: "X-Litellm-Call-Id", answers: true}, {header: "X-Litellm-Model-Id", answers: true},
		},
	},
	{ // https://openrouter.ai/docs/api-reference/overview
		Name: "openrouter", Omit: standardOnly, Cached: Always, Tokenize: noTokens,
		Note:  "the provider behind the router may vary from probe to probe: pin it in the account's routing preferences",
		marks: []mark{{entry: "supported_parameters"}},
	},
	{ // https://learn.microsoft.com/azure/ai-foundry/openai/reference
		Name: "azure-openai", Dialect: azure, Omit: standardOnly, Cached: Always, Tokenize: noTokens,
		Note:  "its default content filter releases text in bursts: chunk gaps are the filter's",
		marks: []mark{{header: "Apim-Request-Id", refused: true}, {header: "X-Ms-Region", refused: true}, {refusal: `"code":"404","message":"Resourcenotfound"`}},
	},
	{ // https://docs.anthropic.com/en/api/models-list, https://docs.anthropic.com/en/api/errors
		Name: "anthropic", Dialect: anthropic, Omit: standardOnly, Cached: Always, Tokenize: noTokens,
		Note:  "a frame carries many tokens: TPOT is right, ITL is silent",
		List:  ModelList{"GET", ModelsPath}, // with its own header
		marks: []mark{{entry: "display_name"}, {header: "Anthropic-Organization-Id"}, {refusal: `"type":"error"`}},
	},
	{ // https://github.com/openai/openai-openapi
		Name: "openai", Omit: append(slices.Clone(standardOnly), FieldMaxTokens),
		Extra:  map[string]any{"stream_options.include_obfuscation": false}, // padding of each frame
		Cached: Always, Tokenize: noTokens,
		marks: []mark{
			{host: "openai.com"}, {word: "openai"}, // not its headers, which other servers copy
			{header: "Apim-Request-Id"}, {header: "X-Ms-Region"}, // Azure's newer path, /openai/v1, which lists its models
		},
	},
	{ // https://github.com/ollama/ollama/blob/main/openai/openai.go
		Name: "ollama", Dialect: ollama, Omit: standardOnly, Cached: Never, Tokenize: noTokens,
		Note:    "a model that is not resident is loaded within the first probe's TTFT",
		Version: "/api/version",
		marks:   []mark{{word: "library"}},
	},
	{ // https://github.com/ggml-org/llama.cpp/tree/master/tools/server
		Name: "llama-server", Omit: []Field{FieldContinuousUsage, FieldCacheSalt, FieldMinTokens, FieldPriority},
		Extra:  map[string]any{"cache_prompt": false, "timings_per_token": true},
		Cached: Always, Tokenize: llamaTokens, IDs: true,
		Note:  "a probe occupies one of its slots, and evicts that slot's cache",
		marks: []mark{{word: "llamacpp"}, {header: "Server", word: "llama.cpp"}},
	},
	{ // https://github.com/abetlen/llama-cpp-python/tree/main/llama_cpp/server: it copies OpenAI's headers
		Name: "llama-cpp-python", Dialect: completions, Health: ModelsPath, Omit: standardOnly, Cached: Never, Tokenize: llamaCppPythonTokens,
		Note:  "its streams tell no token counts: no TPOT, no ITL; unless told not to (interrupt_requests), it breaks off the answer under way for a new request",
		marks: []mark{{word: "me"}},
	},
	{ // https://github.com/sgl-project/sglang/tree/main/python/sglang/srt/entrypoints/openai
		Name: "sglang", Cached: Optional, Tokenize: promptTokens, IDs: true,
		marks: []mark{{word: "sglang"}},
	},
	{ // https://github.com/InternLM/lmdeploy/tree/main/lmdeploy/serve/openai
		Name: "lmdeploy", Omit: []Field{FieldContinuousUsage, FieldCacheSalt, FieldPriority},
		Keys:   map[Field]string{FieldMinTokens: "min_new_tokens"},
		Extra:  map[string]any{"return_token_ids": true},
		Cached: Always, Tokenize: lmdeployTokens, IDs: true,
		marks: []mark{{word: "lmdeploy"}},
	},
	{ // https://github.com/NVIDIA/TensorRT-LLM/tree/main/tensorrt_llm/serve: a key that it does not know fails the request
		Name: "trtllm", Omit: []Field{FieldCacheSalt, FieldPriority}, Cached: Always, Tokenize: noTokens, IDs: true, Version: "/version",
		marks: []mark{{word: "tensorrt_llm"}},
	},
	{ // https://github.com/ai-dynamo/dynamo, docs of nvext
		Name: "dynamo", Omit: []Field{FieldPriority},
		Keys:   map[Field]string{FieldCacheSalt: "nvext.cache_salt"},
		Cached: Unknown, Tokenize: noTokens,
		marks: []mark{{word: "nvidia"}},
	},
	{ // https://docs.ray.io/en/latest/serve/llm/: 50 ms by default, see ray-project/ray#59681
		Name: "ray-serve", Cached: Optional, Tokenize: promptTokens, IDs: true,
		Note:  "tokens are released every 50 ms (stream_batching_interval_ms): chunk gaps are that timer's, TPOT is right",
		marks: []mark{{entry: "rayllm_metadata"}, {entry: "metadata.max_request_context_length"}, {entry: "metadata.input_modality"}},
	},
	{ // https://kserve.github.io: OpenAI under a prefix of its own
		Name: "kserve", Prefix: "/openai", Cached: Unknown, Tokenize: noTokens,
		marks: []mark{{prefix: "/openai"}},
	},
	{ // https://docs.nvidia.com/nim/large-language-models
		Name: "nim", Cached: Optional, Tokenize: vllmTokens, IDs: true, Version: "/version",
		marks: []mark{{path: "/v1/metadata", word: `"modelInfo"`}},
	},
	{ // https://github.com/vllm-project/production-stack/tree/main/src/vllm_router
		Name: "production-stack", Cached: Optional, Tokenize: vllmTokens, IDs: true, Session: "x-user-id", Version: "/version",
		marks: []mark{{path: "/engines", word: "["}},
	},
	{ // https://github.com/vllm-project/vllm/tree/main/vllm/entrypoints/openai
		Name: "vllm", Cached: Optional, Tokenize: vllmTokens, IDs: true, Version: "/version",
		marks: []mark{{word: "vllm"}},
	},
	{ // https://github.com/huggingface/text-generation-inference/tree/main/router
		Name: "tgi", Dialect: tgi, Omit: standardOnly, Cached: Never, Tokenize: tgiTokens,
		List:    ModelList{"GET", "/info"}, // its description of itself
		Version: "/info",
		marks:   []mark{{path: "/info", word: `"max_total_tokens"`}, {path: "/info", word: `"max_input_tokens"`}},
	},
	{ // https://github.com/triton-inference-server/server/blob/main/docs/protocol/extension_generate.md
		Name: "triton", Dialect: triton, Omit: []Field{FieldContinuousUsage, FieldCacheSalt, FieldPriority}, Cached: Never, Tokenize: noTokens,
		List:    ModelList{"POST", "/v2/repository/index"},
		Version: "/v2",
		marks:   []mark{{path: "/v2", word: `"triton"`}},
	},
}
