package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestURL(t *testing.T) {
	for base, want := range map[string]string{
		"http://a":                 "http://a/v1/models",
		"http://a/":                "http://a/v1/models",
		"http://a/v1":              "http://a/v1/models",
		"http://a/v1/":             "http://a/v1/models",
		"http://a/openai/v1":       "http://a/openai/v1/models",
		"http://a/serve/llama":     "http://a/serve/llama/v1/models",
		"https://a:8443/v1/models": "https://a:8443/v1/models/v1/models",
	} {
		if got := URL(base, ModelsPath); got != want {
			t.Errorf("URL(%q) = %q, want %q", base, got, want)
		}
	}
}

func TestLookup(t *testing.T) {
	for _, d := range Dialects() {
		if got, err := Lookup(d.Name()); err != nil || got != d {
			t.Errorf("Lookup(%q) = %v, %v", d.Name(), got, err)
		}
	}
	if _, err := Lookup("openai"); err == nil || !strings.Contains(err.Error(), "openai-chat, openai-completions, tgi") {
		t.Errorf("error %v does not list the known names", err)
	}
}

func TestBodies(t *testing.T) {
	ask := Ask{Model: "m", Prompt: "p", MaxTokens: 7, CacheSalt: "s", Priority: new(-3)}
	kind := func(name string) Server {
		s, err := LookupServer(name)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	all := ask
	all.Omit = append(extensions(), FieldMaxTokens, FieldDetails)
	tests := []struct {
		name    string
		dialect Dialect
		ask     Ask
		want    string
	}{
		{"chat", chat{}, ask, `{"cache_salt":"s","ignore_eos":true,"max_tokens":7,"messages":[{"role":"user","content":"p"}],"min_tokens":7,"model":"m","priority":-3,"seed":1,"stream":true,"stream_options":{"continuous_usage_stats":true,"include_usage":true},"temperature":0}`},
		{"chat without what a server rejects", chat{}, all, `{"max_completion_tokens":7,"messages":[{"role":"user","content":"p"}],"model":"m","stream":true}`},
		{"a conversation", chat{}, Ask{Turns: []Turn{{"system", "s"}, {"user", "u"}, {"assistant", "a"}}, Prompt: "p", MaxTokens: 7, Omit: all.Omit}, `{"max_completion_tokens":7,"messages":[{"role":"system","content":"s"},{"role":"user","content":"u"},{"role":"assistant","content":"a"},{"role":"user","content":"p"}],"stream":true}`},
		{"LMDeploy's own words", chat{}, Ask{Prompt: "p", MaxTokens: 7, CacheSalt: "s", Server: kind("lmdeploy")}, `{"ignore_eos":true,"max_tokens":7,"messages":[{"role":"user","content":"p"}],"min_new_tokens":7,"return_token_ids":true,"seed":1,"stream":true,"stream_options":{"include_usage":true},"temperature":0}`},
		{"Dynamo's salt", completions{}, Ask{Prompt: "p", MaxTokens: 7, CacheSalt: "s", Server: kind("dynamo")}, `{"ignore_eos":true,"max_tokens":7,"min_tokens":7,"nvext":{"cache_salt":"s"},"prompt":"p","seed":1,"stream":true,"stream_options":{"continuous_usage_stats":true,"include_usage":true},"temperature":0}`},
		{"completions", completions{}, ask, `{"cache_salt":"s","ignore_eos":true,"max_tokens":7,"min_tokens":7,"model":"m","priority":-3,"prompt":"p","seed":1,"stream":true,"stream_options":{"continuous_usage_stats":true,"include_usage":true},"temperature":0}`},
		{"completions without", completions{}, all, `{"max_tokens":7,"model":"m","prompt":"p","stream":true}`},
		{"a conversation as one text", completions{}, Ask{Turns: []Turn{{"system", "s"}, {"user", "u"}}, Prompt: "p", MaxTokens: 7, Omit: all.Omit}, `{"max_tokens":7,"prompt":"s\n\nu\n\np","stream":true}`},
		{"token ids", completions{}, Ask{Prompt: "p", IDs: []int{5, 6}, MaxTokens: 7, Omit: all.Omit}, `{"max_tokens":7,"prompt":[5,6],"stream":true}`},
		{"tgi", tgi{}, ask, `{"inputs":"p","parameters":{"max_new_tokens":7,"do_sample":false,"details":true}}`},
		{"tgi without", tgi{}, all, `{"inputs":"p","parameters":{"max_new_tokens":7,"do_sample":false}}`},
	}
	for _, test := range tests {
		got, err := test.dialect.Body(test.ask)
		if err != nil || string(got) != test.want {
			t.Errorf("%s:\n%s\nwant\n%s (%v)", test.name, got, test.want, err)
		}
	}
}

func TestTokenizers(t *testing.T) {
	tests := []struct {
		dialect           Dialect
		tokenize          string
		path, body, reply string
		want              Tokenized
	}{
		{chat{}, "", "/tokenize", `{"messages":[{"role":"user","content":"p"}],"model":"m"}`, `{"count":17,"max_model_len":4096,"tokens":[1,2]}`, Tokenized{17, []int{1, 2}}},
		{completions{}, "", "/tokenize", `{"model":"m","prompt":"p"}`, `{"count":17,"tokens":null}`, Tokenized{N: 17}},
		{completions{}, tokenizeVLLM, "/tokenize", `{"model":"m","prompt":"p"}`, `{"detail":"Not Found"}`, Tokenized{}},
		{completions{}, tokenizePrompt, "/tokenize", `{"model":"m","prompt":"p"}`, `{"count":-1}`, Tokenized{}},
		{completions{}, tokenizeLlama, "/tokenize", `{"add_special":true,"content":"p"}`, `{"tokens":[7,8,9]}`, Tokenized{3, []int{7, 8, 9}}},
		{completions{}, tokenizeLlama, "/tokenize", `{"add_special":true,"content":"p"}`, `{"tokens":[{"id":7,"piece":"p"}]}`, Tokenized{N: 1}},
		{completions{}, encodeLMDeploy, "/v1/encode", `{"add_bos":true,"input":"p"}`, `{"input_ids":[7,8],"length":2}`, Tokenized{2, []int{7, 8}}},
		{chat{}, tokenizeTGI, "/chat_tokenize", `{"messages":[{"role":"user","content":"p"}],"model":"m"}`, `{"tokenize_response":[{"id":1},{"id":2}],"templated_text":"x"}`, Tokenized{N: 2}},
		{completions{}, tokenizeTGI, "/tokenize", `{"inputs":"p"}`, `[{"id":1}]`, Tokenized{N: 1}},
		{tgi{}, "", "/tokenize", `{"inputs":"p"}`, `[{"id":1,"text":"p","start":0,"stop":1},{"id":2}]`, Tokenized{N: 2}},
		{tgi{}, "", "/tokenize", `{"inputs":"p"}`, "data: x", Tokenized{}},
	}
	for _, test := range tests {
		tokenizer, ok := test.dialect.Tokenizer(Server{Tokenize: test.tokenize})
		if !ok {
			t.Errorf("%s has no tokenizer %q", test.dialect.Name(), test.tokenize)
			continue
		}
		body, err := tokenizer.Body(Ask{Model: "m", Prompt: "p"})
		if err != nil || tokenizer.Path != test.path || string(body) != test.body {
			t.Errorf("%s: POST %s %s (%v)", test.dialect.Name(), tokenizer.Path, body, err)
		}
		if diff := cmp.Diff(test.want, tokenizer.Read([]byte(test.reply))); diff != "" {
			t.Errorf("%s reads %s (-want +got):\n%s", test.dialect.Name(), test.reply, diff)
		}
	}
	for _, kind := range []string{tokenizeNone, tokenizePrompt, tokenizeLlama, encodeLMDeploy} {
		if _, ok := (chat{}).Tokenizer(Server{Tokenize: kind}); ok {
			t.Errorf("a conversation can be counted by %q", kind)
		}
	}
}

func TestDecodeChat(t *testing.T) {
	tests := []struct {
		name, frame string
		want        Delta
	}{
		{"a role frame", `{"choices":[{"delta":{"role":"assistant","content":""},"finish_reason":null}]}`, Delta{Choice: true}},
		{"content", `{"choices":[{"delta":{"content":"hi"}}]}`, Delta{Choice: true, Text: []byte("hi")}},
		{"white space", `{"choices":[{"delta":{"content":" "}}]}`, Delta{Choice: true, Text: []byte(" ")}},
		{"null content", `{"choices":[{"delta":{"role":"assistant","content":null}}]}`, Delta{Choice: true}},
		{"content in parts", `{"choices":[{"delta":{"content":[{"type":"text","text":"hi"}]}}]}`, Delta{Choice: true, Text: []byte("hi")}},
		{"thinking in parts", `{"choices":[{"delta":{"content":[{"type":"thinking","thinking":[{"type":"text","text":"hm"}]}]}}]}`, Delta{Choice: true, Reasoning: []byte("hm")}},
		{"reasoning", `{"choices":[{"delta":{"reasoning":"hm"}}]}`, Delta{Choice: true, Reasoning: []byte("hm")}},
		{"reasoning under both keys", `{"choices":[{"delta":{"reasoning":"hm","reasoning_content":"hm"}}]}`, Delta{Choice: true, Reasoning: []byte("hm")}},
		{"a refusal", `{"choices":[{"delta":{"refusal":"no"}}]}`, Delta{Choice: true, Text: []byte("no"), Refusal: true}},
		{"a tool call", `{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"name":"f","arguments":"{}"}}]}}]}`, Delta{Choice: true, Text: []byte("f{}")}},
		{"an older function call", `{"choices":[{"delta":{"function_call":{"arguments":"{}"}}}]}`, Delta{Choice: true, Text: []byte("{}")}},
		{"completions", `{"choices":[{"text":"hi","finish_reason":""}]}`, Delta{Choice: true, Text: []byte("hi")}},
		{"token ids", `{"choices":[{"text":"","token_ids":[5,6]}]}`, Delta{Choice: true, Tokens: 2}},
		{"LMDeploy's ids", `{"choices":[{"delta":{"content":""},"output_ids":[5]}]}`, Delta{Choice: true, Tokens: 1}},
		{"a finish", `{"choices":[{"delta":{},"finish_reason":"length"}]}`, Delta{Choice: true, Finish: "length"}},
		{"a finish that is no word", `{"choices":[{"finish_reason":"` + strings.Repeat("é", 30) + `"}]}`, Delta{Choice: true, Finish: strings.Repeat("é", 20)}},
		{"usage alone", `{"choices":[],"usage":{"prompt_tokens":5,"completion_tokens":3,"total_tokens":8}}`, Delta{Usage: Usage{Prompt: Tokens(5), Output: Tokens(3), Total: Tokens(8)}}},
		{"null usage", `{"choices":[],"usage":null}`, Delta{}},
		{"details", `{"choices":[],"usage":{"prompt_tokens_details":{"cached_tokens":4},"completion_tokens_details":{"reasoning_tokens":2}}}`, Delta{Usage: Usage{Cached: Tokens(4), Reasoning: Tokens(2)}}},
		{"no details are unknown, not zero", `{"choices":[],"usage":{"prompt_tokens_details":null}}`, Delta{}},
		{"counts that are none", `{"choices":[],"usage":{"prompt_tokens":-5,"completion_tokens":1e18,"total_tokens":2.5}}`, Delta{}},
		{"counts as floats", `{"choices":[],"usage":{"completion_tokens":3.0}}`, Delta{Usage: Usage{Output: Tokens(3)}}},
		{"Groq's usage", `{"choices":[],"x_groq":{"usage":{"completion_tokens":3}}}`, Delta{Usage: Usage{Output: Tokens(3)}}},
		{"llama-server's timings", `{"choices":[],"timings":{"cache_n":13,"prompt_n":1,"predicted_n":9}}`, Delta{Usage: Usage{Cached: Tokens(13), Prompt: Tokens(14), Output: Tokens(9)}}},
		{"the end", "[DONE]", Delta{Done: true}},
		{"the end with white space", " [DONE] ", Delta{Done: true}},
		{"a filter frame before all", `{"choices":[],"id":"","prompt_filter_results":[{}]}`, Delta{}},
		{"an error", `{"error":{"message":"m","type":"t","code":500}}`, Delta{Err: &ServerError{Type: "t", Code: "500", Message: "m"}}},
		{"an error beside a choice", `{"choices":[{"delta":{"content":""},"finish_reason":"error"}],"error":{"code":429,"message":"m"}}`, Delta{Choice: true, Finish: "error", Err: &ServerError{Code: "429", Message: "m"}}},
		{"a null error is none", `{"choices":[{"delta":{"content":"x"}}],"error":null}`, Delta{Choice: true, Text: []byte("x")}},
	}
	for _, test := range tests {
		got, err := chat{}.Decode([]byte(test.frame))
		if diff := cmp.Diff(test.want, got, cmpopts.EquateEmpty()); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", test.name, err, diff)
		}
	}
}

func TestDecodeTGI(t *testing.T) {
	tests := []struct {
		name, frame string
		want        Delta
	}{
		{"a token", `{"index":1,"token":{"id":5,"text":" hi","logprob":-1,"special":false},"generated_text":null,"details":null}`, Delta{Choice: true, Text: []byte(" hi"), Tokens: 1}},
		{"an incomplete character", `{"token":{"id":5,"text":""}}`, Delta{Choice: true, Tokens: 1}},
		{"the last token", `{"token":{"id":5,"text":"."},"generated_text":"hi.","details":{"finish_reason":"length","generated_tokens":9,"input_length":80}}`, Delta{Choice: true, Text: []byte("."), Tokens: 1, Finish: "length", Done: true, Usage: Usage{Prompt: Tokens(80), Output: Tokens(9)}}},
		{"the last token without details", `{"token":{"id":5,"text":"."},"generated_text":"hi."}`, Delta{Choice: true, Text: []byte("."), Tokens: 1, Finish: endOfText, Done: true}},
		{"an overload", `{"error":"Model is overloaded","error_type":"overloaded"}`, Delta{Err: &ServerError{Type: "overloaded", Message: "Model is overloaded"}}},
	}
	for _, test := range tests {
		got, err := tgi{}.Decode([]byte(test.frame))
		if diff := cmp.Diff(test.want, got, cmpopts.EquateEmpty()); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", test.name, err, diff)
		}
	}
}

func TestDecodeRefusesWhatIsNoFrame(t *testing.T) {
	for _, d := range Dialects() {
		for _, frame := range []string{"", "hello", `{"choices":`, `[1,2`} {
			if _, err := d.Decode([]byte(frame)); !errors.Is(err, ErrMalformed) {
				t.Errorf("%s of %q: error %v", d.Name(), frame, err)
			}
		}
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
		{"SGLang before the stream", `{"object":"error","message":"m","type":"BadRequest","code":400}`, &ServerError{"BadRequest", "400", "m"}},
		{"FastAPI", `{"detail":"Not Found"}`, &ServerError{Message: "Not Found"}},
		{"FastAPI's validation", `{"detail":[{"loc":["body","x"],"msg":"m"}]}`, &ServerError{Message: `[{"loc":["body","x"],"msg":"m"}]`}},
		{"Anthropic", `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`, &ServerError{Type: "overloaded_error", Message: "Overloaded"}},
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

func TestRejected(t *testing.T) {
	tests := []struct {
		name    string
		reply   string
		omitted []Field
		want    []Field
	}{
		{"pydantic", `[{'type': 'extra_forbidden', 'loc': ('body', 'cache_salt')}]`, nil, []Field{FieldCacheSalt}},
		{"several at once", `{"message":"unknown fields: min_tokens, ignore_eos"}`, nil, []Field{FieldMinTokens, FieldIgnoreEOS}},
		{"a nested field, with its path", `loc: ('body', 'stream_options', 'continuous_usage_stats')`, nil, []Field{FieldContinuousUsage}},
		{"the outer field", `stream_options: Extra inputs are not permitted`, nil, []Field{FieldStreamOptions}},
		{"a list of all known fields", "unknown field `min_tokens`, expected one of `messages`, `seed`, `stream_options`, `temperature`", nil, []Field{FieldMinTokens}},
		{"the request repeated", `{"detail":[{"type":"missing","loc":["header","x-key"],"input":{"min_tokens":1,"ignore_eos":true}}]}`, nil, nil},
		{"what is omitted already", `cache_salt again`, []Field{FieldCacheSalt}, nil},
		{"a longer word", `the field my_cache_salt_x is bad`, nil, nil},
		{"max_tokens that is to be called otherwise", `Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.`, nil, []Field{FieldMaxTokens}},
		{"max_tokens that is too large", `'max_tokens' or 'max_completion_tokens' is too large: 100`, nil, nil},
		{"another complaint", `This model's maximum context length is 8192 tokens`, nil, nil},
	}
	for _, test := range tests {
		if got := Rejected(chat{}, []byte(test.reply), test.omitted); !slices.Equal(got, test.want) {
			t.Errorf("%s: %v, want %v", test.name, got, test.want)
		}
	}
}

func TestDiscoveryReplies(t *testing.T) {
	models, ok := ParseModels([]byte(`{"object":"list","data":[{"id":"a","owned_by":"vllm","max_model_len":4096},{"id":"b"}]}`))
	if want := []Model{{"a", "vllm", 4096}, {ID: "b"}}; !ok || !slices.Equal(models, want) {
		t.Errorf("models %v (%t), want %v", models, ok, want)
	}
	long := `{"data":[{"id":"` + strings.Repeat("x", 1000) + `"},{"id":""},{"id":"a"}]}`
	if models, _ := ParseModels([]byte(long)); !slices.Equal(models, []Model{{ID: "a"}}) {
		t.Errorf("names that are none are kept: %d models", len(models))
	}
	for _, reply := range []string{`{"detail":"Not Found"}`, "<html>", "data: {}"} {
		if _, ok := ParseModels([]byte(reply)); ok {
			t.Errorf("%q is a list of models", reply)
		}
	}
	info, ok := ParseInfo([]byte(`{"model_id":"bloom","max_input_tokens":1024,"max_total_tokens":2048,"router":"tgi"}`))
	if want := (Model{"bloom", "tgi", 2048}); !ok || info != want {
		t.Errorf("info %v (%t), want %v", info, ok, want)
	}
	if _, ok := ParseInfo([]byte(`{"model_id":"x"}`)); ok {
		t.Error("anything with a model id is TGI")
	}
}

func TestEndings(t *testing.T) {
	for reason, want := range map[string]Ending{
		"stop": Finished, "length": AtLimit, "eos_token": Finished, "content_filter": Filtered,
		"error": Failed, "abort": Failed, "": Unfinished, "surprise": Unfinished,
	} {
		if got := EndingOf(reason); got != want {
			t.Errorf("%q ends as %d, want %d", reason, got, want)
		}
	}
}

// FuzzDecode holds that no frame panics, that errors wrap ErrMalformed, and that
// what is no JSON is never taken for a token.
func FuzzDecode(f *testing.F) {
	for _, seed := range []string{
		`{"choices":[{"delta":{"content":[{"text":"x"}]},"finish_reason":"stop","token_ids":[1]}],"usage":{"prompt_tokens":1}}`,
		`{"token":{"text":"x"},"generated_text":"x","details":{"finish_reason":"length"}}`,
		`[{"error":{"message":"m"}}]`, `{"error":null}`, "[DONE]", `{"type":"error"}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, frame []byte) {
		for _, d := range Dialects() {
			delta, err := d.Decode(frame)
			if err != nil && !errors.Is(err, ErrMalformed) {
				t.Errorf("%s: error %v", d.Name(), err)
			}
			if (len(delta.Text) > 0 || delta.Tokens > 0) && !json.Valid(frame) {
				t.Errorf("%s took tokens from %q", d.Name(), frame)
			}
		}
		Describe(frame)
		Rejected(chat{}, frame, nil)
	})
}

// FuzzFields holds that reading in place sees what encoding/json sees.
func FuzzFields(f *testing.F) {
	for _, seed := range []string{`{}`, `{ "a" : [1, {"b":"\\"]}"}, null ] , "c":-1e5 }`, `{"a":{"b":[[],{}]},"a":""}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		data = bytes.TrimSpace(data)
		if !valid(data) {
			return
		}
		var want map[string]json.RawMessage
		if err := json.Unmarshal(data, &want); err != nil {
			t.Fatal(err)
		}
		got := map[string]json.RawMessage{}
		fields(data, func(key, value []byte) {
			got[unquote([]byte(`"`+string(key)+`"`))] = value
			elements(value, func(element []byte) {
				if !json.Valid(element) {
					t.Errorf("element %q of %q", element, value)
				}
			})
			if text := textIn(value); text != nil && string(text) != unquote(value) && utf8.Valid(value) {
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

// tokenFrames are frames of one token as servers send them, with all that is
// asked for. They are only read.
var tokenFrames = map[string]struct {
	dialect Dialect
	frame   []byte
}{
	"Chat": {chat{}, []byte(`{"id":"chatcmpl-3f6c1c2e9d5b4a6f8e7d","object":"chat.completion.chunk","created":1763700000,"model":"meta-llama/Llama-3.1-8B-Instruct","choices":[{"index":0,"delta":{"content":" token"},"logprobs":null,"finish_reason":null}],"usage":{"prompt_tokens":21000,"total_tokens":21050,"completion_tokens":50}}`)},
	"TGI":  {tgi{}, []byte(`{"index":1,"token":{"id":5,"text":" hi","logprob":-1.25,"special":false},"generated_text":null,"details":null}`)},
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
