package wire

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPaths(t *testing.T) {
	kserve := Server{Prefix: "/openai"}
	for _, test := range []struct {
		dialect *Dialect
		ask     Ask
		want    string
	}{
		{chat, Ask{Server: kserve}, "/openai/v1/chat/completions"},
		{completions, Ask{Model: "m"}, "/v1/completions"},
		{responses, Ask{Server: kserve}, "/openai/v1/responses"},
		{azure, Ask{Model: "my model"}, "/openai/deployments/my%20model/chat/completions?api-version=2024-10-21"},
		{azure, Ask{Model: "m", Version: "2025-01-01-preview"}, "/openai/deployments/m/chat/completions?api-version=2025-01-01-preview"},
		{anthropic, Ask{}, "/v1/messages"},
		{sglang, Ask{}, "/generate"},
		{tgi, Ask{}, "/generate_stream"},
		{triton, Ask{Model: "org/m"}, "/v2/models/org%2Fm/generate_stream"},
		{triton, Ask{Model: "m", Version: "2"}, "/v2/models/m/versions/2/generate_stream"},
		{llama, Ask{}, "/completion"},
		{ollama, Ask{}, "/api/generate"},
	} {
		if got := test.dialect.Path(test.ask); got != test.want {
			t.Errorf("%s: %s, want %s", test.dialect.Name, got, test.want)
		}
	}
}

func TestHeaders(t *testing.T) {
	for _, test := range []struct {
		dialect      *Dialect
		key, version string
		want         map[string]string
	}{
		{chat, "", "", map[string]string{}},
		{sglang, "k", "", map[string]string{"Authorization": "Bearer k"}},
		{azure, "", "", map[string]string{}},
		{azure, "k", "2024-10-21", map[string]string{"api-key": "k"}},
		{anthropic, "", "", map[string]string{"anthropic-version": "2023-06-01"}},
		{anthropic, "k", "2030-01-01", map[string]string{"anthropic-version": "2030-01-01", "x-api-key": "k"}},
	} {
		if diff := cmp.Diff(test.want, test.dialect.Header(test.key, test.version)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.dialect.Name, diff)
		}
	}
}

// TestRejectedFields holds each dialect to what its servers complain of.
func TestRejectedFields(t *testing.T) {
	for _, test := range []struct {
		dialect *Dialect
		reply   string
		want    []Field
	}{
		{chat, `{"message":"min_new_tokens: Extra inputs are not permitted"}`, []Field{FieldMinTokens}}, // LMDeploy's
		{sglang, `SamplingParams.__init__() got an unexpected keyword argument 'min_new_tokens'`, []Field{FieldMinTokens}},
		{sglang, `{"detail":[{"loc":["body","extra_key"]}]}`, []Field{FieldCacheSalt}},
		{sglang, `{"error":{"message":"unexpected 'sampling_params.ignore_eos'"}}`, []Field{FieldIgnoreEOS}},
		{triton, `{"error":"unexpected inference input 'return_num_output_tokens' for model 'm'"}`, []Field{fieldOutputTokens}},
		{responses, `{"error":{"message":"Unsupported parameter: 'temperature' is not supported with this model.","param":"temperature"}}`, []Field{FieldTemperature}},
		{responses, `{"error":{"message":"Unknown parameter: 'store'."}}`, []Field{fieldStore}},
		{azure, `{"error":{"message":"Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."}}`, []Field{FieldMaxTokens}},
		{anthropic, `{"type":"error","error":{"message":"temperature: not supported"}}`, []Field{FieldTemperature}},
		{llama, `{"error":{"message":"timings_per_token must be a boolean"}}`, []Field{fieldTimings}},
		{ollama, `{"error":"think value false is not supported for this model"}`, []Field{fieldThink}},
		{ollama, `{"error":"the input exceeds the context length: set truncate or shift"}`, nil},
	} {
		if got := Rejected(test.dialect, []byte(test.reply), nil); !slices.Equal(got, test.want) {
			t.Errorf("%s, %s: %v, want %v", test.dialect.Name, test.reply, got, test.want)
		}
	}
}

func TestFinishesAndTokenizers(t *testing.T) {
	uncounted := []string{"azure-openai", "triton", "ollama"}
	for _, d := range dialects {
		if d.Endless != (d.Name == "triton") {
			t.Errorf("%s tells a finish reason: %t", d.Name, !d.Endless)
		}
		if _, ok := d.Tokenizer(Server{}); ok == slices.Contains(uncounted, d.Name) {
			t.Errorf("%s has a tokenizer: %t", d.Name, ok)
		}
	}
}

// TestEndpointURLs holds where probes go from bases that have a path of their own.
func TestEndpointURLs(t *testing.T) {
	for _, test := range []struct {
		base    string
		dialect *Dialect
		want    string
	}{
		{"https://a/v1beta/openai", chat, "https://a/v1beta/openai/chat/completions"},
		{"https://a/v1beta/openai", completions, "https://a/v1beta/openai/completions"},
		{"https://a/v1beta/openai", responses, "https://a/v1beta/openai/responses"},
		{"https://a/gateway", llama, "https://a/gateway/completion"},
		{"https://a/anthropic", anthropic, "https://a/anthropic/v1/messages"}, // as its own clients have it
		{"https://a/openai/deployments/gpt", chat, "https://a/openai/deployments/gpt/chat/completions"},
		{"https://a/openai/deployments/gpt", azure, "https://a/openai/deployments/gpt/chat/completions?api-version=2024-10-21"},
		{"https://a/openai", azure, "https://a/openai/deployments/m/chat/completions?api-version=2024-10-21"},
	} {
		if got := URL(test.base, test.dialect.Path(Ask{Model: "m"})); got != test.want {
			t.Errorf("%s of %s: %s, want %s", test.dialect.Name, test.base, got, test.want)
		}
	}
	if got, want := At("https://a:8443/base/v1", "/my/chat", "/x?api-version=1"), "https://a:8443/my/chat?api-version=1"; got != want {
		t.Errorf("a path of the user's own: %s, want %s", got, want)
	}
}
