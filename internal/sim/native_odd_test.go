package sim

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// bodyFor is a native's request with other text for the prompt and a limit that no natural end reaches.
func bodyFor(n native) string {
	body := strings.Replace(n.body, "count, do not stop", "hello", 1)
	body = strings.NewReplacer(`"ignore_eos":true`, `"ignore_eos":false`).Replace(body)
	if n.api == "azure-openai" {
		return strings.Replace(body, `"max_tokens":4`, `"max_tokens":5000`, 1)
	}
	return strings.NewReplacer(`tokens":4`, `tokens":5000`, `"min_tokens":4`, `"min_tokens":4`, `predict":4`, `predict":5000`, `"max_output_tokens":16`, `"max_output_tokens":5000`).Replace(body)
}

func TestNativeAnswersEndNaturally(t *testing.T) {
	for api, want := range map[string]func(n int) string{
		"sglang": func(n int) string {
			return fmt.Sprintf(`"finish_reason":{"type":"stop","matched":128009},"prompt_tokens":2,"weight_version":"default","completion_tokens":%d,`, n)
		},
		"triton": func(int) string { return `"num_output_tokens":1,"text_output":""}` },
		"llama-server": func(n int) string {
			return fmt.Sprintf(`"tokens_predicted":%d,"tokens_evaluated":2,"truncated":false,"stop_type":"eos"`, n)
		},
		"ollama": func(n int) string { return fmt.Sprintf(`"eval_count":%d,`, n) },
		"anthropic": func(n int) string {
			return fmt.Sprintf(`"stop_reason":"end_turn","stop_sequence":null},"usage":{"input_tokens":14,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":%d}`, n)
		},
		"openai-responses": func(n int) string { return fmt.Sprintf(`"output_tokens":%d,`, n) },
		"azure-openai":     func(n int) string { return fmt.Sprintf(`"completion_tokens":%d,`, n) },
	} {
		n := nativeOf(t, api)
		n.body = bodyFor(n)
		n.on(t, Config{Seed: 7}, func(t *testing.T, r *rig, ask func() heard) {
			got := ask()
			sent := r.last(t)
			if sent.Finish != "stop" || sent.Output < 58 || sent.Output > 400 {
				t.Errorf("finish %q after %d tokens, want stop after 58 to 400", sent.Finish, sent.Output)
			}
			tail := got.lines[len(got.lines)-6:]
			if text := (heard{lines: tail}).text(); !strings.Contains(text, want(sent.Output)) {
				t.Errorf("want %s in\n%s", want(sent.Output), text)
			}
		})
	}
}

func TestLlamaPromptsMayMixTextAndIDs(t *testing.T) {
	for body, want := range map[string]int{
		`"a b"`: 3, `[1,2,3]`: 3, `["a b",7,"c"]`: 5, `[7,"a b"]`: 3,
	} {
		p, ok := llamaPrompt([]byte(body))
		if got := p.digest("").tokens; got != want || !ok {
			t.Errorf("%s: %d tokens, want %d", body, got, want)
		}
	}
	if p, _ := llamaPrompt([]byte(`[7,"do not stop"]`)); !p.endless() {
		t.Error("a text among ids was not read")
	}
}

func TestLlamaProgressAndTimings(t *testing.T) {
	bubble(t, Config{API: "llama-server", Model: "M"}, func(t *testing.T, r *rig) {
		got := r.post(t, "/completion", `{"prompt":"do not stop","n_predict":2,"stream":true,"return_progress":true,"timings_per_token":true}`)
		want := datas(
			`{"index":0,"content":"","tokens":[],"stop":false,"id_slot":0,"tokens_predicted":0,"tokens_evaluated":4,"prompt_progress":{"total":4,"cache":0,"processed":0,"time_ms":0}}`,
			`{"index":0,"content":"","tokens":[],"stop":false,"id_slot":0,"tokens_predicted":0,"tokens_evaluated":4,"prompt_progress":{"total":4,"cache":0,"processed":4,"time_ms":20}}`,
			`{"index":0,"content":"the","tokens":[61924],"stop":false,"id_slot":0,"tokens_predicted":1,"tokens_evaluated":4,"timings":{"cache_n":0,"prompt_n":4,"prompt_ms":20,"predicted_n":1,"predicted_ms":0}}`,
			`{"index":0,"content":" river","tokens":[56633],"stop":false,"id_slot":0,"tokens_predicted":2,"tokens_evaluated":4,"timings":{"cache_n":0,"prompt_n":4,"prompt_ms":20,"predicted_n":2,"predicted_ms":1}}`,
			`{"index":0,"content":"","tokens":[],"id_slot":0,"stop":true,"model":"M","tokens_predicted":2,"tokens_evaluated":4,"truncated":false,"stop_type":"limit","stopping_word":"","tokens_cached":5,"timings":{"cache_n":0,"prompt_n":4,"prompt_ms":20,"predicted_n":2,"predicted_ms":1}}`)
		if diff := cmp.Diff(want, got.text()); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(ms(0, 20, 20, 21, 21), got.times()); diff != "" || got.headers != 0 {
			t.Errorf("headers after %v, times (-want +got):\n%s", got.headers, diff)
		}
	})
}

func TestNativeCaches(t *testing.T) {
	long := strings.Repeat("word ", 40)
	for _, test := range []struct{ name, api, path, body, want string }{
		{"llama-server", "llama-server", "/completion", `{"prompt":"` + long + `","n_predict":1,"stream":true}`, `"cache_n":32,"prompt_n":9,`},
		{"llama-server without", "llama-server", "/completion", `{"prompt":"` + long + `","n_predict":1,"stream":true,"cache_prompt":false}`, `"cache_n":0,"prompt_n":41,`},
		{"sglang", "sglang", "/generate", `{"text":"` + long + `","sampling_params":{"max_new_tokens":1},"stream":true}`, `"cached_tokens":32,`},
		{"sglang with a key", "sglang", "/generate", `{"text":"` + long + `","extra_key":"x","sampling_params":{"max_new_tokens":1},"stream":true}`, `"cached_tokens":0,`},
		{"anthropic", "anthropic", "/v1/messages", `{"model":"M","max_tokens":1,"messages":[{"role":"user","content":"` + long + `"}],"stream":true}`, `"input_tokens":53,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,`},
		{"anthropic with cache_control", "anthropic", "/v1/messages", `{"model":"M","max_tokens":1,"messages":[{"role":"user","content":[{"type":"text","text":"` + long + `","cache_control":{"type":"ephemeral"}}]}],"stream":true}`, `"input_tokens":5,"cache_creation_input_tokens":0,"cache_read_input_tokens":48,`},
		{"responses", "openai-responses", "/v1/responses", `{"model":"M","max_output_tokens":16,"input":"` + long + `","stream":true}`, `"input_tokens_details":{"cached_tokens":48}`},
	} {
		t.Run(test.name, func(t *testing.T) {
			bubble(t, Config{API: test.api, Model: "M"}, func(t *testing.T, r *rig) {
				first := strings.Replace(strings.Replace(test.body, `"cache_prompt":false`, `"cache_prompt":true`, 1), `"extra_key":"x"`, `"extra_key":"y"`, 1)
				r.post(t, test.path, first, anthropicVersion()...)
				if got := r.post(t, test.path, test.body, anthropicVersion()...).text(); !strings.Contains(got, test.want) {
					t.Errorf("want %s in\n%s", test.want, got)
				}
			})
		})
	}
}

func TestOllamaCutsLongPrompts(t *testing.T) {
	long := strings.Repeat("word ", 40)
	for _, test := range []struct {
		name, more string
		prompt     int
		output     int
	}{
		{"whole", `"raw":true,"options":{"num_predict":4}`, 42, 4},
		{"to num_ctx", `"raw":true,"options":{"num_predict":4,"num_ctx":30}`, 30, 4},
		{"with its template", `"options":{"num_predict":4,"num_ctx":30}`, 30, 4},
		{"without a shift", `"raw":true,"shift":false,"options":{"num_predict":40,"num_ctx":50}`, 42, 8},
	} {
		bubble(t, Config{API: "ollama", Model: "M"}, func(t *testing.T, r *rig) {
			got := r.post(t, "/api/generate", `{"model":"M","prompt":"`+long+`end",`+test.more+`}`)
			if sent := r.last(t); sent.Prompt != test.prompt || sent.Output != test.output || !strings.Contains(got.text(), fmt.Sprintf(`"prompt_eval_count":%d,`, test.prompt)) {
				t.Errorf("%s: prompt %d, output %d\n%s", test.name, sent.Prompt, sent.Output, got.text())
			}
		})
	}
	if p := plainPrompt("a bcdefghijk l").shortened(2); p.texts[0] != "jk l" {
		t.Errorf("kept %q", p.texts)
	}
}
