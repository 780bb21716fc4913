package sim

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// epoch is when every bubble starts: 2000-01-01 00:00:00 UTC.
const epoch = 946684800

func TestStreamsByteForByte(t *testing.T) {
	chatHead := fmt.Sprintf(`data: {"id":"chatcmpl-abc","object":"chat.completion.chunk","created":%d,"model":"M","choices":[`, epoch)
	textHead := fmt.Sprintf(`data: {"id":"cmpl-abc","object":"text_completion","created":%d,"model":"M","choices":[`, epoch)
	for _, test := range []struct {
		name, profile, path, body, want string
	}{
		{"chat with continuous usage", "fast", "/v1/chat/completions", chatFour, strings.Join([]string{
			chatHead + `{"index":0,"delta":{"role":"assistant","content":""},"logprobs":null,"finish_reason":null}],"usage":{"prompt_tokens":17,"total_tokens":17,"completion_tokens":0}}`,
			chatHead + `{"index":0,"delta":{"content":"the"},"logprobs":null,"finish_reason":null}],"usage":{"prompt_tokens":17,"total_tokens":18,"completion_tokens":1}}`,
			chatHead + `{"index":0,"delta":{"content":" river"},"logprobs":null,"finish_reason":null}],"usage":{"prompt_tokens":17,"total_tokens":19,"completion_tokens":2}}`,
			chatHead + `{"index":0,"delta":{"content":" runs"},"logprobs":null,"finish_reason":null}],"usage":{"prompt_tokens":17,"total_tokens":20,"completion_tokens":3}}`,
			chatHead + `{"index":0,"delta":{"content":" past"},"logprobs":null,"finish_reason":"length","stop_reason":null}],"usage":{"prompt_tokens":17,"total_tokens":21,"completion_tokens":4}}`,
			chatHead + `],"usage":{"prompt_tokens":17,"total_tokens":21,"completion_tokens":4,"prompt_tokens_details":{"cached_tokens":0}}}`,
			`data: [DONE]`,
		}, "\n") + "\n"},
		{"completion of token ids", "fast", "/v1/completions", completionFour, strings.Join([]string{
			textHead + `{"index":0,"text":"the","logprobs":null,"finish_reason":null,"stop_reason":null}]}`,
			textHead + `{"index":0,"text":" river","logprobs":null,"finish_reason":null,"stop_reason":null}]}`,
			textHead + `{"index":0,"text":" runs","logprobs":null,"finish_reason":null,"stop_reason":null}]}`,
			textHead + `{"index":0,"text":" past","logprobs":null,"finish_reason":"length","stop_reason":null}]}`,
			textHead + `],"usage":{"prompt_tokens":3,"total_tokens":7,"completion_tokens":4,"prompt_tokens_details":{"cached_tokens":0}}}`,
			`data: [DONE]`,
		}, "\n") + "\n"},
		{"completion without usage", "fast", "/v1/completions", `{"prompt":"hello","max_tokens":1,"stream":true}`, strings.Join([]string{
			textHead + `{"index":0,"text":"the","logprobs":null,"finish_reason":"length","stop_reason":null}]}`,
			`data: [DONE]`,
		}, "\n") + "\n"},
		{"TGI", "tgi", "/generate_stream", tgiFour, strings.Join([]string{
			`data:{"index":1,"token":{"id":61924,"text":"the","logprob":-0.5,"special":false},"generated_text":null,"details":null}`,
			`data:{"index":2,"token":{"id":56633,"text":" river","logprob":-0.5,"special":false},"generated_text":null,"details":null}`,
			`data:{"index":3,"token":{"id":17475,"text":" runs","logprob":-0.5,"special":false},"generated_text":null,"details":null}`,
			`data:{"index":4,"token":{"id":101893,"text":" past","logprob":-0.5,"special":false},"generated_text":"the river runs past","details":{"finish_reason":"length","generated_tokens":4,"seed":null,"input_length":5}}`,
		}, "\n") + "\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			bubble(t, Config{Profile: profile(t, test.profile), Model: "M"}, func(t *testing.T, r *rig) {
				got := r.post(t, test.path, test.body, "X-Request-Id", "abc")
				if diff := cmp.Diff(test.want, got.text()); diff != "" || got.err != nil || got.status != 200 {
					t.Errorf("status %d, error %v, body (-want +got):\n%s", got.status, got.err, diff)
				}
			})
		})
	}
}

func TestAnswersEndNaturallyAtAnInvisibleToken(t *testing.T) {
	bubble(t, Config{Seed: 7}, func(t *testing.T, r *rig) {
		got := r.post(t, "/v1/completions", `{"prompt":"hello","max_tokens":5000,"stream":true,"stream_options":{"include_usage":true}}`)
		sent := r.last(t)
		if sent.Finish != "stop" || sent.Output < 58 || sent.Output > 400 {
			t.Errorf("finish %q after %d tokens, want stop after 58 to 400", sent.Finish, sent.Output)
		}
		final := got.lines[sent.Output-1].text
		if !strings.Contains(final, `"text":"","logprobs":null,"finish_reason":"stop"`) {
			t.Errorf("the last token frame is not an invisible end: %s", final)
		}
		if usage := got.lines[sent.Output].text; !strings.Contains(usage, fmt.Sprintf(`"completion_tokens":%d,`, sent.Output)) {
			t.Errorf("usage does not count the invisible token: %s", usage)
		}
	})
}

func TestTGIAnswersEndNaturallyWithASpecialToken(t *testing.T) {
	bubble(t, Config{Profile: profile(t, "tgi")}, func(t *testing.T, r *rig) {
		got := r.post(t, "/generate_stream", `{"inputs":"hello","parameters":{"max_new_tokens":100,"details":true}}`)
		final := got.lines[len(got.lines)-1].text
		if !strings.Contains(final, `"text":"<|eot_id|>","logprob":-0.5,"special":true`) || !strings.Contains(final, `"finish_reason":"eos_token"`) {
			t.Errorf("last frame %s", final)
		}
		if strings.Count(final, "eot_id") != 1 {
			t.Errorf("generated_text shows the special token: %s", final)
		}
	})
}

func TestNaturalLengthDependsOnSeedAndPromptAlone(t *testing.T) {
	p := profile(t, "fast")
	of := func(seed uint64, text string) int {
		n, _ := ask{prompt: digestOf(plainPrompt(text).tokens(), ""), max: 5000}.length(p, seed)
		return n
	}
	if first, again := of(1, "hello"), of(1, "hello"); first != again {
		t.Error("the same seed and prompt gave two lengths")
	}
	if of(1, "hello") == of(2, "hello") && of(1, "hello") == of(1, "world") {
		t.Error("neither seed nor prompt changes the length")
	}
	for _, test := range []struct {
		name   string
		ask    ask
		want   int
		finish string
	}{
		{"a short limit cuts", ask{max: 10}, 10, "length"},
		{"endless goes to the limit", ask{max: 1000, endless: true}, 1000, "length"},
		{"min_tokens delays the end", ask{max: 1000, min: 500}, 500, "stop"},
	} {
		if n, finish := test.ask.length(p, 1); n != test.want || finish != test.finish {
			t.Errorf("%s: %d %s, want %d %s", test.name, n, finish, test.want, test.finish)
		}
	}
}

func TestWholeAnswers(t *testing.T) {
	for _, test := range []struct{ name, profile, path, body, want string }{
		{
			"chat", "fast", "/v1/chat/completions", `{"messages":[{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":" b"}]}],"max_completion_tokens":2}`,
			`{"id":"chatcmpl-abc","object":"chat.completion","created":946684800,"model":"M","choices":[{"index":0,"message":{"role":"assistant","content":"the river"},"logprobs":null,"finish_reason":"length","stop_reason":null}],"usage":{"prompt_tokens":15,"total_tokens":17,"completion_tokens":2,"prompt_tokens_details":{"cached_tokens":0}}}`,
		},
		{
			"completions", "fast", "/v1/completions", `{"prompt":["hello"],"max_tokens":2}`,
			`{"id":"cmpl-abc","object":"text_completion","created":946684800,"model":"M","choices":[{"index":0,"text":"the river","logprobs":null,"finish_reason":"length","stop_reason":null}],"usage":{"prompt_tokens":2,"total_tokens":4,"completion_tokens":2,"prompt_tokens_details":{"cached_tokens":0}}}`,
		},
		{
			"TGI", "tgi", "/generate", `{"inputs":"hello","parameters":{"max_new_tokens":2,"details":true}}`,
			`{"generated_text":"the river","details":{"finish_reason":"length","generated_tokens":2,"seed":null,"input_length":2}}`,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			bubble(t, Config{Profile: profile(t, test.profile), Model: "M"}, func(t *testing.T, r *rig) {
				got := r.post(t, test.path, test.body, "X-Request-Id", "abc")
				if diff := cmp.Diff(test.want+"\n", got.text()); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
				if len(r.sim.Sent()) != 0 {
					t.Error("an answer that was not streamed was written down")
				}
			})
		})
	}
}

func TestRefusals(t *testing.T) {
	strict := Config{Model: "M", RejectFields: []string{"cache_salt", "stream_options.continuous_usage_stats", "seed"}}
	small := Config{Model: "M", Profile: Profile{API: "openai", MaxModelLen: 20}}
	tgi := Config{Profile: profile(t, "tgi")}
	for _, test := range []struct {
		name         string
		config       Config
		path, body   string
		status       int
		want, header string
	}{
		{"unknown model", Config{}, "/v1/completions", `{"model":"x","prompt":"a"}`, 404,
			`{"error":{"message":"The model ` + "`x`" + ` does not exist.","type":"NotFoundError","param":"model","code":404}}`, ""},
		{"no JSON", Config{}, "/v1/completions", `{`, 400,
			`{"error":{"message":"Invalid JSON body: unexpected end of JSON input","type":"BadRequestError","param":null,"code":400}}`, ""},
		{"no messages", Config{}, "/v1/chat/completions", `{"prompt":"a"}`, 400,
			`{"error":{"message":"Field required: messages, a list of at least one message.","type":"BadRequestError","param":"messages","code":400}}`, ""},
		{"no prompt", Config{}, "/v1/completions", `{}`, 400,
			`{"error":{"message":"prompt must be a text or a list of token ids, not empty, and only one of them.","type":"BadRequestError","param":"prompt","code":400}}`, ""},
		{"no tokens", Config{}, "/v1/completions", `{"prompt":"a","max_tokens":0}`, 400,
			`{"error":{"message":"max_tokens must be at least 1, got 0.","type":"BadRequestError","param":"max_tokens","code":400}}`, ""},
		{"minimum above maximum", Config{}, "/v1/completions", `{"prompt":"a","max_tokens":5,"min_tokens":6}`, 400,
			`{"error":{"message":"min_tokens must be less than or equal to max_tokens=5, got 6.","type":"BadRequestError","param":"min_tokens","code":400}}`, ""},
		{"stream options without stream", Config{}, "/v1/completions", `{"prompt":"a","stream_options":{"include_usage":true}}`, 400,
			`{"error":{"message":"Stream options can only be defined when ` + "`stream=True`" + `.","type":"BadRequestError","param":"stream_options","code":400}}`, ""},
		{"empty salt", Config{}, "/v1/completions", `{"prompt":"a","cache_salt":""}`, 400,
			`{"error":{"message":"Parameter 'cache_salt' must be a non-empty string if provided.","type":"BadRequestError","param":"cache_salt","code":400}}`, ""},
		{"prompt too long", small, "/v1/completions", `{"prompt":[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20]}`, 400,
			`{"error":{"message":"This model's maximum context length is 20 tokens. However, your request has 20 input tokens. Please reduce the length of the input messages.","type":"BadRequestError","param":null,"code":400}}`, ""},
		{"strict: salt first", strict, "/v1/completions", `{"prompt":"a","seed":1,"cache_salt":"x"}`, 400,
			`{"object":"error","message":"[{'type': 'extra_forbidden', 'loc': ('body', 'cache_salt'), 'msg': 'Extra inputs are not permitted', 'input': 'x'}]","type":"BadRequestError","param":null,"code":400}`, ""},
		{"strict: nested", strict, "/v1/chat/completions", chatFour, 400,
			`{"object":"error","message":"[{'type': 'extra_forbidden', 'loc': ('body', 'stream_options', 'continuous_usage_stats'), 'msg': 'Extra inputs are not permitted', 'input': True}]","type":"BadRequestError","param":null,"code":400}`, ""},
		{"strict: number", strict, "/v1/completions", `{"prompt":"a","seed":1}`, 400,
			`{"object":"error","message":"[{'type': 'extra_forbidden', 'loc': ('body', 'seed'), 'msg': 'Extra inputs are not permitted', 'input': 1}]","type":"BadRequestError","param":null,"code":400}`, ""},
		{"OpenAI key", Config{APIKey: "k"}, "/v1/completions", `{}`, 401,
			`{"error":{"message":"Invalid or missing API key.","type":"authentication_error","param":null,"code":401}}`, ""},
		{"TGI key", Config{Profile: profile(t, "tgi"), APIKey: "k"}, "/generate_stream", `{}`, 401,
			`{"error":"Invalid or missing API key.","error_type":"authentication_error"}`, ""},
		{"TGI tokenize key", Config{Profile: profile(t, "tgi"), APIKey: "k"}, "/tokenize", `{}`, 401,
			`{"error":"Invalid or missing API key.","error_type":"authentication_error"}`, ""},
		{"TGI validation is a stream", tgi, "/generate_stream", `{"inputs":""}`, 200,
			`data:{"error":"Input validation error: ` + "`inputs`" + ` cannot be empty","error_type":"validation"}`, "text/event-stream"},
		{"TGI validation without stream", tgi, "/generate", `{"inputs":"a","parameters":{"max_new_tokens":0}}`, 422,
			`{"error":"Input validation error: ` + "`max_new_tokens`" + ` must be strictly positive","error_type":"validation"}`, ""},
		{"TGI beyond the total", tgi, "/generate", `{"inputs":"a","parameters":{"max_new_tokens":131072}}`, 422,
			`{"error":"Input validation error: ` + "`inputs` tokens + `max_new_tokens` must be <= 131072. Given: 2 `inputs` tokens and 131072 `max_new_tokens`" + `","error_type":"validation"}`, ""},
		{"TGI bad JSON is a real error", tgi, "/generate_stream", `{"inputs":1}`, 422,
			`{"error":"Failed to deserialize the JSON body into the target type: json: cannot unmarshal number into Go struct field tgiRequest.inputs of type string","error_type":"validation"}`, "application/json"},
		{"TGI body too large", tgi, "/generate_stream", `{"inputs":"` + strings.Repeat("a", tgiBodyLimit) + `"}`, 413,
			`{"error":"The request body is too large.","error_type":"validation"}`, ""},
		{"unknown path", Config{}, "/generate_stream", `{}`, 404, `{"detail":"Not Found"}`, ""},
		{"no tokenizer", Config{NoTokenize: true}, "/tokenize", `{"prompt":"a"}`, 404, `{"detail":"Not Found"}`, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			bubble(t, test.config, func(t *testing.T, r *rig) {
				got := r.post(t, test.path, test.body)
				if diff := cmp.Diff(test.want+"\n", got.text()); diff != "" || got.status != test.status {
					t.Errorf("status %d, want %d; body (-want +got):\n%s", got.status, test.status, diff)
				}
				if test.header != "" && got.header.Get("Content-Type") != test.header {
					t.Errorf("content type %q, want %q", got.header.Get("Content-Type"), test.header)
				}
			})
		})
	}
}

func TestTheAnswerIsClampedToTheModel(t *testing.T) {
	c := Config{Profile: Profile{API: "openai", MaxModelLen: 20}}
	bubble(t, c, func(t *testing.T, r *rig) {
		r.post(t, "/v1/completions", `{"prompt":[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15],"max_tokens":100,"stream":true}`)
		if sent := r.last(t); sent.Output != 5 || sent.Finish != "length" {
			t.Errorf("%d tokens, finish %q; want 5, length", sent.Output, sent.Finish)
		}
	})
}

func TestTheKeyOpens(t *testing.T) {
	bubble(t, Config{APIKey: "k", Model: "M"}, func(t *testing.T, r *rig) {
		for _, scheme := range []string{"Bearer k", "bearer k"} {
			if got := r.post(t, "/v1/chat/completions", chatFour, "Authorization", scheme); got.status != 200 {
				t.Errorf("%s: status %d", scheme, got.status)
			}
		}
		if got := r.get(t, "/v1/models"); got.status != 401 {
			t.Errorf("/v1/models without a key: status %d, want 401", got.status)
		}
		for _, open := range []string{"/health", "/version", "/sim/fault"} {
			if got := r.get(t, open); got.status != 200 {
				t.Errorf("%s without a key: status %d, want 200", open, got.status)
			}
		}
	})
}

func TestSideRoutes(t *testing.T) {
	for _, test := range []struct{ name, profile, method, path, body, want string }{
		{"models", "fast", "GET", "/v1/models", "", `{"object":"list","data":[{"id":"M","object":"model","created":946684800,"owned_by":"vllm","root":"M","parent":null,"max_model_len":131072}]}`},
		{"version", "fast", "GET", "/version", "", `{"version":"0.11.0"}`},
		{"tokenize a text", "fast", "POST", "/tokenize", `{"model":"M","prompt":"the river"}`, `{"count":3,"max_model_len":131072,"tokens":[128000,61924,56633],"token_strs":null}`},
		{"tokenize without specials", "fast", "POST", "/tokenize", `{"prompt":"the river","add_special_tokens":false}`, `{"count":2,"max_model_len":131072,"tokens":[61924,56633],"token_strs":null}`},
		{"tokenize a chat", "fast", "POST", "/tokenize", `{"messages":[{"role":"user","content":"the"}]}`, `{"count":14,"max_model_len":131072,"tokens":[128000,128006,882,128007,271,128020,128021,128022,61924,128009,128006,78191,128007,271],"token_strs":null}`},
		{"tokenize nothing", "fast", "POST", "/tokenize", `{}`, `{"error":{"message":"Either prompt or messages is required.","type":"BadRequestError","param":"prompt","code":400}}`},
		{"TGI info", "tgi", "GET", "/info", "", `{"model_id":"M","model_sha":null,"model_pipeline_tag":"text-generation","max_concurrent_requests":128,"max_best_of":2,"max_stop_sequences":4,"max_input_tokens":131071,"max_total_tokens":131072,"validation_workers":2,"max_client_batch_size":4,"router":"text-generation-router","version":"3.3.6","sha":"0000000000000000000000000000000000000000","docker_label":"sim"}`},
		{"TGI info with a limit", "tgi-ladder", "GET", "/info", "", `{"model_id":"M","model_sha":null,"model_pipeline_tag":"text-generation","max_concurrent_requests":2537,"max_best_of":2,"max_stop_sequences":4,"max_input_tokens":131071,"max_total_tokens":131072,"validation_workers":2,"max_client_batch_size":4,"router":"text-generation-router","version":"3.3.6","sha":"0000000000000000000000000000000000000000","docker_label":"sim"}`},
		{"TGI tokenize", "tgi", "POST", "/tokenize", `{"inputs":"the waterways"}`, `[{"id":128000,"text":"<|begin_of_text|>","start":0,"stop":0},{"id":61924,"text":"the","start":0,"stop":3},{"id":32695,"text":"waterway","start":4,"stop":12},{"id":30794,"text":"s","start":12,"stop":13}]`},
	} {
		t.Run(test.name, func(t *testing.T) {
			bubble(t, Config{Profile: profile(t, test.profile), Model: "M"}, func(t *testing.T, r *rig) {
				got := r.do(t.Context(), t, test.method, test.path, test.body)
				if diff := cmp.Diff(test.want+"\n", got.text()); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			})
		})
	}
}

func TestHealthIsEmpty(t *testing.T) {
	for _, name := range []string{"fast", "tgi"} {
		bubble(t, Config{Profile: profile(t, name)}, func(t *testing.T, r *rig) {
			if got := r.get(t, "/health"); got.status != 200 || got.text() != "" {
				t.Errorf("%s: status %d, body %q", name, got.status, got.text())
			}
		})
	}
}
