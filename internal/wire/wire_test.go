package wire

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func TestLookup(t *testing.T) {
	for _, d := range dialects {
		if got, err := Lookup(d.Name); err != nil || got != d || d.Endless != (d.Name == "triton") {
			t.Errorf("Lookup(%q) = %+v, %v", d.Name, got, err)
		}
	}
	if _, err := Lookup("openai"); err == nil || !strings.Contains(err.Error(), "openai-chat, openai-completions, "+
		"openai-responses, azure-openai, anthropic, sglang, tgi, triton, llama-server, ollama") {
		t.Errorf("error %v does not list the known names", err)
	}
}

func TestParseError(t *testing.T) {
	tests := []struct {
		name, body string
		want       *ServerError
	}{
		{"OpenAI", `{"error":{"message":"m","type":"t","code":"c","param":null}}`, &ServerError{"t", "c", "m"}},
		{"a text", `{"error":"Unauthorized"}`, &ServerError{Message: "Unauthorized"}},
		{"TGI", `{"error":"full","error_type":"overloaded"}`, &ServerError{Type: "overloaded", Message: "full"}},
		{"TGI's OpenAI", `{"error":{"message":"m","http_status_code":422}}`, &ServerError{Code: "422", Message: "m"}},
		{"SGLang before the stream", `{"object":"error","message":"m","type":"BadRequest","code":400}`,
			&ServerError{"BadRequest", "400", "m"}},
		{"FastAPI", `{"detail":"Not Found"}`, &ServerError{Message: "Not Found"}},
		{"FastAPI's validation", `{"detail":[{"loc":["body","x"],"msg":"m"}]}`,
			&ServerError{Message: `[{"loc":["body","x"],"msg":"m"}]`}},
		{"Anthropic", `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`,
			&ServerError{Type: "overloaded_error", Message: "Overloaded"}},
		{"Responses", `{"type":"error","code":"c","message":"m"}`, &ServerError{"error", "c", "m"}},
		{"Dynamo", `{"code":503,"message":"m"}`, &ServerError{Code: "503", Message: "m"}},
		{"Vertex", `[{"error":{"code":400,"message":"m","status":"INVALID"}}]`, &ServerError{Code: "400", Message: "m"}},
		{"an odd type beside it", `{"error":"boom","error_type":5,"object":1}`, &ServerError{Type: "5", Message: "boom"}},
		{"an empty error", `{"error":{}}`, &ServerError{Message: "{}"}},
		{"a frame of tokens", `{"choices":[{"delta":{"content":"error"}}],"code":1,"message":"m"}`, nil},
		{"no JSON", "upstream request timeout", nil},
		{"a number", "5", nil},
	}
	for _, test := range tests {
		if diff := cmp.Diff(test.want, ParseError([]byte(test.body))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
	}
}

func TestDescribe(t *testing.T) {
	long := Describe([]byte("<h1>\n 502   Bad Gateway</h1>" + strings.Repeat("é", 400)))
	if !strings.HasPrefix(long, "<h1> 502 Bad Gateway</h1>é") || !strings.HasSuffix(long, "é … (825 bytes)") {
		t.Errorf("described as %q", long)
	}
}

func TestUsage(t *testing.T) {
	first := Usage{Prompt: Tokens(10), Cached: Tokens(8), Output: Tokens(3), Total: Tokens(13)}
	second := Usage{Prompt: Tokens(10), Cached: Tokens(0), Output: Tokens(4)}
	want := Usage{Prompt: Tokens(10), Cached: Tokens(8), Output: Tokens(4), Total: Tokens(13)}
	if got := first.Merge(second); got != want || second.Merge(first) != want {
		t.Errorf("merged %+v, want %+v", got, want)
	}
	for _, test := range []struct {
		name  string
		usage Usage
		want  Count
	}{
		{"unknown", Usage{}, Count{}},
		{"as told", Usage{Output: Tokens(5)}, Tokens(5)},
		{"reasoning outside of output", Usage{Prompt: Tokens(12), Output: Tokens(1), Total: Tokens(303)}, Tokens(291)},
		{"told only by the total", Usage{Prompt: Tokens(12), Total: Tokens(20)}, Tokens(8)},
		{"more than any answer has", Usage{Output: Tokens(1 << 25)}, Count{}},
		{"a total below the prompt", Usage{Prompt: Tokens(12), Total: Tokens(2), Output: Tokens(1)}, Tokens(1)},
	} {
		if got := test.usage.Generated(); got != test.want {
			t.Errorf("%s: %+v, want %+v", test.name, got, test.want)
		}
	}
}

// TestModels holds the lists of models, and where servers tell the length of their context.
func TestModels(t *testing.T) {
	for reply, want := range map[string][]Model{
		`{"object":"list","data":[{"id":"a","owned_by":"vllm","max_model_len":4096},{"id":"b"}]}`: {{"a",
			Limits{Context: 4096}}, {ID: "b"}},
		`{"data":[{"id":"` + strings.Repeat("x", 1000) + `"},{"id":""},{"id":"a"}]}`: {{ID: "a"}}, // names that are none
		`[{"name":"part","version":"1","state":"UNAVAILABLE"},{"name":"m","state":"READY"},{"name":"b"}]`: {{ID: "m"},
			{ID: "b"}},
		`{"model_id":"bloom","max_input_tokens":1024,"max_total_tokens":2048,"router":"tgi"}`: {{"bloom",
			Limits{Context: 2048, Input: 1024}}},
		`{"model_id":"bloom","max_input_length":1000,"max_total_tokens":2048}`: {{"bloom",
			Limits{Context: 2048, Input: 1000}}},
		`{"data":[{"id":"m","metadata":{"model_id":"m","max_request_context_length":32768}}]}`: {{"m",
			Limits{Context: 32768}}},
		`{"data":[{"id":"m","owned_by":"openai","max_input_tokens":32768,"max_output_tokens":32768}]}`: {{"m",
			Limits{Context: 32768}}},
		`{"data":[{"id":"m","owned_by":"nvidia","context_window":32768}]}`: {{"m",
			Limits{Context: 32768}}},
		`{"data":[{"id":"m","context_length":8192,"top_provider":{"context_length":4096}}]}`: {{"m",
			Limits{Context: 8192}}},
		`{"data":[{"id":"m","max_model_len":null,"metadata":null}]}`: {{ID: "m"}},
		`{"data":[{"id":"m","metadata":"text"}]}`:                    {{ID: "m"}},
		`{"data":[{"id":"m","max_model_len":8192.0}]}`: {{"m",
			Limits{Context: 8192}}},
		`{"data":[{"id":"m","max_model_len":"long","max_input_tokens":1e6}]}`: {{"m",
			Limits{Context: 1000000}}},
		`{"data":[{"id":"m","max_model_len":-5,"metadata":{"max_request_context_length":"many"}}]}`: {{ID: "m"}},
	} {
		if got, ok := ParseModels([]byte(reply)); !ok || !slices.Equal(got, want) {
			t.Errorf("%s: %v (%t), want %v", reply, got, ok, want)
		}
	}
	for _, reply := range []string{`{"detail":"Not Found"}`, "<html>", "data: {}", "null", "[]", `["m"]`, `[{"id":"m"}]`,
		`{"model_id":"x"}`} {
		if _, ok := ParseModels([]byte(reply)); ok {
			t.Errorf("%q is a list of models", reply)
		}
	}
}

// TestTooLong holds the words in which servers refuse what does not fit their context.
func TestTooLong(t *testing.T) {
	tests := []struct {
		server, reply string
		context       int // below 0: of the prompt alone
		ok            bool
	}{
		{"vLLM",
			`{"error":{"message":"This model's maximum context length is 32768 tokens. However, your prompt contains at ` +
				`least 32769 input tokens, which exceeds this limit even without any output tokens.","type":"BadRequestError",` +
				`"param":"input_tokens","code":400}}`, 32768, true},
		{"vLLM's count_tokens",
			`{"type":"error","error":{"type":"BadRequestError","message":"This model's maximum context length is 8192 ` +
				`tokens."}}`, 8192, true},
		{"vLLM, the answer",
			`{"error":{"message":"max_tokens=400000 cannot be greater than max_model_len=32768. Please request fewer ` +
				`output tokens. (parameter=max_tokens, value=400000)","type":"BadRequestError","param":"max_tokens","code":400}}`,
			32768, true},
		{"LiteLLM, of vLLM",
			`{"error":{"message":"litellm.ContextWindowExceededError: litellm.BadRequestError: ContextWindowExceededError: ` +
				`Hosted_vllmException - {\"error\":{\"message\":\"This model's maximum context length is 32768 tokens. ` +
				`However, your prompt contains at least 32769 input tokens\"}}\nmodel=tiny. context_window_fallbacks=None.",` +
				`"type":"invalid_request_error","param":null,"code":"400"}}`, 32768, true},
		{"SGLang",
			`{"object":"error","message":"The input (9000 tokens) is longer than the model's context length (4096 tokens)."}`,
			4096, true},
		{"SGLang, both", `{"message":"Requested token count exceeds the model's maximum context length of 4096 tokens."}`,
			4096, true},
		{"llama-server",
			`{"error":{"code":400,"message":"the request exceeds the available context size (2048 tokens), try increasing ` +
				`it","type":"exceed_context_size_error","n_prompt_tokens":3000,"n_ctx":2048}}`, 2048, true},
		{"llama-cpp-python",
			`{"error":{"message":"Requested tokens (42123) exceed context window of 32768","type":"internal_server_error"}}`,
			32768, true},
		{"OpenAI",
			`{"error":{"message":"This model's maximum context length is 128000 tokens.","code":"context_length_exceeded"}}`,
			128000, true},
		{"Anthropic",
			`{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 210000 tokens > 200000 ` +
				`maximum"}}`, 200000, true},
		{"TGI, both", "{\"error\":\"Input validation error: `inputs` tokens + `max_new_tokens` must be <= 25000. Given: " +
			"70002 `inputs` tokens and 4 `max_new_tokens`\",\"error_type\":\"validation\"}", 25000, true},
		{"TGI, the prompt", "Input validation error: `inputs` must have less than 24000 tokens. Given: 24900", -24000, true},
		{"TGI, another complaint", "Input validation error: `temperature` must be strictly positive", 0, false},
		{"Ollama", `{"error":"the input length exceeds the context length"}`, 0, true},
		{"Fireworks",
			`{"error":{"message":"The prompt is too long: 21040, model maximum context length: 8191",` +
				`"code":"invalid_request_error"}}`, 8191, true},
		{"a grouped number", `{"error":{"message":"maximum context length is 131,072 tokens, you asked for 140,000"}}`,
			131072, true},
		{"a number before a comma", `context length 4096,however`, 4096, true},
		{"LiteLLM", `{"error":{"message":"litellm.ContextWindowExceededError: too long"}}`, 0, true},
		{"a number that no context has", `maximum context length is 99999999999999999999 tokens`, 0, true},
		{"another complaint", `{"error":{"message":"max_tokens must be at least 1, got -3."}}`, 0, false},
		{"nothing", "", 0, false},
	}
	for _, test := range tests {
		want := Limits{Context: max(0, test.context), Input: max(0, -test.context)}
		if limits, ok := TooLong([]byte(test.reply)); limits != want || ok != test.ok {
			t.Errorf("%s: %+v, %t; want %+v, %t", test.server, limits, ok, want, test.ok)
		}
	}
}

// TestErrorsInStreams holds what an error in a stream says of whose fault it is.
func TestErrorsInStreams(t *testing.T) {
	const request, load, server = "the request", "the load", "the server"
	for frame, want := range map[string]string{
		"{\"error\":\"Input validation error: `inputs` must have less than 8 tokens. Given: " +
			"9\",\"error_type\":\"validation\"}": request,
		"{\"error\":{\"message\":\"Input validation error: `inputs` tokens + `max_new_tokens` must be <= 8. Given: " +
			"9\",\"http_status_code\":422}}": request,
		`{"error":{"message":"Input validation error: temperature must be strictly positive",` +
			`"http_status_code":422}}`: request,
		`{"error":"Template error: template not found","error_type":"template_error"}`: request,
		`{"error":{"message":"Model is overloaded","http_status_code":422}}`:           load,
		`{"error":"Model is overloaded","error_type":"overloaded"}`:                    load,
		`{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`:  load,
		`{"error":{"message":"Request failed during generation: Server error: Connection refused",` +
			`"http_status_code":422}}`: server,
		`{"error":"Request failed during generation: Server error: CUDA","error_type":"generation"}`: server,
		`{"error":{"message":"Incomplete generation stream","http_status_code":422}}`:                server,
		`{"error":{"message":"max_tokens is too large","type":"BadRequestError","code":400}}`:        request,
		`{"error":{"message":"EngineCore died","type":"InternalServerError","code":500}}`:            server,
		`{"error":{"message":"Requested tokens (9) exceed context window of 8",` +
			`"type":"internal_server_error"}}`: request,
		`{"error":{"message":"Internal server error","type":"internal_server_error","code":500}}`: server,
	} {
		d, err := chat.Decode([]byte(frame))
		if err != nil || d.Err == nil {
			t.Fatalf("%s: %v, no error in it", frame, err)
		}
		got := server
		if d.Err.Overloaded() {
			got = load
		} else if d.Err.Invalid() {
			got = request
		}
		if got != want {
			t.Errorf("%s: the fault of %s, want %s", frame, got, want)
		}
	}
}

func TestEndings(t *testing.T) {
	for reason, want := range map[string]Ending{
		"stop": Finished, "MAX_TOKENS": AtLimit, "content_filter": Filtered, "abort": Failed, "truncated": CutShort,
		"": Unfinished, "surprise": Unfinished, "load": Unfinished, "unload": Unfinished, "none": Unfinished,
	} {
		if got := EndingOf(reason); got != want {
			t.Errorf("%q ends as %d, want %d", reason, got, want)
		}
	}
}

// FuzzFields holds that reading in place sees what encoding/json sees.
func FuzzFields(f *testing.F) {
	for _, seed := range []string{`{}`, `{ "a" : [1, {"b":"\\"]}"}, null ] , "c":-1e5 }`, `{"a":{"b":[[],{}]},"a":""}`,
		"{\"a\" :\n1 ,\t\"b\\\"\":\"\\\\\",\"c\":[ ],\"d\":{ } }"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		data = bytes.TrimSpace(data)
		if !json.Valid(data) || data[0] != '{' {
			return
		}
		var want map[string]json.RawMessage
		if err := json.Unmarshal(data, &want); err != nil {
			t.Fatal(err)
		}
		got := map[string]json.RawMessage{}
		eachField(data, func(key, value []byte) {
			got[unquote([]byte(`"`+string(key)+`"`))] = value
			eachElement(value, func(element []byte) {
				if !json.Valid(element) {
					t.Errorf("element %q of %q", element, value)
				}
			})
			if text := stringIn(value); text != nil && string(text) != unquote(value) && utf8.Valid(value) {
				t.Errorf("text %q of %q", text, value)
			}
		})
		if !utf8.Valid(data) {
			return
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("fields of %q (-want +got):\n%s", data, diff)
		}
	})
}

// tokenFrames are frames of one token as servers send them, with all that is asked for. They are only read.
var tokenFrames = map[string]struct {
	dialect *Dialect
	frame   []byte
}{
	"Chat": {chat,
		[]byte(`{"id":"chatcmpl-3f6c1c2e9d5b4a6f8e7d","object":"chat.completion.chunk","created":1763700000,` +
			`"model":"meta-llama/Llama-3.1-8B-Instruct","choices":[{"index":0,"delta":{"content":" token"},"logprobs":null,` +
			`"finish_reason":null}],"usage":{"prompt_tokens":21000,"total_tokens":21050,"completion_tokens":50}}`)},
	"TGI": {tgi,
		[]byte(`{"index":1,"token":{"id":5,"text":" hi","logprob":-1.25,"special":false},"generated_text":null,` +
			`"details":null}`)},
	"Azure": {azure,
		[]byte(`{"id":"c","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":" token"},` +
			`"content_filter_results":{"hate":{"filtered":false,"severity":"safe"}},"finish_reason":null}],"usage":null}`)},
	"Responses": {responses,
		[]byte(`{"type":"response.output_text.delta","sequence_number":4,"item_id":"msg_1","output_index":0,` +
			`"content_index":0,"delta":" token","logprobs":[],"obfuscation":"VLMdSoETMf5"}`)},
	"Anthropic": {anthropic,
		[]byte(`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":" token"}}`)},
	"SGLang": {sglang,
		[]byte(`{"text":" one two","output_ids":[1,2],"meta_info":{"id":"x","finish_reason":null,"prompt_tokens":9,` +
			`"weight_version":"default","completion_tokens":2,"cached_tokens":4,"reasoning_tokens":0}}`)},
	"Triton": {triton,
		[]byte(`{"finish_reason":"None","model_name":"vllm_model","model_version":"1","num_input_tokens":9,` +
			`"num_output_tokens":1,"text_output":" token"}`)},
	"Llama": {llama,
		[]byte(`{"index":0,"content":" token","tokens":[5],"stop":false,"id_slot":-1,"tokens_predicted":3,` +
			`"tokens_evaluated":9,"timings":{"cache_n":4,"prompt_n":5,"prompt_ms":12.5,"predicted_n":3,"predicted_ms":9.75}}`)},
	"Ollama": {ollama, []byte(`{"model":"m","created_at":"2026-01-01T00:00:00.5Z","response":" token","done":false}`)},
}

func BenchmarkDecode(b *testing.B) {
	for name, bench := range tokenFrames {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := bench.dialect.Decode(bench.frame); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// TestWordsOfRefusals holds what servers say of a request where their status does not.
func TestWordsOfRefusals(t *testing.T) {
	kinds := map[string]func([]byte) bool{"model": WrongModel, "header": WantsHeader, "key": BadKey, "backend": NoBackend}
	for reply, want := range map[string]string{
		`{"error":{"message":"/chat/completions: Invalid model name passed in model=nope. Call ` + "`/v1/models`" +
			` to view","type":"None","code":"400"}}`: "model",
		`{"detail":"Server is pinned to 'models/a'; requested 'b'."}`: "model",
		`{"message":"Model not found","type":"Not Found","code":404}`: "model",
		`{"error":{"message":"The model ` + "`b`" +
			` does not exist.","type":"NotFoundError","code":404}}`: "model",
		`{"error":{"code":"model_not_found","message":"The model 'b' does not exist or you have no access"}}`: "model",
		`{"error":"model \"b\" not found, try pulling it first"}`:                                             "model",
		`{"error":{"message":"b is not a valid model ID","code":400}}`:                                        "model",
		`{"status":"failure","message":"Either x-portkey-config or x-portkey-provider header is required"}`:   "header",
		`{"error":{"message":"No connected db.","type":"no_db_connection","param":null,"code":"400"}}`:        "key",
		`{"error":{"message":"No deployments available for selected model, Try again in 5 seconds.",` +
			`"code":"429"}}`: "backend",
		`{"error":{"message":"cooling down","type":"all_deployments_in_cooldown","code":"429"}}`: "backend",

		`{"error":{"message":"This model's maximum context length is 4096 tokens. However, you requested 21100.",` +
			`"code":400}}`: "",
		`{"error":{"message":"Rate limit reached for model a","type":"rate_limit_error","code":429}}`: "",
		`{"error":"Model is overloaded","error_type":"overloaded"}`:                                   "",
		`{"detail":"Unexpected fields in the request: {'min_tokens', 'ignore_eos'}"}`:                 "",
		"Not Found": "",
	} {
		for kind, is := range kinds {
			if got := is([]byte(reply)); got != (kind == want) {
				t.Errorf("%s is about a %s: %t", reply, kind, got)
			}
		}
	}
}
