package wire

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestBodies(t *testing.T) {
	ask := Ask{Model: "m", Prompt: "p", MaxTokens: 7, CacheSalt: "s", Priority: new(-3)}
	serverType := func(name string) Server {
		s, err := LookupServer(name)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	all := ask
	for _, d := range dialects {
		all.Omit = append(all.Omit, d.Fields...)
	}
	warm := all
	warm.CacheSalt = ""
	tests := []struct {
		name    string
		dialect *Dialect
		ask     Ask
		want    string
	}{
		{"chat", chat, ask,
			`{"cache_salt":"s","ignore_eos":true,"max_completion_tokens":7,"max_tokens":7,"messages":[{"role":"user",` +
				`"content":"p"}],"min_tokens":7,"model":"m","priority":-3,"seed":1,"stream":true,` +
				`"stream_options":{"continuous_usage_stats":true,"include_usage":true},"temperature":0}`},
		{"chat of a known type", chat, Ask{Prompt: "p", MaxTokens: 7, Server: serverType("vllm")},
			`{"ignore_eos":true,"max_tokens":7,"messages":[{"role":"user","content":"p"}],"min_tokens":7,"seed":1,` +
				`"stream":true,"stream_options":{"continuous_usage_stats":true,"include_usage":true},"temperature":0}`},
		{"chat of OpenAI", chat, Ask{Prompt: "p", MaxTokens: 7, Server: serverType("openai")},
			`{"max_completion_tokens":7,"messages":[{"role":"user","content":"p"}],"seed":1,"stream":true,` +
				`"stream_options":{"include_obfuscation":false,"include_usage":true},"temperature":0}`},
		{"chat without what a server rejects", chat, all,
			`{"max_completion_tokens":7,"messages":[{"role":"user","content":"p"}],"model":"m","stream":true}`},
		{"a conversation", chat,
			Ask{Turns: []Turn{{"system", "s"}, {"user", "u"}, {"assistant", "a"}}, Prompt: "p", MaxTokens: 7, Omit: all.Omit},
			`{"max_completion_tokens":7,"messages":[{"role":"system","content":"s"},{"role":"user","content":"u"},` +
				`{"role":"assistant","content":"a"},{"role":"user","content":"p"}],"stream":true}`},
		{"LMDeploy's own words", chat, Ask{Prompt: "p", MaxTokens: 7, CacheSalt: "s", Server: serverType("lmdeploy")},
			`{"ignore_eos":true,"max_tokens":7,"messages":[{"role":"user","content":"p"}],"min_new_tokens":7,` +
				`"return_token_ids":true,"seed":1,"stream":true,"stream_options":{"include_usage":true},"temperature":0}`},
		{"Dynamo's salt", completions, Ask{Prompt: "p", MaxTokens: 7, CacheSalt: "s", Server: serverType("dynamo")},
			`{"ignore_eos":true,"max_tokens":7,"min_tokens":7,"nvext":{"cache_salt":"s"},"prompt":"p","seed":1,` +
				`"stream":true,"stream_options":{"continuous_usage_stats":true,"include_usage":true},"temperature":0}`},
		{"completions", completions, ask,
			`{"cache_salt":"s","ignore_eos":true,"max_tokens":7,"min_tokens":7,"model":"m","priority":-3,"prompt":"p",` +
				`"seed":1,"stream":true,"stream_options":{"continuous_usage_stats":true,"include_usage":true},"temperature":0}`},
		{"completions without", completions, all, `{"max_tokens":7,"model":"m","prompt":"p","stream":true}`},
		{"a conversation as one text", completions,
			Ask{Turns: []Turn{{"system", "s"}, {"user", "u"}}, Prompt: "p", MaxTokens: 7, Omit: all.Omit},
			`{"max_tokens":7,"prompt":"s\n\nu\n\np","stream":true}`},
		{"tgi", tgi, ask, `{"inputs":"p","parameters":{"details":true,"do_sample":false,"max_new_tokens":7}}`},
		{"tgi without", tgi, all, `{"inputs":"p","parameters":{"do_sample":false,"max_new_tokens":7}}`},
		{"sglang", sglang, ask,
			`{"extra_key":"s","priority":-3,"sampling_params":{"ignore_eos":true,"max_new_tokens":7,"min_new_tokens":7,` +
				`"temperature":0},"stream":true,"text":"p"}`},
		{"sglang without", sglang, warm, `{"sampling_params":{"max_new_tokens":7},"stream":true,"text":"p"}`},
		{"triton", triton, ask,
			`{"parameters":{"exclude_input_in_output":true,"ignore_eos":true,"max_tokens":7,"min_tokens":7,` +
				`"return_finish_reason":true,"return_num_input_tokens":true,"return_num_output_tokens":true,"stream":true,` +
				`"temperature":0},"text_input":"p"}`},
		{"triton without", triton, all, `{"parameters":{"max_tokens":7,"stream":true},"text_input":"p"}`},
		{"llama-server, cold", llama, ask,
			`{"cache_prompt":false,"ignore_eos":true,"n_predict":7,"prompt":"p","seed":1,"stream":true,"temperature":0,` +
				`"timings_per_token":true}`},
		{"llama-server, warm", llama, warm, `{"cache_prompt":true,"n_predict":7,"prompt":"p","stream":true}`},
		{"llama-server of its type", llama,
			Ask{Prompt: "p", MaxTokens: 7, CacheSalt: "s", Server: serverType("llama-server")},
			`{"cache_prompt":false,"ignore_eos":true,"n_predict":7,"prompt":"p","seed":1,"stream":true,"temperature":0,` +
				`"timings_per_token":true}`},
		{"ollama", ollama, ask,
			`{"keep_alive":"30m","model":"m","options":{"num_predict":7,"seed":1,"temperature":0},"prompt":"p","raw":true,` +
				`"shift":false,"stream":true,"think":false,"truncate":false}`},
		{"ollama without", ollama, all,
			`{"keep_alive":"30m","model":"m","options":{"num_predict":7},"prompt":"p","raw":true,"shift":false,` +
				`"stream":true,"truncate":false}`},
		{"anthropic", anthropic, ask,
			`{"max_tokens":7,"messages":[{"role":"user","content":"p"}],"model":"m","stream":true,"temperature":0}`},
		{"anthropic without, a conversation", anthropic,
			Ask{Model: "m", Turns: []Turn{{"system", "s"}, {"user", "u"}, {"assistant", "a"}, {"system", "t"}}, Prompt: "p",
				MaxTokens: 7, Omit: all.Omit},
			`{"max_tokens":7,"messages":[{"role":"user","content":"u"},{"role":"assistant","content":"a"},{"role":"user",` +
				`"content":"p"}],"model":"m","stream":true,"system":"s\n\nt"}`},
		{"responses", responses, ask,
			`{"cache_salt":"s","input":"p","max_output_tokens":7,"model":"m","priority":-3,"store":false,"stream":true,` +
				`"temperature":0}`},
		{"responses of OpenAI", responses,
			Ask{Model: "m", Prompt: "p", MaxTokens: 7, CacheSalt: "s", Server: serverType("openai")},
			`{"input":"p","max_output_tokens":7,"model":"m","store":false,"stream":true,` +
				`"stream_options":{"include_obfuscation":false},"temperature":0}`},
		{"responses without, a conversation", responses,
			Ask{Turns: []Turn{{"system", "s"}}, Prompt: "p", MaxTokens: 7, Omit: all.Omit},
			`{"input":[{"role":"system","content":"s"},{"role":"user","content":"p"}],"max_output_tokens":7,"stream":true}`},
		{"azure", azure, ask,
			`{"max_tokens":7,"messages":[{"role":"user","content":"p"}],"model":"m","seed":1,"stream":true,` +
				`"stream_options":{"include_usage":true},"temperature":0}`},
		{"azure without", azure, all,
			`{"max_completion_tokens":7,"messages":[{"role":"user","content":"p"}],"model":"m","stream":true}`},
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
		dialect           *Dialect
		tokenize          *tokenizers
		path, body, reply string
		want              Count
	}{
		{chat, nil, "/tokenize", `{"messages":[{"role":"user","content":"p"}],"model":"m"}`,
			`{"count":17,"max_model_len":4096,"tokens":[1,2]}`, Tokens(17)},
		{completions, nil, "/tokenize", `{"model":"m","prompt":"p"}`, `{"count":17,"tokens":[1,2]}`, Tokens(17)},
		{completions, nil, "/tokenize", `{"model":"m","prompt":"p"}`, `{"count":17,"tokens":null}`, Tokens(17)},
		{completions, vllmTokens, "/tokenize", `{"model":"m","prompt":"p"}`, `{"detail":"Not Found"}`, Count{}},
		{completions, promptTokens, "/tokenize", `{"model":"m","prompt":"p"}`, `{"count":-1}`, Count{}},
		{completions, llamaTokens, "/tokenize", `{"add_special":true,"content":"p"}`, `{"tokens":[7,8,9]}`, Tokens(3)},
		{completions, llamaTokens, "/tokenize", `{"add_special":true,"content":"p"}`,
			`{"tokens":[{"id":7,"piece":"p"}]}`, Tokens(1)},
		{completions, llamaCppPythonTokens, "/extras/tokenize", `{"input":"p"}`, `{"tokens":[7,8]}`, Tokens(2)},
		{completions, lmdeployTokens, "/v1/encode", `{"add_bos":true,"input":"p"}`,
			`{"input_ids":[7,8],"length":2}`, Tokens(2)},
		{chat, tgiTokens, "/chat_tokenize", `{"messages":[{"role":"user","content":"p"}],"model":"m"}`,
			`{"tokenize_response":[{"id":1},{"id":2}],"templated_text":"x"}`, Tokens(2)},
		{completions, tgiTokens, "/tokenize", `{"inputs":"p"}`, `[{"id":1}]`, Tokens(1)},
		{tgi, nil, "/tokenize", `{"inputs":"p"}`, `[{"id":1,"text":"p","start":0,"stop":1},{"id":2}]`, Tokens(2)},
		{tgi, nil, "/tokenize", `{"inputs":"p"}`, "data: x", Count{}},
		{sglang, nil, "/tokenize", `{"model":"m","prompt":"p"}`, `{"count":3}`, Tokens(3)},
		{llama, nil, "/tokenize", `{"add_special":true,"content":"p"}`, `{"tokens":[7]}`, Tokens(1)},
		{anthropic, noTokens, "/v1/messages/count_tokens", `{"messages":[{"role":"user","content":"p"}],"model":"m"}`,
			`{"input_tokens":9}`, Tokens(9)},
		{anthropic, noTokens, "/v1/messages/count_tokens", `{"messages":[{"role":"user","content":"p"}],"model":"m"}`,
			`{"input_tokens":-9}`, Count{}},
		{anthropic, noTokens, "/v1/messages/count_tokens", `{"messages":[{"role":"user","content":"p"}],"model":"m"}`,
			`{"input_tokens":13,"litellm_count_source":"local_estimate"}`, Count{}},
		{responses, noTokens, "/v1/responses/input_tokens", `{"input":"p","model":"m"}`,
			`{"object":"response.input_tokens","input_tokens":11}`, Tokens(11)},
		{responses, vllmTokens, "/tokenize", `{"messages":[{"role":"user","content":"p"}],"model":"m"}`,
			`{"count":3}`, Tokens(3)},
	}
	for _, test := range tests {
		tokenizer, ok := test.dialect.Tokenizer(Server{Tokenize: test.tokenize})
		if !ok {
			t.Errorf("%s has no tokenizer for %s", test.dialect.Name, test.path)
			continue
		}
		body, err := tokenizer.Body(Ask{Model: "m", Prompt: "p"})
		if err != nil || tokenizer.Path != test.path || string(body) != test.body {
			t.Errorf("%s: POST %s %s (%v)", test.dialect.Name, tokenizer.Path, body, err)
		}
		if diff := cmp.Diff(test.want, tokenizer.Read([]byte(test.reply))); diff != "" {
			t.Errorf("%s reads %s (-want +got):\n%s", test.dialect.Name, test.reply, diff)
		}
	}
	for _, route := range []*tokenizers{noTokens, promptTokens, llamaTokens, lmdeployTokens} {
		for _, d := range []*Dialect{chat, azure, triton, ollama} {
			if _, ok := d.Tokenizer(Server{Tokenize: route}); ok {
				t.Errorf("%s has a tokenizer: %s", d.Name, route.prompt.Path)
			}
		}
	}
}
