package wire

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

// object returns the object of a JSON text.
func object(t *testing.T, text string) Object {
	t.Helper()
	var o Object
	err := json.Unmarshal([]byte(text), &o)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// TestWhatAUserAddsCountsMost holds that it replaces what the prober writes, also a field that the server is known to
// reject, that objects are merged deeply, and that what changes the count is sent to the tokenizer as well.
func TestWhatAUserAddsCountsMost(t *testing.T) {
	for name, test := range map[string]struct {
		api, added  string
		want        []string // in the request
		wantCounted string   // in the request to the tokenizer
	}{
		"a new field":        {"openai-chat", `{"service_tier":"flex"}`, []string{`"service_tier":"flex"`}, ""},
		"instead of ours":    {"openai-chat", `{"seed":7,"temperature":0.7}`, []string{`"seed":7`, `"temperature":0.7`}, ""},
		"what it may reject": {"openai-chat", `{"ignore_eos":false}`, []string{`"ignore_eos":false`}, ""},
		"null":               {"openai-chat", `{"seed":null}`, []string{`"seed":null`}, ""},
		"an inner object of ours": {"ollama", `{"options":{"num_gpu":1}}`,
			[]string{`"num_gpu":1`, `"num_predict":7`}, ""},
		"parameters": {"triton", `{"parameters":{"lora_name":"a"}}`, []string{`"lora_name":"a"`, `"max_tokens":7`}, ""},
		"a chat template's arguments": {"openai-chat", `{"chat_template_kwargs":{"enable_thinking":false}}`,
			[]string{`"chat_template_kwargs":{"enable_thinking":false}`}, `"chat_template_kwargs":{"enable_thinking":false}`},
		"tools": {"anthropic", `{"thinking":{"type":"disabled"}}`,
			[]string{`"thinking":{"type":"disabled"}`}, `"thinking":{"type":"disabled"}`},
	} {
		d, err := Lookup(test.api)
		if err != nil {
			t.Fatal(err)
		}
		ask := Ask{Prompt: "p", MaxTokens: 7, Omit: []Field{FieldIgnoreEOS}, Body: object(t, test.added)}
		for range 2 { // the object is only read
			request, err := d.Body(ask)
			if err != nil {
				t.Fatal(err)
			}
			for _, want := range test.want {
				if !strings.Contains(string(request), want) {
					t.Errorf("%s: %s is not in %s", name, want, request)
				}
			}
		}
		if ask.Body.String() != object(t, test.added).String() {
			t.Errorf("%s: has become %s", name, ask.Body)
		}
		tokenizer, ok := d.Tokenizer(Server{})
		if !ok {
			continue
		}
		counted, err := tokenizer.Body(ask)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(counted), test.wantCounted) {
			t.Errorf("%s: %s is not in %s", name, test.wantCounted, counted)
		}
		if test.wantCounted == "" && strings.Contains(string(counted), "service_tier") {
			t.Errorf("%s: the tokenizer gets %s", name, counted)
		}
	}
}

// TestReserved holds that nobody can replace what a request of an API needs: each dialect has its model or its prompt,
// the stream and the limit among these fields.
func TestReserved(t *testing.T) {
	byAPI := map[string]string{
		"openai-chat": "best_of echo max_completion_tokens max_tokens messages model n stream stream_options.continuous_usage_stats " +
			"stream_options.include_usage",
		"openai-completions": "best_of echo max_tokens model n prompt stream stream_options.continuous_usage_stats " +
			"stream_options.include_usage",
		"openai-responses": "best_of echo input max_output_tokens model n stream",
		"azure-openai":     "best_of echo max_completion_tokens max_tokens messages model n stream stream_options.include_usage",
		"anthropic":        "best_of echo max_tokens messages model n stream system",
		"tgi":              "best_of echo inputs n parameters.details parameters.max_new_tokens",
		"triton": "best_of echo n parameters.exclude_input_in_output parameters.max_tokens parameters.return_finish_reason " +
			"parameters.return_num_input_tokens parameters.return_num_output_tokens parameters.stream text_input",
		"llama-server": "best_of echo n n_predict prompt stream",
		"ollama":       "best_of echo model n options.num_predict prompt raw shift stream truncate",
	}
	if len(byAPI) != len(dialects) {
		t.Errorf("%d APIs, want all of %d", len(byAPI), len(dialects))
	}
	for api, want := range byAPI {
		everything := Object{}
		add := func(api string) {
			for _, key := range append(strings.Fields(api), "seed", "temperature", "keep_alive", "cache_prompt", "priority") {
				body(everything).setDeep(key)
			}
		}
		add(want)
		body(everything).setDeep("parameters.do_sample")
		got := strings.Join(Reserved(api, everything), " ")
		if got != want {
			t.Errorf("%s reserves %s, want %s", api, got, want)
		}
		if all := Reserved(Auto, everything); len(all) < len(strings.Fields(want)) {
			t.Errorf("auto reserves %s of %s", all, want)
		}
	}
}

// setDeep sets a field of objects as encoding/json makes them.
func (b body) setDeep(key string) {
	outer, inner, nested := strings.Cut(key, ".")
	if !nested {
		b[key] = 1
		return
	}
	object, ok := b[outer].(map[string]any)
	if !ok {
		object = map[string]any{}
		b[outer] = object
	}
	object[inner] = 1
}

// TestAnswersThatMayEndEarly holds which fields let an answer be shorter than asked.
func TestAnswersThatMayEndEarly(t *testing.T) {
	for text, want := range map[string]bool{
		`{}`: false, `{"seed":1,"top_p":1}`: false, `{"ignore_eos":false}`: true, `{"stop":["a"]}`: true,
		`{"parameters":{"stop":["a"]}}`: true, `{"response_format":{"type":"json_object"}}`: true,
	} {
		if got := (Ask{Body: object(t, text)}).MayEndEarly(); got != want {
			t.Errorf("%s: %v, want %v", text, got, want)
		}
	}
}

// TestNamedField holds what is a complaint about a field of the user: its name in the server's words, at any depth, but
// not in the list of fields or the copy of the request that may follow, and not as a key of the reply.
func TestNamedField(t *testing.T) {
	added := object(t, `{"reasoning_effort":"none","chat_template_kwargs":{"enable_thinking":false}}`)
	for reply, want := range map[string]string{
		`{"error":{"message":"Unknown parameter: 'reasoning_effort'."}}`:                       "reasoning_effort",
		`{"detail":[{"type":"extra_forbidden","loc":["body","enable_thinking"]}]}`:             "chat_template_kwargs.enable_thinking",
		`{"message":"chat_template_kwargs: unknown key enable_thinking"}`:                      "chat_template_kwargs.enable_thinking",
		`{"message":"chat_template_kwargs must be a string"}`:                                  "chat_template_kwargs",
		`{"message":"unknown field foo, expected one of model, reasoning_effort"}`:             "",
		`{"detail":[{"loc":["body","model"],"msg":"no","input":{"reasoning_effort":"none"}}]}`: "",
		`{"error":{"message":"This model's maximum context length is 4096 tokens"}}`:           "",
	} {
		if got := added.NamedField([]byte(reply)); got != want {
			t.Errorf("%s: %q, want %q", reply, got, want)
		}
	}
	generic := object(t, `{"message":"a","reasoning":{"type":"b"}}`)
	if got := generic.NamedField([]byte(`{"error":{"message":"no","type":"x","code":400}}`)); got != "" {
		t.Errorf("a key of the reply is taken for the field %s", got)
	}
	if names := added.Keys(); len(names) != 3 || !slices.Contains(names, "enable_thinking") {
		t.Errorf("keys %s", names)
	}
}
