package sim

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestNativeRefusals(t *testing.T) {
	small := Profile{API: "openai", MaxModelLen: 20}
	long := `"` + strings.Repeat("a ", 30) + `"`
	key := Config{APIKey: "k"}
	for _, test := range []struct {
		name, api, path, body string
		config                Config
		status                int
		want                  string
	}{
		{"no prompt", "sglang", "/generate", `{}`, Config{}, 400, `{"error":{"message":"Either text, input_ids or input_embeds should be provided."}}`},
		{"two prompts", "sglang", "/generate", `{"text":"a","input_ids":[1]}`, Config{}, 400, `{"error":{"message":"Either text, input_ids or input_embeds should be provided."}}`},
		{"no tokens", "sglang", "/generate", `{"text":"a","sampling_params":{"max_new_tokens":0}}`, Config{}, 400, `{"error":{"message":"max_new_tokens must be at least 1, got 0."}}`},
		{"minimum above maximum", "sglang", "/generate", `{"text":"a","sampling_params":{"min_new_tokens":129}}`, Config{}, 400, `{"error":{"message":"min_new_tokens must be in [0, max_new_tokens(128)], got 129."}}`},
		{"prompt too long", "sglang", "/generate", `{"text":` + long + `}`, Config{Profile: small}, 400, `{"error":{"message":"The input (31 tokens) is longer than the model's context length (20 tokens)."}}`},
		{"answer too long", "sglang", "/generate", `{"text":"a"}`, Config{Profile: small}, 400, `{"error":{"message":"Requested token count exceeds the model's maximum context length of 20 tokens. You requested a total of 130 tokens: 2 tokens from the input messages and 128 tokens for the completion."}}`},
		{"key", "sglang", "/generate", `{}`, key, 401, `{"error":"Unauthorized"}`},
		{"unknown path", "sglang", "/v2", ``, Config{}, 404, `{"detail":"Not Found"}`},

		{"unknown model", "triton", "/v2/models/x/generate_stream", `{"text_input":"a"}`, Config{}, 400, `{"error":"Request for unknown model: 'x' is not found"}`},
		{"prompt in the output", "triton", "/v2/models/M/generate_stream", `{"text_input":"a","stream":true,"exclude_input_in_output":false}`, Config{}, 400, `{"error":"Error generating stream: When streaming, ` + "`exclude_input_in_output`" + ` = False is not allowed."}`},
		{"no prompt", "triton", "/v2/models/M/generate_stream", `{}`, Config{}, 400, `{"error":"expected 1 inputs but got 0 inputs for model 'M'. Got input(s) [], but missing required input(s) ['text_input']."}`},
		{"minimum above maximum", "triton", "/v2/models/M/generate_stream", `{"text_input":"a","parameters":{"min_tokens":17}}`, Config{}, 400, `{"error":"Error generating stream: min_tokens must be less than or equal to max_tokens=16, got 17."}`},
		{"prompt too long", "triton", "/v2/models/M/generate_stream", `{"text_input":` + long + `}`, Config{Profile: small}, 400, `{"error":"Error generating stream: The decoder prompt (length 31) is longer than the maximum model length of 20."}`},
		{"stream without a stream", "triton", "/v2/models/M/generate", `{"text_input":"a","stream":true}`, Config{}, 400, `{"error":"generate expects model to produce exactly 1 response, use generate stream for model that generates various number of responses"}`},

		{"no prompt", "llama-server", "/completion", `{"prompt":[]}`, Config{}, 400, `{"error":{"code":400,"message":"\"prompt\" must be a string, an list of tokens, a list of mixed strings & tokens, or a list of prompts","type":"invalid_request_error"}}`},
		{"prompt too long", "llama-server", "/completion", `{"prompt":` + long + `}`, Config{Profile: small}, 400, `{"error":{"code":400,"message":"the request exceeds the available context size. try increasing the context size or enable context shift","n_ctx":20,"n_prompt_tokens":31,"type":"exceed_context_size_error"}}`},
		{"key", "llama-server", "/completion", `{}`, key, 401, `{"error":{"code":401,"message":"Invalid or missing API key.","type":"authentication_error"}}`},
		{"unknown path", "llama-server", "/generate", ``, Config{}, 404, `{"error":{"code":404,"message":"Not Found","type":"not_found_error"}}`},

		{"unknown model", "ollama", "/api/generate", `{"model":"x","prompt":"a"}`, Config{}, 404, `{"error":"model 'x' not found"}`},
		{"prompt too long", "ollama", "/api/generate", `{"model":"M","prompt":` + long + `,"raw":true,"truncate":false,"options":{"num_ctx":30}}`, Config{}, 400, `{"error":"the input length exceeds the context length"}`},
		{"unknown path", "ollama", "/v1/completions", ``, Config{}, 404, `404 page not found`},

		{"no maximum", "anthropic", "/v1/messages", `{"model":"M","messages":[{"role":"user","content":"a"}]}`, Config{}, 400, `{"type":"error","error":{"type":"invalid_request_error","message":"max_tokens: Field required"}}`},
		{"unknown field", "anthropic", "/v1/messages", `{"model":"M","max_tokens":1,"ignore_eos":true,"messages":[{"role":"user","content":"a"}]}`, Config{}, 400, `{"type":"error","error":{"type":"invalid_request_error","message":"ignore_eos: Extra inputs are not permitted"}}`},
		{"unknown model", "anthropic", "/v1/messages", `{"model":"x"}`, Config{}, 404, `{"type":"error","error":{"type":"not_found_error","message":"model: x"}}`},
		{"prompt too long", "anthropic", "/v1/messages", `{"model":"M","max_tokens":1,"messages":[{"role":"user","content":` + long + `}]}`, Config{Profile: small}, 400, `{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 43 tokens > 19 maximum"}}`},
		{"too little thinking", "anthropic", "/v1/messages", `{"model":"M","max_tokens":9,"thinking":{"type":"enabled","budget_tokens":8},"messages":[{"role":"user","content":"a"}]}`, Config{}, 400, `{"type":"error","error":{"type":"invalid_request_error","message":"thinking.enabled.budget_tokens: Input should be greater than or equal to 1024"}}`},
		{"too much thinking", "anthropic", "/v1/messages", `{"model":"M","max_tokens":1024,"thinking":{"type":"enabled","budget_tokens":1024},"messages":[{"role":"user","content":"a"}]}`, Config{}, 400, `{"type":"error","error":{"type":"invalid_request_error","message":"` + "`max_tokens` must be greater than `thinking.budget_tokens`" + `."}}`},
		{"key", "anthropic", "/v1/messages", `{}`, key, 401, `{"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key"}}`},

		{"unknown field", "openai-responses", "/v1/responses", `{"model":"M","input":"a","max_tokens":16}`, Config{}, 400, `{"error":{"message":"Unknown parameter: 'max_tokens'.","type":"invalid_request_error","param":"max_tokens","code":"unknown_parameter"}}`},
		{"too few tokens", "openai-responses", "/v1/responses", `{"model":"M","input":"a","max_output_tokens":15}`, Config{}, 400, `{"error":{"message":"Invalid 'max_output_tokens': integer below minimum value. Expected a value >= 16, but got 15 instead.","type":"invalid_request_error","param":"max_output_tokens","code":"integer_below_min_value"}}`},
		{"unknown model", "openai-responses", "/v1/responses", `{"model":"x","input":"a"}`, Config{}, 400, `{"error":{"message":"The requested model 'x' does not exist.","type":"invalid_request_error","param":"model","code":"model_not_found"}}`},
		{"no input", "openai-responses", "/v1/responses", `{"model":"M"}`, Config{}, 400, `{"error":{"message":"Missing required parameter: 'input'.","type":"invalid_request_error","param":"input","code":"missing_required_parameter"}}`},
		{"prompt too long", "openai-responses", "/v1/responses", `{"model":"M","input":` + long + `}`, Config{Profile: small}, 400, `{"error":{"message":"Your input exceeds the context window of this model. Please adjust your input and try again.","type":"invalid_request_error","param":"input","code":"context_length_exceeded"}}`},
		{"key", "openai-responses", "/v1/responses", `{}`, key, 401, `{"error":{"message":"Incorrect API key provided.","type":"invalid_request_error","param":null,"code":"invalid_api_key"}}`},

		{"no version", "azure-openai", "/openai/deployments/M/chat/completions", `{}`, Config{}, 404, `{"error":{"code":"404","message":"Resource not found"}}`},
		{"unknown deployment", "azure-openai", "/openai/deployments/x/chat/completions?api-version=v", `{}`, Config{}, 404, `{"error":{"code":"DeploymentNotFound","message":"The API deployment for this resource does not exist. If you created the deployment within the last 5 minutes, please wait a moment and try again."}}`},
		{"vLLM's minimum", "azure-openai", azurePath, `{"min_tokens":4}`, Config{}, 400, `{"error":{"message":"Unrecognized request argument supplied: min_tokens","type":"invalid_request_error","param":null,"code":null}}`},
		{"vLLM's usage", "azure-openai", azurePath, `{"stream_options":{"continuous_usage_stats":true}}`, Config{}, 400, `{"error":{"message":"Unrecognized request argument supplied: continuous_usage_stats","type":"invalid_request_error","param":null,"code":null}}`},
		{"one more field", "azure-openai", azurePath, `{"seed":1}`, Config{RejectFields: []string{"seed"}}, 400, `{"error":{"message":"Unrecognized request argument supplied: seed","type":"invalid_request_error","param":null,"code":null}}`},
		{"key", "azure-openai", azurePath, `{}`, key, 401, `{"error":{"code":"401","message":"Access denied due to invalid subscription key or wrong API endpoint. Make sure to provide a valid key for an active subscription and use a correct regional API endpoint for your resource."}}`},
		{"list of models", "azure-openai", "/v1/models", ``, Config{}, 404, `{"error":{"code":"404","message":"Resource not found"}}`},
	} {
		t.Run(test.api+" "+test.name, func(t *testing.T) {
			test.config.API, test.config.Model = test.api, "M"
			bubble(t, test.config, func(t *testing.T, r *rig) {
				got := r.post(t, test.path, test.body, anthropicVersion()...)
				if diff := cmp.Diff(test.want+"\n", got.text()); diff != "" || got.status != test.status {
					t.Errorf("status %d, want %d; body (-want +got):\n%s", got.status, test.status, diff)
				}
			})
		})
	}
}

func TestNativeRefusalsOfNoJSON(t *testing.T) {
	for _, n := range natives() {
		n.body = "{"
		n.on(t, Config{}, func(t *testing.T, _ *rig, ask func() heard) {
			if got := ask(); got.status != 400 || !strings.Contains(got.text(), "unexpected end of JSON input") {
				t.Errorf("status %d, %s", got.status, got.text())
			}
		})
	}
}

func TestAnthropicWantsItsVersion(t *testing.T) {
	for _, path := range []string{"/v1/messages", "/v1/messages/count_tokens"} {
		bubble(t, Config{API: "anthropic"}, func(t *testing.T, r *rig) {
			got := r.post(t, path, `{}`)
			want := `{"type":"error","error":{"type":"invalid_request_error","message":"anthropic-version: header is required"}}` + "\n"
			if got.status != 400 || got.text() != want {
				t.Errorf("%s: status %d, %s", path, got.status, got.text())
			}
		})
	}
}

func TestKeysInHeadersOfTheirOwn(t *testing.T) {
	for _, test := range []struct {
		api, header string
		status      int
	}{
		{"anthropic", "X-Api-Key", 200},
		{"llama-server", "X-Api-Key", 200},
		{"azure-openai", "Api-Key", 200},
		{"openai-responses", "X-Api-Key", 401},
		{"sglang", "Api-Key", 401},
	} {
		n := nativeOf(t, test.api)
		n.on(t, Config{APIKey: "k"}, func(t *testing.T, r *rig, _ func() heard) {
			if got := r.post(t, n.path, n.body, append(n.header, test.header, "k")...); got.status != test.status {
				t.Errorf("%s: status %d, want %d", test.header, got.status, test.status)
			}
			if got := r.post(t, n.path, n.body, append(n.header, test.header, "x")...); got.status != 401 {
				t.Errorf("a wrong %s: status %d", test.header, got.status)
			}
			if got := r.post(t, n.path, n.body, append(n.header, "Authorization", "Bearer k")...); got.status != 200 {
				t.Errorf("Bearer: status %d", got.status)
			}
		})
	}
}

func TestNativeSideRoutes(t *testing.T) {
	for _, test := range []struct{ api, method, path, body, want string }{
		{"sglang", "GET", "/v1/models", "", `{"object":"list","data":[{"id":"M","object":"model","created":946684800,"owned_by":"sglang","root":"M","parent":null,"max_model_len":131072}]}`},
		{"sglang", "GET", "/get_model_info", "", `{"model_path":"M","tokenizer_path":"M","is_generation":true,"weight_version":"default"}`},
		{"sglang", "POST", "/tokenize", `{"model":"M","prompt":"the river"}`, `{"tokens":[128000,61924,56633],"count":3,"max_model_len":131072}`},
		{"sglang", "POST", "/v1/tokenize", `{"prompt":"the river","add_special_tokens":false}`, `{"tokens":[61924,56633],"count":2,"max_model_len":131072}`},
		{"sglang", "GET", "/health", "", ""},
		{"triton", "GET", "/v2", "", `{"name":"triton","version":"2.59.0","extensions":["classification","model_repository","generate"]}`},
		{"triton", "POST", "/v2/repository/index", "", `[{"name":"M","version":"1","state":"READY"}]`},
		{"triton", "GET", "/v2/health/ready", "", ""},
		{"triton", "POST", "/v2/models/M/generate", `{"text_input":"hi","parameters":{"max_tokens":2}}`, `{"model_name":"M","model_version":"1","text_output":"hithe river"}`},
		{"triton", "POST", "/v2/models/M/generate_stream", `{"text_input":"hi","exclude_input_in_output":true,"parameters":{"max_tokens":2},"return_num_output_tokens":true}`, `data: {"model_name":"M","model_version":"1","num_output_tokens":2,"text_output":"the river"}`},
		{"llama-server", "GET", "/health", "", `{"status":"ok"}`},
		{"llama-server", "GET", "/v1/models", "", `{"object":"list","data":[{"id":"M","object":"model","created":946684800,"owned_by":"llamacpp","meta":{"n_ctx_train":131072}}]}`},
		{"llama-server", "GET", "/props", "", `{"default_generation_settings":{"n_ctx":131072},"total_slots":1,"model_path":"M","build_info":"b6510-sim"}`},
		{"llama-server", "POST", "/tokenize", `{"content":"the river"}`, `{"tokens":[61924,56633]}`},
		{"llama-server", "POST", "/tokenize", `{"content":"the river","add_special":true}`, `{"tokens":[128000,61924,56633]}`},
		{"llama-server", "POST", "/apply-template", `{"messages":[{"role":"user","content":"hi"}]}`, `{"prompt":"<|user|>\nhi\n<|assistant|>\n"}`},
		{"llama-server", "POST", "/completion", `{"prompt":"hi","n_predict":2,"return_tokens":true}`, `{"index":0,"content":"the river","tokens":[61924,56633],"id_slot":0,"stop":true,"model":"M","tokens_predicted":2,"tokens_evaluated":2,"truncated":false,"stop_type":"limit","stopping_word":"","tokens_cached":3,"timings":{"cache_n":0,"prompt_n":2,"prompt_ms":20,"predicted_n":2,"predicted_ms":1}}`},
		{"ollama", "GET", "/", "", `Ollama is running`},
		{"ollama", "GET", "/api/version", "", `{"version":"0.12.6"}`},
		{"ollama", "GET", "/v1/models", "", `{"object":"list","data":[{"id":"M","object":"model","created":946684800,"owned_by":"library"}]}`},
		{"ollama", "GET", "/api/tags", "", `{"models":[{"name":"M","model":"M","modified_at":"2000-01-01T00:00:00Z","size":4294967296,"digest":"0000000000000000000000000000000000000000000000000000000000000001"}]}`},
		{"ollama", "POST", "/api/generate", `{"model":"M","prompt":"hi","stream":false,"options":{"num_predict":2}}`, `{"model":"M","created_at":"2000-01-01T00:00:00.021Z","response":"the river","done":true,"done_reason":"length","total_duration":21000000,"load_duration":0,"prompt_eval_count":14,"prompt_eval_duration":20000000,"eval_count":2,"eval_duration":1000000}`},
		{"anthropic", "GET", "/v1/models", "", `{"data":[{"type":"model","id":"M","display_name":"M","created_at":"2000-01-01T00:00:00Z"}],"has_more":false,"first_id":"M","last_id":"M"}`},
		{"anthropic", "POST", "/v1/messages/count_tokens", `{"model":"M","system":"be brief","messages":[{"role":"user","content":"hi"}]}`, `{"input_tokens":16}`},
		{"anthropic", "POST", "/v1/messages", `{"model":"M","max_tokens":2,"messages":[{"role":"user","content":"hi"}]}`, `{"id":"msg_000000000000000000000001","type":"message","role":"assistant","model":"M","content":[{"type":"text","text":"the river"}],"stop_reason":"max_tokens","stop_sequence":null,"usage":{"input_tokens":14,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":2}}`},
		{"openai-responses", "GET", "/v1/models", "", `{"object":"list","data":[{"id":"M","object":"model","created":946684800,"owned_by":"openai"}]}`},
		{"openai-responses", "POST", "/v1/responses/input_tokens", `{"model":"M","instructions":"be brief","input":[{"role":"user","content":[{"type":"input_text","text":"hi"}]}]}`, `{"object":"response.input_tokens","input_tokens":16}`},
		{"azure-openai", "POST", azurePath, `{"model":"ignored","messages":[{"role":"user","content":"hi"}],"max_tokens":2}`, `{"id":"chatcmpl-00000000000000000000000000000001","object":"chat.completion","created":946684800,"model":"M","choices":[{"index":0,"message":{"role":"assistant","content":"the river"},"logprobs":null,"finish_reason":"length","stop_reason":null}],"usage":{"prompt_tokens":14,"total_tokens":16,"completion_tokens":2,"prompt_tokens_details":{"cached_tokens":0}}}`},
	} {
		t.Run(test.api+" "+test.path, func(t *testing.T) {
			bubble(t, Config{API: test.api, Model: "M"}, func(t *testing.T, r *rig) {
				got := r.do(t.Context(), t, test.method, test.path, test.body, anthropicVersion()...)
				if diff := cmp.Diff(test.want, strings.TrimSuffix(got.text(), "\n")); diff != "" || got.status != 200 {
					t.Errorf("status %d (-want +got):\n%s", got.status, diff)
				}
			})
		})
	}
}

func TestNoTokenizeTakesCountingAway(t *testing.T) {
	for api, path := range map[string]string{
		"sglang": "/tokenize", "llama-server": "/tokenize", "anthropic": "/v1/messages/count_tokens", "openai-responses": "/v1/responses/input_tokens",
	} {
		bubble(t, Config{API: api, NoTokenize: true}, func(t *testing.T, r *rig) {
			if got := r.post(t, path, `{}`, anthropicVersion()...); got.status != 404 {
				t.Errorf("%s: status %d", api, got.status)
			}
		})
	}
}

func TestParseAPI(t *testing.T) {
	for _, name := range APIs() {
		if got, err := ParseAPI(name); got != name || err != nil {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	want := `api "olama": unknown; known: openai, tgi, sglang, triton, llama-server, ollama, anthropic, openai-responses, azure-openai`
	if got, err := ParseAPI("olama"); got != "" || err == nil || err.Error() != want {
		t.Errorf("%q, %v", got, err)
	}
}

func TestAnyProfileSpeaksAnyAPI(t *testing.T) {
	for _, p := range Profiles() {
		bubble(t, Config{Profile: p, API: "triton"}, func(t *testing.T, r *rig) {
			name := p.Model[strings.LastIndex(p.Model, "/")+1:]
			got := r.post(t, "/v2/models/"+name+"/generate_stream", `{"text_input":"do not stop","stream":true,"parameters":{"max_tokens":4}}`)
			if sent := r.last(t); got.status != 200 || len(got.lines) != 4 || sent.Output != 4 {
				t.Errorf("%s: status %d\n%s", p.Name, got.status, got.text())
			}
		})
	}
}
