package wire

import "testing"

// TestTooLong holds the words in which servers refuse what does not fit their context.
func TestTooLong(t *testing.T) {
	tests := []struct {
		server, reply string
		context       int
		ok            bool
	}{
		{"vLLM", `{"error":{"message":"This model's maximum context length is 32768 tokens. However, your prompt contains at least 32769 input tokens, which exceeds this limit even without any output tokens.","type":"BadRequestError","param":"input_tokens","code":400}}`, 32768, true},
		{"vLLM's count_tokens", `{"type":"error","error":{"type":"BadRequestError","message":"This model's maximum context length is 8192 tokens."}}`, 8192, true},
		{"vLLM, the answer", `{"error":{"message":"max_tokens=400000 cannot be greater than max_model_len=32768. Please request fewer output tokens. (parameter=max_tokens, value=400000)","type":"BadRequestError","param":"max_tokens","code":400}}`, 32768, true},
		{"LiteLLM, of vLLM", `{"error":{"message":"litellm.ContextWindowExceededError: litellm.BadRequestError: ContextWindowExceededError: Hosted_vllmException - {\"error\":{\"message\":\"This model's maximum context length is 32768 tokens. However, your prompt contains at least 32769 input tokens\"}}\nmodel=tiny. context_window_fallbacks=None.","type":"invalid_request_error","param":null,"code":"400"}}`, 32768, true},
		{"SGLang", `{"object":"error","message":"The input (9000 tokens) is longer than the model's context length (4096 tokens)."}`, 4096, true},
		{"SGLang, both", `{"message":"Requested token count exceeds the model's maximum context length of 4096 tokens."}`, 4096, true},
		{"llama-server", `{"error":{"code":400,"message":"the request exceeds the available context size (2048 tokens), try increasing it","type":"exceed_context_size_error","n_prompt_tokens":3000,"n_ctx":2048}}`, 2048, true},
		{"llama-cpp-python", `{"error":{"message":"Requested tokens (42123) exceed context window of 32768","type":"internal_server_error"}}`, 32768, true},
		{"OpenAI", `{"error":{"message":"This model's maximum context length is 128000 tokens.","code":"context_length_exceeded"}}`, 128000, true},
		{"Anthropic", `{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 210000 tokens > 200000 maximum"}}`, 200000, true},
		{"Ollama", `{"error":"the input length exceeds the context length"}`, 0, true},
		{"Fireworks", `{"error":{"message":"The prompt is too long: 21040, model maximum context length: 8191","code":"invalid_request_error"}}`, 8191, true},
		{"a grouped number", `{"error":{"message":"maximum context length is 131,072 tokens, you asked for 140,000"}}`, 131072, true},
		{"a number before a comma", `context length 4096,however`, 4096, true},
		{"LiteLLM", `{"error":{"message":"litellm.ContextWindowExceededError: too long"}}`, 0, true},
		{"a number that no context has", `maximum context length is 99999999999999999999 tokens`, 0, true},
		{"another complaint", `{"error":{"message":"max_tokens must be at least 1, got -3."}}`, 0, false},
		{"nothing", "", 0, false},
	}
	for _, test := range tests {
		if context, ok := TooLong([]byte(test.reply)); context != test.context || ok != test.ok {
			t.Errorf("%s: %d, %t; want %d, %t", test.server, context, ok, test.context, test.ok)
		}
	}
}

// TestContext holds where servers tell the length of their context.
func TestContext(t *testing.T) {
	for list, want := range map[string]int{
		`{"data":[{"id":"m","max_model_len":8192}]}`:                                                     8192,
		`{"data":[{"id":"m","metadata":{"model_id":"m","max_request_context_length":32768}}]}`:           32768,
		`{"data":[{"id":"m","owned_by":"openai","max_input_tokens":32768,"max_output_tokens":32768}]}`:   32768,
		`{"data":[{"id":"m","max_model_len":null,"metadata":null}]}`:                                     0,
		`{"data":[{"id":"m","metadata":"text"}]}`:                                                        0,
		`{"data":[{"id":"m","max_model_len":8192.0}]}`:                                                   8192,
		`{"data":[{"id":"m","max_model_len":"long","max_input_tokens":1e6}]}`:                            1000000,
		`{"data":[{"id":"m","max_model_len":-5,"metadata":{"max_request_context_length":"many"}}]}`:      0,
		`{"data":[{"id":"m","metadata":{"model_id":"m","max_request_context_length":null}},{"id":"n"}]}`: 0,
	} {
		models, ok := ParseModels([]byte(list))
		if !ok || models[0].MaxLen != want {
			t.Errorf("%s: %+v (%t), want %d", list, models, ok, want)
		}
	}
}
