package sim

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestParseKind(t *testing.T) {
	for name, want := range map[string]string{"": "vllm", "vllm": "vllm", "llama-server": "llama-server"} {
		if got, err := ParseKind(name); got != want || err != nil {
			t.Errorf("%q: %q, %v; want %q", name, got, err, want)
		}
	}
	want := `server "sglan": unknown; known: vllm, production-stack, ray-serve, tgi, sglang, trtllm, lmdeploy, llama-server, kserve, nim, dynamo, openrouter, litellm, openai`
	if got, err := ParseKind("sglan"); got != "" || err == nil || err.Error() != want {
		t.Errorf("%q, error\n got %v\nwant %s", got, err, want)
	}
}

func TestAKindNeedsTheOpenAIStyle(t *testing.T) {
	bubble(t, Config{Profile: profile(t, "tgi"), Server: "llama-server"}, func(t *testing.T, r *rig) {
		if got := r.get(t, "/nothing"); got.header.Get("Server") != "" || got.text() != "{\"detail\":\"Not Found\"}\n" {
			t.Errorf("server %q, body %s", got.header.Get("Server"), got.text())
		}
	})
}

func TestRequestsThatKindsRefuse(t *testing.T) {
	const ids = `{"model":"M","prompt":[1,2,3],"max_tokens":1}`
	unknown := `{"model":"x","prompt":"a"}`
	long := `{"model":"M","prompt":"` + strings.Repeat("a ", 131072) + `"}`
	for _, test := range []struct {
		kind, path, body string
		status           int
		want             string
	}{
		{"production-stack", "/completions", unknown, 404, `{"error":"The model ` + "`x`" + ` does not exist."}`},
		{"production-stack", "/completions", `{"prompt":"a"}`, 400, `{"error":"Invalid request: missing 'model' in request body."}`},
		{"production-stack", "/completions", `{`, 400, `{"error":"Invalid JSON body: unexpected end of JSON input"}`},
		{"production-stack", "/completions", `{"model":"M"}`, 400, `{"error":{"message":"prompt must be a text or a list of token ids, not empty, and only one of them.","type":"BadRequestError","param":"prompt","code":400}}`},
		{"ray-serve", "/completions", unknown, 404, `{"error":{"message":"The model ` + "`x`" + ` does not exist.","type":"NotFoundError","param":"model","code":404}}`},
		{"tgi", "/completions", ids, 422, `{"error":"prompt must be a text or a list of texts, got token ids.","error_type":"validation"}`},
		{"tgi", "/chat/completions", `{"messages":[],"stream":true}`, 200, "data: " + `{"error":{"message":"Field required: messages, a list of at least one message.","http_status_code":422}}` + "\ndata: [DONE]"},
		{"tgi", "/chat/completions", `{"messages":[]}`, 422, `{"error":"Field required: messages, a list of at least one message.","error_type":"validation"}`},
		{"tgi", "/completions", `{"prompt":"a","max_tokens":131071,"stream":true}`, 200, "data: " + `{"error":{"message":"Input validation error: ` + "`inputs` tokens + `max_new_tokens` must be <= 131072. Given: 2 `inputs` tokens and 131071 `max_new_tokens`" + `","http_status_code":422}}` + "\ndata: [DONE]"},
		{"sglang", "/completions", unknown, 404, `{"object":"error","message":"The model ` + "`x`" + ` does not exist.","type":"NotFoundError","param":"model","code":404}`},
		{"trtllm", "/completions", `{"model":"M","prompt":"a","cache_salt":"s"}`, 400, `{"object":"error","message":"[{'type': 'extra_forbidden', 'loc': ('body', 'cache_salt'), 'msg': 'Extra inputs are not permitted', 'input': 's'}]","type":"BadRequestError","param":null,"code":400}`},
		{"trtllm", "/chat/completions", `{"messages":[{"content":"a"}],"stream":true,"stream_options":{"x":true},"priority":1}`, 400, `{"object":"error","message":"[{'type': 'extra_forbidden', 'loc': ('body', 'priority'), 'msg': 'Extra inputs are not permitted', 'input': 1}, {'type': 'extra_forbidden', 'loc': ('body', 'stream_options', 'x'), 'msg': 'Extra inputs are not permitted', 'input': True}]","type":"BadRequestError","param":null,"code":400}`},
		{"lmdeploy", "/completions", unknown, 404, `{"message":"The model ` + "`x`" + ` does not exist.","type":"invalid_request_error","code":404,"param":"model","object":"error"}`},
		{"llama-server", "/completions", long, 400, `{"error":{"code":400,"message":"This model's maximum context length is 131072 tokens. However, your request has 131073 input tokens. Please reduce the length of the input messages.","type":"exceed_context_size_error","n_prompt_tokens":131073,"n_ctx":131072}}`},
		{"llama-server", "/completions", `{}`, 400, `{"error":{"code":400,"message":"prompt must be a text or a list of token ids, not empty, and only one of them.","type":"invalid_request_error"}}`},
		{"kserve", "/completions", unknown, 404, `{"error":{"message":"The model ` + "`x`" + ` does not exist.","type":"NotFoundError","param":"model","code":"404"}}`},
		{"kserve", "/completions", long, 500, `{"error":{"message":"This model's maximum context length is 131072 tokens. However, your request has 131073 input tokens. Please reduce the length of the input messages.","type":"InternalServerError","param":null,"code":"500"}}`},
		{"nim", "/completions", unknown, 404, `{"error":{"message":"The model ` + "`x`" + ` does not exist.","type":"NotFoundError","param":"model","code":404}}`},
		{"dynamo", "/completions", ids, 400, `{"message":"prompt must be a text or a list of texts, got token ids.","code":400}`},
		{"dynamo", "/completions", `{"nvext":{"token_data":"a"}}`, 400, `{"message":"nvext.token_data must be a list of token ids.","code":400}`},
		{"openrouter", "/completions", ids, 400, `{"error":{"message":"prompt must be a text or a list of texts, got token ids.","code":400}}`},
		{"litellm", "/completions", ids, 400, `{"error":{"message":"prompt must be a text or a list of texts, got token ids.","type":"invalid_request_error","param":"prompt","code":"400"}}`},
		{"openai", "/completions", ids, 400, `{"error":{"message":"prompt must be a text or a list of texts, got token ids.","type":"invalid_request_error","param":"prompt","code":null}}`},
		{"openai", "/completions", unknown, 404, `{"error":{"message":"The model ` + "`x`" + ` does not exist.","type":"invalid_request_error","param":"model","code":"model_not_found"}}`},
		{"openai", "/completions", `{"prompt":"a","min_tokens":1}`, 400, `{"error":{"message":"Unrecognized request argument supplied: min_tokens","type":"invalid_request_error","param":null,"code":null}}`},
		{"openai", "/completions", `{"prompt":"a","min_tokens":1,"ignore_eos":true,"cache_salt":"s"}`, 400, `{"error":{"message":"Unrecognized request arguments supplied: cache_salt, ignore_eos, min_tokens","type":"invalid_request_error","param":null,"code":null}}`},
		{"openai", "/completions", `{"prompt":"a","stream":true,"stream_options":{"continuous_usage_stats":true}}`, 400, `{"error":{"message":"Unknown parameter: 'stream_options.continuous_usage_stats'.","type":"invalid_request_error","param":"stream_options.continuous_usage_stats","code":"unknown_parameter"}}`},
		{"openai", "/chat/completions", `{"messages":[{"content":"a"}],"max_tokens":1}`, 400, `{"error":{"message":"Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.","type":"invalid_request_error","param":"max_tokens","code":"unsupported_parameter"}}`},
	} {
		t.Run(test.kind+" "+test.path, func(t *testing.T) {
			bubble(t, Config{Server: test.kind, Model: "M"}, func(t *testing.T, r *rig) {
				got := r.post(t, r.base()+test.path, test.body)
				if diff := cmp.Diff(test.want+"\n", got.text()); diff != "" || got.status != test.status {
					t.Errorf("status %d, want %d; body (-want +got):\n%s", got.status, test.status, diff)
				}
			})
		})
	}
}

func TestErrorsOfKinds(t *testing.T) {
	const failed = "Simulated fault: the engine failed."
	for _, test := range []struct {
		kind     string
		overload string // of a 503
		tail     string // after one token, with error_after=1
		cut      bool
	}{
		{"vllm", `{"error":{"message":"Simulated fault: 503 Service Unavailable","type":"ServiceUnavailableError","param":null,"code":503}}`, `data: {"error":{"message":"` + failed + `","type":"InternalServerError","param":null,"code":500}}` + "\ndata: [DONE]\n", false},
		{"production-stack", `{"error":"Simulated fault: 503 Service Unavailable"}`, `data: {"error":{"message":"` + failed + `","type":"InternalServerError","param":null,"code":500}}` + "\ndata: [DONE]\n", false},
		{"ray-serve", `{"error":{"message":"Simulated fault: 503 Service Unavailable","type":"ServiceUnavailableError","param":null,"code":503}}`, `data: {"error":{"message":"` + failed + `","type":"InternalServerError","param":null,"code":500}}` + "\ndata: [DONE]\n", false},
		{"tgi", `{"error":"Simulated fault: 503 Service Unavailable","error_type":"overloaded"}`, `data: {"error":{"message":"Request failed during generation: simulated fault","http_status_code":422}}` + "\ndata: [DONE]\n", false},
		{"sglang", `{"object":"error","message":"Simulated fault: 503 Service Unavailable","type":"ServiceUnavailableError","param":null,"code":503}`, `data: {"error":{"object":"error","message":"` + failed + `","type":"InternalServerError","param":null,"code":500}}` + "\ndata: [DONE]\n", false},
		{"trtllm", `{"object":"error","message":"Simulated fault: 503 Service Unavailable","type":"ServiceUnavailableError","param":null,"code":503}`, "", true},
		{"lmdeploy", `{"message":"Simulated fault: 503 Service Unavailable","type":"internal_server_error","code":503,"param":null,"object":"error"}`, `data: {"error":{"message":"` + failed + `","type":"internal_server_error","code":500,"param":null,"object":"error"}}` + "\ndata: [DONE]\n", false},
		{"llama-server", `{"error":{"code":503,"message":"Simulated fault: 503 Service Unavailable","type":"unavailable_error"}}`, `data: {"error":{"code":500,"message":"` + failed + `","type":"server_error"}}` + "\n", false},
		{"kserve", `{"error":{"message":"Simulated fault: 503 Service Unavailable","type":"ServiceUnavailableError","param":null,"code":"503"}}`, `data: {"error":{"message":"` + failed + `","type":"InternalServerError","param":null,"code":"500"}}` + "\ndata: [DONE]\n", false},
		{"nim", `{"error":{"message":"Simulated fault: 503 Service Unavailable","type":"ServiceUnavailableError","param":null,"code":503}}`, `data: {"error":{"message":"` + failed + `","type":"InternalServerError","param":null,"code":500}}` + "\ndata: [DONE]\n", false},
		{"dynamo", `{"message":"Simulated fault: 503 Service Unavailable","code":503}`, "event: error\n: " + failed + "\n", false},
		{"openrouter", `{"error":{"message":"Simulated fault: 503 Service Unavailable","code":503}}`, `data: {"id":"gen-abc","provider":"Simulated","model":"M","object":"chat.completion.chunk","created":946684800,"error":{"code":500,"message":"` + failed + `"},"choices":[{"index":0,"delta":{"content":""},"finish_reason":"error","native_finish_reason":null,"logprobs":null}]}` + "\ndata: [DONE]\n", false},
		{"litellm", `{"error":{"message":"Simulated fault: 503 Service Unavailable","type":"internal_server_error","param":null,"code":"503"}}`, `data: {"error":{"message":"` + failed + `","type":"internal_server_error","param":null,"code":"500"}}` + "\n", false},
		{"openai", `{"error":{"message":"Simulated fault: 503 Service Unavailable","type":"server_error","param":null,"code":null}}`, `data: {"error":{"message":"` + failed + `","type":"server_error","param":null,"code":null}}` + "\n", false},
	} {
		t.Run(test.kind, func(t *testing.T) {
			bubble(t, Config{Server: test.kind, Model: "M"}, func(t *testing.T, r *rig) {
				r.inject(t, "status=503")
				if got := r.post(t, r.base()+"/completions", kindText(test.kind)); got.status != 503 || got.text() != test.overload+"\n" {
					t.Errorf("status %d, body\n got %swant %s", got.status, got.text(), test.overload)
				}
				r.inject(t, "")
				whole := r.post(t, r.base()+"/chat/completions", kindChat(test.kind), "X-Request-Id", "abc")
				r.inject(t, "error_after=1")
				other := strings.Replace(kindChat(test.kind), "count", "tell", 1)
				got := r.post(t, r.base()+"/chat/completions", other, "X-Request-Id", "abc")
				tail := shorn(whole, got)
				if tail != test.tail || (got.err != nil) != test.cut || got.status != 200 {
					t.Errorf("status %d, error %v, tail\n got %swant %s", got.status, got.err, tail, test.tail)
				}
			})
		})
	}
}

// shorn is what a broken answer has behind the lines that it shares with the whole one. The number of LMDeploy's answers is
// taken as one.
func shorn(whole, broken heard) string {
	for i, l := range broken.lines {
		if l.text != whole.lines[i].text && strings.Replace(l.text, `"id":"3"`, `"id":"2"`, 1) != whole.lines[i].text {
			return heard{lines: broken.lines[i:]}.text()
		}
	}
	return ""
}

func TestSideRoutesOfKinds(t *testing.T) {
	const (
		vllmTokens = `{"count":2,"max_model_len":131072,"tokens":[128000,61924],"token_strs":null}`
		lost       = `{"detail":"Not Found"}`
		prompt     = `{"model":"M","prompt":"the"}`
	)
	vllmModel := `{"object":"list","data":[{"id":"M","object":"model","created":946684800,"owned_by":"vllm","root":"M","parent":null,"max_model_len":131072}]}`
	for _, test := range []struct{ kind, route, body, want string }{
		{"vllm", "GET /v1/models", "", vllmModel},
		{"production-stack", "GET /v1/models", "", vllmModel},
		{"production-stack", "GET /engines", "", `[{"engine_id":"engine-0","serving_models":["M"],"created":946684800}]`},
		{"production-stack", "POST /tokenize", prompt, vllmTokens},
		{"ray-serve", "GET /v1/models", "", `{"object":"list","data":[{"id":"M","object":"model","owned_by":"organization-owner","permission":[],"metadata":{"model_id":"M","input_modality":"text","max_request_context_length":131072}}]}`},
		{"ray-serve", "POST /tokenize", prompt, vllmTokens},
		{"ray-serve", "POST /tokenize", `{"messages":[{"content":"a"}]}`, `{"error":{"message":"Field required: prompt.","type":"BadRequestError","param":"prompt","code":400}}`},
		{"ray-serve", "GET /version", "", lost},
		{"tgi", "GET /v1/models", "", `{"object":"list","data":[{"id":"M","object":"model","created":0,"owned_by":"M"}]}`},
		{"tgi", "POST /tokenize", `{"inputs":"the"}`, `[{"id":128000,"text":"<|begin_of_text|>","start":0,"stop":0},{"id":61924,"text":"the","start":0,"stop":3}]`},
		{"tgi", "POST /chat_tokenize", `{"messages":[]}`, `{"error":"Failed to deserialize the JSON body into the target type: missing field ` + "`messages`" + `","error_type":"validation"}`},
		{"tgi", "POST /generate_stream", `{}`, lost},
		{"sglang", "GET /v1/models", "", `{"object":"list","data":[{"id":"M","object":"model","created":946684800,"owned_by":"sglang","root":"M","parent":null,"max_model_len":131072}]}`},
		{"sglang", "POST /tokenize", prompt, `{"tokens":[128000,61924],"count":2,"max_model_len":131072}`},
		{"sglang", "POST /v1/tokenize", `{"prompt":"the","add_special_tokens":false}`, `{"tokens":[61924],"count":1,"max_model_len":131072}`},
		{"sglang", "POST /tokenize", `[]`, `{"object":"error","message":"Invalid JSON body.","type":"BadRequestError","param":null,"code":400}`},
		{"trtllm", "GET /v1/models", "", `{"object":"list","data":[{"id":"M","object":"model","created":946684800,"owned_by":"tensorrt_llm"}]}`},
		{"trtllm", "POST /tokenize", prompt, lost},
		{"lmdeploy", "GET /v1/models", "", `{"object":"list","data":[{"id":"M","object":"model","created":946684800,"owned_by":"lmdeploy","root":"M","parent":null,"permission":[]}]}`},
		{"lmdeploy", "POST /v1/encode", `{"input":"the","add_bos":true}`, `{"input_ids":[128000,61924],"length":2}`},
		{"lmdeploy", "POST /v1/encode", `{"input":"the","add_bos":false}`, `{"input_ids":[61924],"length":1}`},
		{"lmdeploy", "POST /v1/encode", `{}`, `{"message":"input must be a text.","type":"invalid_request_error","code":400,"param":"input","object":"error"}`},
		{"lmdeploy", "POST /tokenize", prompt, lost},
		{"llama-server", "GET /v1/models", "", `{"object":"list","data":[{"id":"M","object":"model","created":946684800,"owned_by":"llamacpp","meta":{"vocab_type":2,"n_vocab":128256,"n_ctx_train":131072,"n_embd":4096}}]}`},
		{"llama-server", "POST /tokenize", `{"content":"the"}`, `{"tokens":[61924]}`},
		{"llama-server", "POST /tokenize", `{"content":"the","add_special":true}`, `{"tokens":[128000,61924]}`},
		{"llama-server", "POST /tokenize", `{"content":1}`, `{"error":{"code":400,"message":"content must be a text.","type":"invalid_request_error"}}`},
		{"llama-server", "GET /engines", "", `{"error":{"code":404,"message":"File Not Found","type":"not_found_error"}}`},
		{"kserve", "GET /openai/v1/models", "", `{"object":"list","data":[{"id":"M","object":"model","created":946684800,"owned_by":""}]}`},
		{"kserve", "GET /v1/models", "", `{"models":["M"]}`},
		{"kserve", "POST /v1/completions", prompt, lost},
		{"kserve", "POST /tokenize", prompt, lost},
		{"kserve", "GET /v2/health/ready", "", `{"ready":true}`},
		{"nim", "GET /v1/models", "", vllmModel},
		{"nim", "GET /v1/health/ready", "", `{"object":"health.response","message":"Service is ready."}`},
		{"nim", "GET /v1/metadata", "", `{"version":"2.0.1","modelInfo":[{"modelUrl":"ngc://nim/M","shortName":"M"}],"assetInfo":[],"licenseInfo":{"name":"NVIDIA AI Product License","path":"/opt/nim/LICENSE","sha":"0000000000000000000000000000000000000000"},"repository_override":"","selectedModelProfileId":"vllm-sim"}`},
		{"nim", "POST /tokenize", prompt, vllmTokens},
		{"dynamo", "GET /v1/models", "", `{"object":"list","data":[{"id":"M","object":"model","created":946684800,"owned_by":"nvidia"}]}`},
		{"dynamo", "POST /tokenize", prompt, `{"message":"Route not found","code":404}`},
		{"openrouter", "GET /api/v1/models", "", `{"data":[{"id":"M","canonical_slug":"M","name":"M","created":946684800,"context_length":131072,"pricing":{"prompt":"0.0000001","completion":"0.0000002"},"top_provider":{"context_length":131072,"max_completion_tokens":null,"is_moderated":false},"supported_parameters":["max_tokens","seed","stop","temperature","top_p"]}]}`},
		{"openrouter", "POST /tokenize", prompt, `{"error":{"message":"Not Found","code":404}}`},
		{"litellm", "GET /v1/models", "", `{"data":[{"id":"M","object":"model","created":1677610602,"owned_by":"openai"}],"object":"list"}`},
		{"litellm", "POST /tokenize", prompt, lost},
		{"openai", "GET /v1/models", "", `{"object":"list","data":[{"id":"M","object":"model","created":946684800,"owned_by":"openai"}]}`},
		{"openai", "POST /tokenize", prompt, `{"error":{"message":"Invalid URL (POST /tokenize)","type":"invalid_request_error","param":null,"code":null}}`},
	} {
		t.Run(test.kind+" "+test.route, func(t *testing.T) {
			bubble(t, Config{Server: test.kind, Model: "M"}, func(t *testing.T, r *rig) {
				method, path, _ := strings.Cut(test.route, " ")
				got := r.do(t.Context(), t, method, path, test.body)
				if diff := cmp.Diff(test.want+"\n", got.text()); diff != "" {
					t.Errorf("status %d (-want +got):\n%s", got.status, diff)
				}
			})
		})
	}
}

func TestHeadersOfKinds(t *testing.T) {
	numbered := fmt.Sprintf("%032x", 1)
	for kind, want := range map[string]map[string]string{
		"vllm":             {"X-Request-Id": ""},
		"production-stack": {"X-Request-Id": numbered},
		"llama-server":     {"Server": "llama.cpp"},
		"tgi":              {"X-Accel-Buffering": "no", "X-Compute-Type": "1-simulated"},
		"openrouter":       {"X-Generation-Id": "gen-" + numbered},
		"litellm":          {"X-Litellm-Version": "1.80.0", "X-Litellm-Model-Id": "sim-0", "X-Litellm-Call-Id": numbered, "X-Litellm-Attempted-Retries": "0"},
		"openai":           {"X-Request-Id": "req_" + numbered, "Openai-Version": "2020-10-01", "Openai-Processing-Ms": "0"},
	} {
		bubble(t, Config{Server: kind, Model: "M"}, func(t *testing.T, r *rig) {
			got := r.post(t, r.base()+"/chat/completions", kindChat(kind))
			for name, value := range want {
				if got.header.Get(name) != value {
					t.Errorf("%s: %s is %q, want %q", kind, name, got.header.Get(name), value)
				}
			}
		})
	}
	bubble(t, Config{Server: "production-stack"}, func(t *testing.T, r *rig) {
		if got := r.get(t, "/nothing", "X-Request-Id", "mine", "X-User-Id", "u"); got.status != http.StatusNotFound || got.header.Get("X-Request-Id") != "mine" {
			t.Errorf("status %d, X-Request-Id %q", got.status, got.header.Get("X-Request-Id"))
		}
	})
}

func TestTimesOfKinds(t *testing.T) {
	slow := Profile{API: "openai", TTFT: 2500 * time.Millisecond, TPOT: 30 * time.Millisecond}
	four := `{"model":"M","prompt":"do not stop","max_tokens":4,"stream":true}`
	for kind, want := range map[string]struct {
		headers time.Duration
		lines   []time.Duration // comments, tokens, final, usage, [DONE]
	}{
		"vllm":       {0, ms(2500, 2530, 2560, 2590, 2590)},
		"ray-serve":  {2500 * time.Millisecond, ms(2500, 2550, 2590, 2590, 2590)},
		"openrouter": {0, ms(0, 1000, 2000, 2500, 2530, 2560, 2590, 2590, 2590, 2590)},
		"litellm":    {2500 * time.Millisecond, ms(2500, 2530, 2560, 2590, 2590, 2590)},
	} {
		bubble(t, Config{Profile: slow, Server: kind, Model: "M"}, func(t *testing.T, r *rig) {
			got := r.post(t, r.base()+"/completions", four)
			if diff := cmp.Diff(want.lines, got.times()); diff != "" || got.headers != want.headers {
				t.Errorf("%s: headers after %v, want %v; lines (-want +got):\n%s\n%s", kind, got.headers, want.headers, diff, got.text())
			}
		})
	}
}

func TestADollarInANameIsNoHole(t *testing.T) {
	bubble(t, Config{Model: "a$text$$"}, func(t *testing.T, r *rig) {
		got := r.post(t, "/v1/completions", `{"model":"a$text$$","prompt":"a","max_tokens":1,"stream":true}`, "X-Request-Id", "$finish")
		want := `data: {"id":"cmpl-$finish","object":"text_completion","created":946684800,"model":"a$text$$","choices":[{"index":0,"text":"the","logprobs":null,"finish_reason":"length","stop_reason":null}]}`
		if got.lines[0].text != want {
			t.Errorf("\n got %s\nwant %s", got.lines[0].text, want)
		}
		if models := r.get(t, "/v1/models").text(); !strings.Contains(models, `"id":"a$text$$"`) {
			t.Error(models)
		}
	})
}
