package wire

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestRequests holds where each dialect sends a request, and its header.
func TestRequests(t *testing.T) {
	bearer := map[string]string{"Authorization": "Bearer k"}
	for _, test := range []struct {
		dialect *Dialect
		key     string
		ask     Ask
		path    string
		header  map[string]string
	}{
		{chat, "", Ask{Server: Server{Prefix: "/openai"}}, "/openai/v1/chat/completions", map[string]string{}},
		{completions, "k", Ask{Model: "m"}, "/v1/completions", bearer},
		{responses, "k", Ask{Server: Server{Prefix: "/openai"}}, "/openai/v1/responses", bearer},
		{azure, "", Ask{Model: "my model"}, "/openai/deployments/my%20model/chat/completions?api-version=2024-10-21",
			map[string]string{}},
		{azure, "k", Ask{Model: "m", Version: "2025-01-01-preview"},
			"/openai/deployments/m/chat/completions?api-version=2025-01-01-preview", map[string]string{"api-key": "k"}},
		{anthropic, "", Ask{}, "/v1/messages", map[string]string{"anthropic-version": "2023-06-01"}},
		{anthropic, "k", Ask{Version: "2030-01-01"}, "/v1/messages",
			map[string]string{"anthropic-version": "2030-01-01", "x-api-key": "k"}},
		{sglang, "k", Ask{}, "/generate", bearer},
		{tgi, "k", Ask{}, "/generate_stream", bearer},
		{triton, "k", Ask{Model: "org/m"}, "/v2/models/org%2Fm/generate_stream", bearer},
		{triton, "k", Ask{Model: "m", Version: "2"}, "/v2/models/m/versions/2/generate_stream", bearer},
		{llama, "k", Ask{}, "/completion", bearer},
		{ollama, "k", Ask{}, "/api/generate", bearer},
	} {
		if got := test.dialect.Path(test.ask); got != test.path {
			t.Errorf("%s: %s, want %s", test.dialect.Name, got, test.path)
		}
		if diff := cmp.Diff(test.header, test.dialect.Header(test.key, test.ask.Version)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.dialect.Name, diff)
		}
	}
}

// TestRejected holds each dialect to what its servers complain of.
func TestRejected(t *testing.T) {
	for _, test := range []struct {
		name    string
		dialect *Dialect
		reply   string
		omitted []Field
		want    []Field
	}{
		{"pydantic", chat, `[{'type': 'extra_forbidden', 'loc': ('body', 'cache_salt')}]`, nil, []Field{FieldCacheSalt}},
		{"several at once", chat, `{"message":"unknown fields: min_tokens, ignore_eos"}`, nil,
			[]Field{FieldMinTokens, FieldIgnoreEOS}},
		{"a nested field, with its path", chat, `loc: ('body', 'stream_options', 'continuous_usage_stats')`, nil,
			[]Field{FieldContinuousUsage}},
		{"the outer field", chat, `stream_options: Extra inputs are not permitted`, nil, []Field{FieldStreamOptions}},
		{"a list of all known fields", chat,
			"unknown field `min_tokens`, expected one of `messages`, `seed`, `stream_options`, `temperature`", nil,
			[]Field{FieldMinTokens}},
		{"the request repeated", chat,
			`{"detail":[{"type":"missing","loc":["header","x-key"],"input":{"min_tokens":1,"ignore_eos":true}}]}`, nil, nil},
		{"what is omitted already", chat, `cache_salt again`, []Field{FieldCacheSalt}, nil},
		{"a longer word", chat, `the field my_cache_salt_x is bad`, nil, nil},
		{"max_tokens that is to be called otherwise", chat,
			`Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.`, nil,
			[]Field{FieldMaxTokens}},
		{"both names of one limit", chat,
			`Setting 'max_tokens' and 'max_completion_tokens' at the same time is not supported.`, nil,
			[]Field{FieldMaxCompletionTokens}},
		{"a name that is not known", chat, `{'type': 'extra_forbidden', 'loc': ('body', 'max_completion_tokens')}`, nil,
			[]Field{FieldMaxCompletionTokens}},
		{"max_tokens that is too large", chat, `'max_tokens' or 'max_completion_tokens' is too large: 100`, nil, nil},
		{"two names of one field, of TGI", chat, "Failed to deserialize the JSON body into the target type: duplicate " +
			"field `max_tokens` at line 1 column 90", nil, []Field{FieldMaxCompletionTokens}},
		{"the same once more", chat, "duplicate field `max_tokens` at line 1 column 90",
			[]Field{FieldMaxCompletionTokens}, nil},
		{"another field twice", chat, "duplicate field `seed` at line 1 column 90", nil, []Field{FieldSeed}},
		{"another complaint", chat, `This model's maximum context length is 8192 tokens`, nil, nil},
		{"LMDeploy's own word", chat, `{"message":"min_new_tokens: Extra inputs are not permitted"}`, nil,
			[]Field{FieldMinTokens}},
		{"SGLang's own word", sglang, `SamplingParams.__init__() got an unexpected keyword argument 'min_new_tokens'`, nil,
			[]Field{FieldMinTokens}},
		{"SGLang's salt", sglang, `{"detail":[{"loc":["body","extra_key"]}]}`, nil, []Field{FieldCacheSalt}},
		{"a path of SGLang's", sglang, `{"error":{"message":"unexpected 'sampling_params.ignore_eos'"}}`, nil,
			[]Field{FieldIgnoreEOS}},
		{"a count of Triton's", triton, `{"error":"unexpected inference input 'return_num_output_tokens' for model 'm'"}`,
			nil, []Field{fieldOutputTokens}},
		{"a parameter of Responses", responses,
			`{"error":{"message":"Unsupported parameter: 'temperature' is not supported with this model.",` +
				`"param":"temperature"}}`, nil, []Field{FieldTemperature}},
		{"what Responses is asked not to keep", responses, `{"error":{"message":"Unknown parameter: 'store'."}}`, nil,
			[]Field{fieldStore}},
		{"Azure's limit by its other name", azure,
			`{"error":{"message":"Unsupported parameter: 'max_tokens' is not supported with this model. Use ` +
				`'max_completion_tokens' instead."}}`, nil, []Field{FieldMaxTokens}},
		{"a temperature", anthropic, `{"type":"error","error":{"message":"temperature: not supported"}}`, nil,
			[]Field{FieldTemperature}},
		{"timings", llama, `{"error":{"message":"timings_per_token must be a boolean"}}`, nil, []Field{fieldTimings}},
		{"thinking", ollama, `{"error":"think value false is not supported for this model"}`, nil, []Field{fieldThink}},
		{"what Ollama is always asked", ollama, `{"error":"the input exceeds the context length: set truncate or shift"}`,
			nil, nil},
	} {
		if got := Rejected(test.dialect, []byte(test.reply), test.omitted); !slices.Equal(got, test.want) {
			t.Errorf("%s %s, %s: %v, want %v", test.dialect.Name, test.name, test.reply, got, test.want)
		}
	}
}

// TestURL holds where requests go, also from bases that have a path of their own.
func TestURL(t *testing.T) {
	models := &Dialect{Name: "models", Path: fixedPath(ModelsPath)}
	for _, test := range []struct {
		base    string
		dialect *Dialect
		want    string
	}{
		{"http://a", models, "http://a/v1/models"},
		{"http://a/", models, "http://a/v1/models"},
		{"http://a/v1", models, "http://a/v1/models"},
		{"http://a/v1/", models, "http://a/v1/models"},
		{"http://a/openai", models, "http://a/openai/v1/models"},
		{"http://a/openai/v1", models, "http://a/openai/v1/models"},
		{"http://a/serve/llama/v1", models, "http://a/serve/llama/v1/models"},
		{"http://a/serve/llama", models, "http://a/serve/llama/models"},
		{"http://a/v1beta/openai/", models, "http://a/v1beta/openai/models"},
		{"http://a/v1/openai", models, "http://a/v1/openai/models"},
		{"https://a:8443/v1/models", models, "https://a:8443/v1/models/models"},
		{"http://a/openai/deployments/gpt", models, "http://a/openai/deployments/gpt/models"},
		{"https://a/v1beta/openai", chat, "https://a/v1beta/openai/chat/completions"},
		{"https://a/gateway", llama, "https://a/gateway/completion"},
		{"https://a/anthropic", anthropic, "https://a/anthropic/v1/messages"}, // as its own clients have it
		{"https://a/openai/deployments/gpt", chat, "https://a/openai/deployments/gpt/chat/completions"},
		{"https://a/openai/deployments/gpt", azure,
			"https://a/openai/deployments/gpt/chat/completions?api-version=2024-10-21"},
		{"https://a/openai", azure, "https://a/openai/deployments/m/chat/completions?api-version=2024-10-21"},
	} {
		if got := URL(test.base, test.dialect.Path(Ask{Model: "m"})); got != test.want {
			t.Errorf("%s of %s: %s, want %s", test.dialect.Name, test.base, got, test.want)
		}
	}
	want := "https://a:8443/my/chat?api-version=1"
	if got := PathOnHost("https://a:8443/base/v1", "/my/chat", "/x?api-version=1"); got != want {
		t.Errorf("a path of the user's own: %s, want %s", got, want)
	}
}
