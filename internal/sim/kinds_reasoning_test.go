package sim

import (
	"strings"
	"testing"
)

func TestKindsTellReasoningInTheirOwnWords(t *testing.T) {
	older := [2]string{`"delta":{"reasoning_content":" river"}`, `"delta":{"content":"the"}`}
	vllm := [2]string{`"delta":{"reasoning":" river"}`, `"delta":{"content":"the"}`}
	parts := `"completion_tokens_details":{"reasoning_tokens":2`
	for _, test := range []struct {
		kind    string
		deltas  [2]string // the second token, the third
		counted string
		message string // in the answer without a stream
	}{
		{"vllm", vllm, parts, `"reasoning":"the river"`},
		{"production-stack", vllm, parts, `"reasoning":"the river"`},
		{"kserve", vllm, parts, `"reasoning":"the river"`},
		{"nim", vllm, parts, `"reasoning":"the river"`},
		{"ray-serve", [2]string{`{"role":null,"content":null,"reasoning":" river","tool_calls":null}`, `{"role":null,"content":"the","reasoning":null,"tool_calls":null}`}, parts, `"reasoning":"the river"`},
		{"sglang", [2]string{`{"role":null,"content":null,"reasoning_content":" river","tool_calls":null}`, `{"role":null,"content":"the","reasoning_content":null,"tool_calls":null}`}, `"reasoning_tokens":2}`, `"reasoning_content":"the river"`},
		{"trtllm", [2]string{`"delta":{"content":"","reasoning_content":" river"}`, `"delta":{"content":"the","reasoning_content":""}`}, `"cached_tokens":0}}`, `"reasoning_content":"the river"`},
		{"lmdeploy", [2]string{`{"role":"assistant","reasoning_content":" river"}`, `{"role":"assistant","content":"the"}`}, parts, `"reasoning_content":"the river"`},
		{"llama-server", older, `"cached_tokens":0}`, `"reasoning_content":"the river"`},
		{"dynamo", [2]string{`"delta":{"reasoning_content":" river",`, `"delta":{"content":"the",`}, parts, `"reasoning_content":"the river"`},
		{"openrouter", [2]string{`{"role":"assistant","content":"","reasoning":" river"}`, `{"role":"assistant","content":"the"}`}, parts, `"reasoning":"the river"`},
		{"litellm", older, parts, `"reasoning_content":"the river"`},
		{"tgi", [2]string{`"content":" river"}`, `"content":" runs"}`}, `"total_tokens"`, `"content":"the river runs`},
	} {
		t.Run(test.kind, func(t *testing.T) {
			bubble(t, Config{Server: test.kind, Model: "M", Reasoning: 2}, func(t *testing.T, r *rig) {
				body := `{"model":"M","messages":[{"role":"user","content":"count, do not stop"}],"max_tokens":4,"stream":true,"stream_options":{"include_usage":true}}`
				got := r.post(t, r.base()+"/chat/completions", body).text()
				for _, want := range []string{test.deltas[0], test.deltas[1], test.counted} {
					if !strings.Contains(got, want) {
						t.Errorf("no %s in\n%s", want, got)
					}
				}
				body, _, _ = strings.Cut(body, `,"stream":true`)
				if got := r.post(t, r.base()+"/chat/completions", body+"}").text(); !strings.Contains(got, test.message) {
					t.Errorf("no %s in\n%s", test.message, got)
				}
			})
		})
	}
}

// The OpenAI platform hides reasoning whatever the configuration says.
func TestKindsHideReasoning(t *testing.T) {
	for _, name := range Kinds() {
		if name == "tgi" { // has none
			continue
		}
		bubble(t, Config{Server: name, Model: "M", Reasoning: 2, HideReasoning: name != "openai"}, func(t *testing.T, r *rig) {
			got := r.post(t, r.base()+"/chat/completions", kindChat(name)).text()
			sent := r.last(t)
			if sent.Hidden != 2 || sent.Output != 0 || strings.Contains(got, `"the"`) || !strings.Contains(got, `"finish_reason":"length"`) {
				t.Errorf("%s, all hidden: %+v\n%s", name, sent, got)
			}
			got = r.post(t, r.base()+"/chat/completions", strings.ReplaceAll(kindChat(name), `_tokens":2`, `_tokens":4`)).text()
			sent = r.last(t)
			thought := strings.Contains(got, `"reasoning":"`) || strings.Contains(got, `"reasoning_content":"t`)
			if sent.Hidden != 2 || sent.Output != 2 || thought || !strings.Contains(got, `"role":"assistant"`) || !strings.Contains(got, `"content":" river"`) {
				t.Errorf("%s: %+v\n%s", name, sent, got)
			}
		})
	}
}
