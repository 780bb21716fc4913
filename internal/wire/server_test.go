package wire

import (
	"slices"
	"strings"
	"testing"
)

func TestRecognize(t *testing.T) {
	list := func(entry string) []byte { return []byte(`{"object":"list","data":[{"id":"m",` + entry + `}]}`) }
	header := func(name, value string) map[string][]string { return map[string][]string{name: {value}} }
	routes := func(replies map[string]string) func(string) []byte {
		return func(path string) []byte { return []byte(replies[path]) }
	}
	tests := []struct {
		want     string // empty: not known
		evidence Evidence
	}{
		{"vllm", Evidence{Models: list(`"owned_by":"vllm"`)}},
		{"production-stack",
			Evidence{Models: list(`"owned_by":"vllm"`), Get: routes(map[string]string{"/engines": `[{"engine_id":"a"}]`})}},
		{"nim",
			Evidence{Models: list(`"owned_by":"vllm"`),
				Get: routes(map[string]string{"/v1/metadata": `{"modelInfo":[],"version":"2"}`})}},
		{"sglang", Evidence{Models: list(`"owned_by":"sglang"`)}},
		{"trtllm", Evidence{Models: list(`"owned_by":"tensorrt_llm"`)}},
		{"lmdeploy", Evidence{Models: list(`"owned_by":"lmdeploy"`)}},
		{"dynamo", Evidence{Models: list(`"owned_by":"nvidia"`)}},
		{"dynamo", Evidence{
			Models: list(`"type":"model","display_name":"m","max_input_tokens":32768`),
			Get:    routes(map[string]string{"/health": `{"status":"healthy","endpoints":["dyn://dynamo.backend.generate"]}`}),
		}},
		{"llama-server", Evidence{Models: list(`"owned_by":"llamacpp"`)}},
		{"llama-server", Evidence{Models: list(`"owned_by":"me"`), Header: header("Server", "llama.cpp")}},
		{"ollama", Evidence{Models: list(`"owned_by":"library"`)}},
		{"ray-serve", Evidence{Models: list(`"owned_by":"organization-owner","rayllm_metadata":{}`)}},
		{"kserve", Evidence{Models: list(`"owned_by":"x"`), Prefix: "/openai"}},
		{"openrouter", Evidence{Models: list(`"pricing":{},"supported_parameters":[]`)}},
		{"litellm",
			Evidence{Models: list(`"created":1677610602,"owned_by":"openai","max_input_tokens":32768,` +
				`"max_output_tokens":32768`)}},
		{"litellm", Evidence{Models: list(`"owned_by":"openai"`), Header: header("X-Litellm-Version", "1.80.0")}},
		{"ray-serve",
			Evidence{Models: list(`"owned_by":"organization-owner","metadata":{"model_id":"m","input_modality":"text",` +
				`"max_request_context_length":null}`)}},
		{"ray-serve",
			Evidence{Models: list(`"owned_by":"organization-owner","metadata":{"max_request_context_length":32768}`)}},
		{"", Evidence{Models: list(`"owned_by":"organization-owner","metadata":"none"`)}},
		{"openai", Evidence{Models: list(`"owned_by":"system"`), Host: "api.openai.com"}},
		{"openai", Evidence{Models: []byte(`{"error":{}}`), Refused: true, Host: "eu.api.openai.com"}},
		{"openai", Evidence{Models: list(`"owned_by":"openai"`)}},
		{"llama-cpp-python",
			Evidence{Models: list(`"owned_by":"me"`), Header: header("Openai-Processing-Ms", "12"), Host: "127.0.0.1"}},
		{"", Evidence{Models: list(`"owned_by":"x"`), Header: header("Openai-Processing-Ms", "12"), Host: "notopenai.com"}},
		{"openai", Evidence{Models: list(`"owned_by":"system"`), Header: header("Apim-Request-Id", "x")}},
		{"azure-openai",
			Evidence{Models: []byte(`{"error":{"code":"404","message":"Resource not found"}}`), Refused: true,
				Header: header("Apim-Request-Id", "x")}},
		{"anthropic",
			Evidence{Models: []byte(`{"type": "error", "error": {"type": "authentication_error", "message": "invalid ` +
				`x-api-key"}}`), Refused: true}},
		{"anthropic", Evidence{Models: list(`"type":"model","display_name":"M"`)}},
		{"anthropic",
			Evidence{Models: list(`"type":"model","display_name":"M","max_input_tokens":200000,"max_tokens":64000`)}},
		{"tgi",
			Evidence{Models: list(`"owned_by":"m"`),
				Get: routes(map[string]string{"/info": `{"model_id":"m","max_total_tokens":4096}`})}},
		{"tgi",
			Evidence{Models: []byte(`{"object":"list","data":[{"id":"org/m","object":"model","created":0,` +
				`"owned_by":"org/m"}]}`)}},
		{"", Evidence{Models: list(`"created":0,"owned_by":"x"`)}},
		{"", Evidence{Models: list(`"created":1700000000,"owned_by":"m"`)}},
		{"", Evidence{Models: []byte(`{"data":[{"id":"","created":0,"owned_by":""}]}`)}},
		{"tgi", Evidence{Answer: true, Header: header("X-Compute-Type", "gpu+optimized")}},
		{"triton", Evidence{Refused: true, Get: routes(map[string]string{"/v2": `{"name":"triton","version":"2.60"}`})}},
		{"", Evidence{Models: list(`"owned_by":"somebody"`)}},
		{"", Evidence{Models: []byte(`{"error":"Unauthorized"}`), Refused: true}},
		{"", Evidence{Models: []byte(`<html>"owned_by":"vllm"`)}},
		{"", Evidence{}},
		{"litellm",
			Evidence{Answer: true,
				Header: header("X-Litellm-Call-Id", "x")}}, // gateways are known by an answer to a probe as well
		{"litellm", Evidence{Answer: true, Header: header("X-Litellm-Model-Id", "x")}},
		{"", Evidence{Answer: true, Header: header("Openai-Processing-Ms", "12")}},
		{"", Evidence{Answer: true, Header: header("Apim-Request-Id", "x")}},
		{"", Evidence{Answer: true, Header: header("Server", "llama.cpp")}},
	}
	seen := map[string]bool{}
	for _, test := range tests {
		if test.evidence.Get == nil {
			test.evidence.Get = func(string) []byte { return nil }
		}
		got, ok := Recognize(test.evidence)
		if got.Name != test.want || ok != (test.want != "") {
			t.Errorf("recognized %q in %s, want %q", got.Name, test.evidence.Models, test.want)
		}
		seen[got.Name] = true
	}
	for _, name := range Servers() {
		if !seen[name] {
			t.Errorf("%s is recognized by nothing here", name)
		}
	}
}

// TestServers holds the table to what its fields mean.
func TestServers(t *testing.T) {
	known := append(extensions, FieldMaxTokens, FieldMaxCompletionTokens, FieldDetails)
	for _, s := range servers {
		for _, f := range s.Omit {
			if !slices.Contains(known, f) {
				t.Errorf("%s omits %s, which no dialect sends", s.Name, f)
			}
		}
		for f := range s.Keys {
			if !slices.Contains(known, f) || slices.Contains(s.Omit, f) {
				t.Errorf("%s names %s, which it is not sent", s.Name, f)
			}
		}
		if s.Cached == "" || s.Tokenize == nil || len(s.Signatures) == 0 {
			t.Errorf("%s does not say all: %+v", s.Name, s)
		}
	}
	if _, err := LookupServer("vlm"); err == nil || !strings.Contains(err.Error(), "vllm") {
		t.Errorf("error %v does not list the known names", err)
	}
	unknown, vllm := Server{}, Server{Name: "x", Omit: []Field{FieldCacheSalt}}
	if unknown.Claim(FieldCacheSalt) != Unknown ||
		vllm.Claim(FieldCacheSalt) != Never || vllm.Claim(FieldIgnoreEOS) != Always {
		t.Error("claims are not those of the table")
	}
}

// TestAMistakeInTheTableIsAnError, and no server that is asked by openai-chat instead.
func TestAMistakeInTheTableIsAnError(t *testing.T) {
	for file, want := range map[string]string{
		"- {name: x, dialect: openai-chats, tokenize: none}": "openai-chats",
		"- {name: x, tokenize: vlm}":                         `unknown tokenizer "vlm"`,
		"- {name: x}":                                        `unknown tokenizer ""`,
		"- {name: x, tokenize: none, omits: [seed]}":         "omits",
	} {
		if list, err := parseServers([]byte(file)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, error %v, want %s", file, list, err, want)
		}
	}
	list, err := parseServers([]byte("- {name: x, dialect: tgi, tokenize: none}"))
	if err != nil || list[0].Dialect != tgi {
		t.Errorf("%+v, error %v", list, err)
	}
}
