package sim

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// natural is the length of the answer to the prompt "hello" with the seed 7 of the profile "fast".
const natural = 321

func TestWhatKindsHeed(t *testing.T) {
	type heeds struct {
		EOS, Minimum, Salt, Continuous bool // ignore_eos, min_tokens, cache_salt, continuous_usage_stats
		IDs                            bool // token ids as a prompt
	}
	all := heeds{true, true, true, true, true}
	want := map[string]heeds{
		"vllm": all, "production-stack": all, "ray-serve": all, "sglang": all, "kserve": all, "nim": all,
		"tgi":          {},
		"trtllm":       {EOS: true, Minimum: true, Continuous: true, IDs: true},
		"lmdeploy":     {EOS: true, IDs: true},
		"llama-server": {EOS: true, IDs: true},
		"dynamo":       {EOS: true, Minimum: true},
		"openrouter":   {},
		"litellm":      {},
		"openai":       {},
	}
	got := map[string]heeds{}
	for _, kind := range Kinds() {
		bubble(t, Config{Server: kind, Model: "M", Seed: 7}, func(t *testing.T, r *rig) {
			send := func(fields string) (heard, bool) {
				before := len(r.sim.Sent())
				h := r.post(t, r.base()+"/completions", `{"model":"M",`+fields+`,"stream":true}`)
				return h, h.status == 200 && len(r.sim.Sent()) > before
			}
			length := func(fields string) int {
				if _, ok := send(fields); !ok {
					return 0
				}
				return r.last(t).Output
			}
			if n := length(`"prompt":"hello","max_tokens":1000`); n != natural {
				t.Errorf("%s: %d tokens, want %d", kind, n, natural)
			}
			long := strings.Repeat("a ", 100)
			send(`"prompt":"` + long + `","max_tokens":1,"cache_salt":"one"`)
			_, salted := send(`"prompt":"` + long + `","max_tokens":1,"cache_salt":"two"`)
			continuous, answered := send(`"prompt":"a","max_tokens":2,"stream_options":{"include_usage":true,"continuous_usage_stats":true}`)
			h := heeds{
				EOS:        length(`"prompt":"hello","max_tokens":1000,"ignore_eos":true`) == 1000,
				Minimum:    length(`"prompt":"hello","max_tokens":1000,"min_tokens":500`) == 500,
				Continuous: answered && strings.Contains(continuous.text(), `"completion_tokens":1,`) || strings.Contains(continuous.text(), `"completion_tokens":1}`),
				IDs:        length(`"prompt":[1,2,3],"max_tokens":2`) == 2 && r.last(t).Prompt == 3,
			}
			if salted {
				send(`"prompt":"` + long + `","max_tokens":1,"cache_salt":"three"`)
				h.Salt = r.last(t).Cached == 0
			}
			got[kind] = h
		})
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestFieldsOfOneKind(t *testing.T) {
	long := strings.Repeat("a ", 99) + "do not stop"
	for _, test := range []struct {
		name, kind, path, body string
		again                  string // a second request; then that is looked at
		output, cached         int
	}{
		{"min_new_tokens", "lmdeploy", "/chat/completions", `{"messages":[{"content":"hello"}],"max_tokens":1000,"min_new_tokens":500,"stream":true}`, "", 500, 0},
		{"n_predict", "llama-server", "/completions", `{"prompt":"do not stop","n_predict":3,"stream":true}`, "", 3, 0},
		{"cache by default", "llama-server", "/completions", `{"prompt":"` + long + `","n_predict":1,"stream":true}`, `{"prompt":"` + long + `","n_predict":1,"stream":true}`, 1, 96},
		{"cache_prompt", "llama-server", "/completions", `{"prompt":"` + long + `","n_predict":1,"stream":true}`, `{"prompt":"` + long + `","n_predict":1,"stream":true,"cache_prompt":false}`, 1, 0},
		{"extra_key", "sglang", "/completions", `{"prompt":"` + long + `","max_tokens":1,"stream":true,"extra_key":"a"}`, `{"prompt":"` + long + `","max_tokens":1,"stream":true,"extra_key":"b"}`, 1, 0},
		{"the same extra_key", "sglang", "/completions", `{"prompt":"` + long + `","max_tokens":1,"stream":true,"extra_key":"a"}`, `{"prompt":"` + long + `","max_tokens":1,"stream":true,"extra_key":"a"}`, 1, 96},
		{"cache_salt inside", "dynamo", "/completions", `{"prompt":"` + long + `","max_tokens":1,"stream":true,"nvext":{"cache_salt":"a"}}`, `{"prompt":"` + long + `","max_tokens":1,"stream":true,"nvext":{"cache_salt":"b"}}`, 1, 0},
		{"cache_salt outside", "dynamo", "/completions", `{"prompt":"` + long + `","max_tokens":1,"stream":true,"cache_salt":"a"}`, `{"prompt":"` + long + `","max_tokens":1,"stream":true,"cache_salt":"b"}`, 1, 96},
		{"any model", "llama-server", "/completions", `{"model":"x","prompt":"do not stop","max_tokens":1,"stream":true}`, "", 1, 0},
		{"any model", "tgi", "/completions", `{"model":"x","prompt":"do not stop","max_tokens":1,"stream":true}`, "", 1, 0},
	} {
		t.Run(test.kind+" "+test.name, func(t *testing.T) {
			bubble(t, Config{Server: test.kind, Model: "M", Seed: 7}, func(t *testing.T, r *rig) {
				got := r.post(t, r.base()+test.path, test.body)
				if test.again != "" {
					got = r.post(t, r.base()+test.path, test.again)
				}
				if sent := r.last(t); got.status != 200 || sent.Output != test.output || sent.Cached != test.cached {
					t.Errorf("status %d, %d tokens, %d cached; want %d, %d\n%s", got.status, sent.Output, sent.Cached, test.output, test.cached, got.text())
				}
			})
		})
	}
}

func TestTokenIDsInPlaceOfAPrompt(t *testing.T) {
	for _, test := range []struct{ kind, path, body string }{
		{"dynamo", "/chat/completions", `{"messages":[{"content":""}],"nvext":{"token_data":[1,2,3]},"max_tokens":1,"stream":true}`},
		{"dynamo", "/completions", `{"prompt":"","nvext":{"token_data":[1,2,3]},"max_tokens":1,"stream":true}`},
		{"trtllm", "/chat/completions", `{"messages":[],"prompt_token_ids":[1,2,3],"max_tokens":1,"stream":true}`},
	} {
		bubble(t, Config{Server: test.kind}, func(t *testing.T, r *rig) {
			if got := r.post(t, r.base()+test.path, test.body); got.status != 200 || r.last(t).Prompt != 3 {
				t.Errorf("%s: status %d\n%s", test.kind, got.status, got.text())
			}
		})
	}
}

func TestLinesOfKinds(t *testing.T) {
	ask := func(fields string) string {
		return `{"prompt":"do not stop","max_tokens":2,"stream":true` + fields + `}`
	}
	talk := func(fields string) string {
		return `{"messages":[{"content":"do not stop"}],"max_tokens":2,"stream":true` + fields + `}`
	}
	for _, test := range []struct {
		name, kind, path, body string
		line                   int // counted from 0, or from the end, where −1 is [DONE]
		has                    string
	}{
		{"usage by default inside stream_options", "trtllm", "/completions", ask(`,"stream_options":{}`), 0, `"usage":{"prompt_tokens":4,"total_tokens":5,"completion_tokens":1,"prompt_tokens_details":{"cached_tokens":0}}`},
		{"no continuous usage if declined", "trtllm", "/completions", ask(`,"stream_options":{"continuous_usage_stats":false}`), 0, `"usage":null`},
		{"but usage", "trtllm", "/completions", ask(`,"stream_options":{"continuous_usage_stats":false}`), -2, `"completion_tokens":2`},
		{"no usage without stream_options", "trtllm", "/completions", ask(""), -2, `"usage":null`},
		{"ids without text", "trtllm", "/completions", ask(`,"detokenize":false`), 1, `"text":"","token_ids":[56633]`},
		{"ids with text", "lmdeploy", "/chat/completions", talk(`,"return_token_ids":true`), 1, `"content":" river"},"output_ids":[56633]`},
		{"timings with every frame", "llama-server", "/chat/completions", talk(`,"timings_per_token":true`), 1, `"timings":{"cache_n":0,"prompt_n":16,"prompt_ms":20,"predicted_n":1,"predicted_ms":0}`},
		{"timings with the last frame", "llama-server", "/chat/completions", talk(""), -2, `"finish_reason":"length","index":0,"delta":{}}],"created":946684800,"id":"chatcmpl-abc","model":"meta-llama/Llama-3.1-8B-Instruct","system_fingerprint":"b9465-sim","object":"chat.completion.chunk","timings":{"cache_n":0,"prompt_n":16,"prompt_ms":20,"predicted_n":2,"predicted_ms":1}`},
		{"usage always", "llama-server", "/completions", ask(""), -2, `"usage":{"completion_tokens":2`},
		{"usage always", "openrouter", "/chat/completions", talk(""), -2, `"choices":[],"usage":{"prompt_tokens":16`},
		{"usage with the last token", "tgi", "/completions", ask(""), -2, `"text":" river","logprobs":null,"finish_reason":"length"}],"usage":{"prompt_tokens":4`},
		{"no padding", "openai", "/completions", ask(`,"stream_options":{"include_usage":true,"include_obfuscation":false}`), 0, `"model":"meta-llama/Llama-3.1-8B-Instruct","usage":null}`},
		{"no usage that was not asked for", "openai", "/completions", ask(""), 0, `"model":"meta-llama/Llama-3.1-8B-Instruct","obfuscation":"kQ3vTz8LrYw"}`},
		{"a space before the line end", "trtllm", "/chat/completions", talk(""), 0, `"finish_reason":null}]} `},
	} {
		t.Run(test.kind+" "+test.name, func(t *testing.T) {
			bubble(t, Config{Server: test.kind}, func(t *testing.T, r *rig) {
				got := r.post(t, r.base()+test.path, test.body, "X-Request-Id", "abc")
				at := test.line
				if at < 0 {
					at += len(got.lines)
				}
				if at < 0 || at >= len(got.lines) || !strings.Contains(got.lines[at].text, test.has) {
					t.Errorf("line %d lacks %s:\n%s", test.line, test.has, got.text())
				}
			})
		})
	}
}

func TestNaturalEndsOfKinds(t *testing.T) {
	for _, test := range []struct {
		kind, path string
		frames, n  int    // frames with a choice and the count of tokens, both less the tokens generated
		last       string // of the frame with the finish reason
	}{
		{"sglang", "/chat/completions", 1, 0, `"content":null,"reasoning_content":null,"tool_calls":null},"logprobs":null,"finish_reason":"stop","matched_stop":128009`},
		{"sglang", "/completions", 0, 0, `"text":"","logprobs":null,"finish_reason":"stop","matched_stop":128009`},
		{"lmdeploy", "/completions", 0, -1, `"text":"","logprobs":null,"finish_reason":"stop"`},
		{"llama-server", "/completions", 0, 0, `"text":"","index":0,"logprobs":null,"finish_reason":"stop"`},
		{"tgi", "/completions", 0, 0, `"text":"","logprobs":null,"finish_reason":"stop"`},
		{"openai", "/completions", 0, 0, `"text":"","index":0,"logprobs":null,"finish_reason":"stop"`},
	} {
		bubble(t, Config{Server: test.kind, Seed: 7}, func(t *testing.T, r *rig) {
			prompt := `"prompt":"hello"`
			if test.path == "/chat/completions" {
				prompt = `"messages":[{"content":"hello"}]`
			}
			got := r.post(t, r.base()+test.path, `{`+prompt+`,"max_tokens":1000,"stream":true,"stream_options":{"include_usage":true}}`)
			made := r.last(t).Output
			frames, finish := 0, ""
			for _, l := range got.lines {
				frames += strings.Count(l.text, `"index":0`)
				if strings.Contains(l.text, `"stop"`) {
					finish = l.text
				}
			}
			count := fmt.Sprintf(`"completion_tokens":%d`, made+test.n)
			if frames != made+test.frames || !strings.Contains(finish, test.last) || !strings.Contains(got.text(), count) {
				t.Errorf("%s%s: %d frames for %d tokens, want %d more; want %s; finish %s", test.kind, test.path, frames, made, test.frames, count, finish)
			}
		})
	}
}

func TestLiteLLMAnswersFromItsCache(t *testing.T) {
	bubble(t, Config{Server: "litellm"}, func(t *testing.T, r *rig) {
		same := `{"prompt":"do not stop","max_tokens":3,"stream":true}`
		fresh := `{"prompt":"do not stop","max_tokens":3,"stream":true,"cache":{"no-cache":true}}`
		for _, test := range []struct {
			name, body string
			want       []float64
		}{
			{"first", same, []float64{20, 21, 22, 22, 22}},
			{"again", same, []float64{0, 0, 0, 0, 0}},
			{"fresh", fresh, []float64{20, 21, 22, 22, 22}},
			{"fresh again", fresh, []float64{20, 21, 22, 22, 22}},
		} {
			got := r.post(t, "/v1/completions", test.body)
			if diff := cmp.Diff(ms(test.want...), got.times()); diff != "" {
				t.Errorf("%s (-want +got):\n%s\n%s", test.name, diff, got.text())
			}
		}
	})
}

func TestTGIHasATokenAFrame(t *testing.T) {
	bubble(t, Config{Server: "tgi"}, func(t *testing.T, r *rig) {
		r.inject(t, "tokens_per_frame=2")
		r.post(t, "/v1/completions", `{"prompt":"do not stop","max_tokens":4,"stream":true}`)
		if f := r.last(t).Frames; len(f) != 4 || !f[0].At.Equal(f[1].At) || f[1].At.Equal(f[2].At) {
			t.Errorf("frames %v, want four in two writes", f)
		}
	})
}

func TestKindsWithoutATokenizer(t *testing.T) {
	for kind, path := range map[string]string{"vllm": "/tokenize", "tgi": "/chat_tokenize", "lmdeploy": "/v1/encode", "llama-server": "/tokenize"} {
		bubble(t, Config{Server: kind, NoTokenize: true}, func(t *testing.T, r *rig) {
			if got := r.post(t, path, `{}`); got.status != 404 {
				t.Errorf("%s: status %d", kind, got.status)
			}
		})
	}
	bubble(t, Config{Server: "tgi", NoTokenize: true}, func(t *testing.T, r *rig) {
		if got := r.get(t, "/info"); got.status != 200 {
			t.Errorf("/info: status %d", got.status)
		}
	})
}

func TestKeysOfKinds(t *testing.T) {
	for kind, want := range map[string]map[string]int{
		"llama-server": {"/v1/models": 200, "/health": 200},
		"lmdeploy":     {"/v1/models": 401, "/health": 200},
		"openrouter":   {"/api/v1/models": 200},
		"openai":       {"/v1/models": 401},
		"nim":          {"/v1/models": 401, "/v1/health/ready": 200},
	} {
		bubble(t, Config{Server: kind, APIKey: "k"}, func(t *testing.T, r *rig) {
			for path, status := range want {
				if got := r.get(t, path); got.status != status {
					t.Errorf("%s %s: status %d, want %d", kind, path, got.status, status)
				}
			}
		})
	}
}
