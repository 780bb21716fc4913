package sim

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// thinkers are requests to the APIs that tell reasoning apart.
func thinkers(t *testing.T) map[string]native {
	t.Helper()
	out := map[string]native{"openai": {"openai", "/v1/chat/completions", chatFour, 4, nil}}
	for _, api := range []string{"ollama", "anthropic", "openai-responses", "azure-openai"} {
		out[api] = nativeOf(t, api)
	}
	return out
}

func TestReasoningComesFirstInFramesOfItsOwn(t *testing.T) {
	for api, want := range map[string]struct{ thought, said, counted string }{
		"openai":           {`"delta":{"reasoning":" river"}`, `"delta":{"content":"the"}`, `"completion_tokens_details":{"reasoning_tokens":2}`},
		"ollama":           {`"response":"","thinking":" river"`, `"response":"the","done"`, `"eval_count":4`},
		"anthropic":        {`"thinking_delta","thinking":" river"`, `"text_delta","text":"the"`, `"output_tokens":4`},
		"openai-responses": {`"type":"response.reasoning_text.delta","sequence_number":5,"item_id":"rs_` + zeros + `","output_index":0,"content_index":0,"delta":" river"`, `"type":"response.output_text.delta","sequence_number":11,"item_id":"msg_` + zeros + `","output_index":1,"content_index":0,"delta":"the"`, `"reasoning_tokens":2`},
		"azure-openai":     {`"delta":{"reasoning":" river"}`, `"delta":{"content":"the"}`, `"completion_tokens_details":{"reasoning_tokens":2}`},
	} {
		thinkers(t)[api].on(t, Config{Reasoning: 2}, func(t *testing.T, r *rig, ask func() heard) {
			got := ask().text()
			at := 0
			for _, part := range []string{want.thought, want.said, want.counted} {
				i := strings.Index(got[at:], part)
				if i < 0 {
					t.Fatalf("no %s after byte %d in\n%s", part, at, got)
				}
				at += i
			}
			r.inject(t, "tokens_per_frame=3")
			if ask(); r.last(t).Frames[0].Tokens != 2 {
				t.Errorf("frames %v, want one of the two tokens of reasoning first", r.last(t).Frames)
			}
		})
	}
}

func TestHiddenReasoningIsOnlyCounted(t *testing.T) {
	counted := map[string]string{
		"openai": `"reasoning_tokens":3`, "ollama": `"eval_count":4`, "anthropic": `"output_tokens":4`,
		"openai-responses": `"reasoning_tokens":3`, "azure-openai": `"reasoning_tokens":3`,
	}
	for api, n := range thinkers(t) {
		n.on(t, Config{Reasoning: 3, HideReasoning: true}, func(t *testing.T, r *rig, ask func() heard) {
			got := ask()
			sent := r.last(t)
			if sent.Hidden != 3 || sent.Output != n.tokens-3 || sent.Frames[0].At.Sub(sent.Start) != ms(23)[0] || sent.Finish != "length" {
				t.Errorf("written down: %+v", sent)
			}
			if text := got.text(); strings.Contains(text, "thinking") || strings.Contains(text, `"reasoning":`) || strings.Contains(text, "reasoning_text") || !strings.Contains(text, counted[api]) {
				t.Errorf("want no frame of reasoning and %s:\n%s", counted[api], text)
			}
		})
	}
}

func TestAnAnswerThatIsAllHiddenStillEnds(t *testing.T) {
	finish := map[string]string{
		"openai": `"finish_reason":"length"`, "ollama": `"done_reason":"length"`, "anthropic": `"stop_reason":"max_tokens"`,
		"openai-responses": "event: response.incomplete", "azure-openai": `"finish_reason":"length"`,
	}
	for api, n := range thinkers(t) {
		n.on(t, Config{Reasoning: 100, HideReasoning: true}, func(t *testing.T, r *rig, ask func() heard) {
			got := ask()
			if sent := r.last(t); sent.Output != 0 || sent.Hidden != n.tokens || sent.Finish != "length" || got.err != nil || !strings.Contains(got.text(), finish[api]) {
				t.Errorf("error %v, written down: %+v\n%s", got.err, sent, got.text())
			}
		})
	}
}

func TestAnthropicThinksWhenAsked(t *testing.T) {
	ask := func(thinking string) string {
		return `{"model":"M","max_tokens":2000,"stream":true,"messages":[{"role":"user","content":"do not stop"}]` + thinking + `}`
	}
	for _, test := range []struct {
		thinking  string
		reasoning int // of the configuration
		want      int
	}{
		{"", 0, 0},
		{"", 5, 5},
		{`,"thinking":{"type":"disabled"}`, 5, 0},
		{`,"thinking":{"type":"enabled","budget_tokens":1024}`, 0, 16},
		{`,"thinking":{"type":"enabled","budget_tokens":1024}`, 1500, 1024},
	} {
		bubble(t, Config{API: "anthropic", Model: "M", Reasoning: test.reasoning}, func(t *testing.T, r *rig) {
			got := r.post(t, "/v1/messages", ask(test.thinking), anthropicVersion()...)
			if n := strings.Count(got.text(), "thinking_delta"); n != test.want {
				t.Errorf("%+v: %d deltas of thinking", test, n)
			}
		})
	}
}

func TestOllamaDoesNotThinkWhenToldNotTo(t *testing.T) {
	bubble(t, Config{API: "ollama", Model: "M", Reasoning: 2}, func(t *testing.T, r *rig) {
		got := r.post(t, "/api/generate", `{"model":"M","prompt":"a","think":false,"options":{"num_predict":4}}`)
		if strings.Contains(got.text(), "thinking") {
			t.Error(got.text())
		}
	})
}

func TestCodeWords(t *testing.T) {
	far := strings.Repeat("far away ", 40)
	for _, test := range []struct {
		name  string
		texts []string
		want  []string
	}{
		{"asked for", []string{far + "The code words are: amber bell crow. " + far + "What are the code words?"}, []string{"amber", "bell", "crow"}},
		{"with more behind them", []string{"The code words are: amber bell crow and no others. The code words?"}, []string{"amber", "bell", "crow"}},
		{"in another message", []string{"The code words are: amber bell crow.", "Say the code words."}, []string{"amber", "bell", "crow"}},
		{"not asked for", []string{"The code words are: amber bell crow. " + far}, nil},
		{"two words", []string{"The code words are: amber bell. The code words?"}, nil},
		{"no end", []string{"The code words are: amber bell crow"}, nil},
		{"nothing", nil, nil},
	} {
		if diff := cmp.Diff(test.want, codeWords(test.texts)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
	}
}

func TestEveryAPISaysTheCodeWords(t *testing.T) {
	all := append(natives(),
		native{"openai", "/v1/chat/completions", chatFour, 4, nil},
		native{"openai", "/v1/completions", `{"prompt":"count, do not stop","max_tokens":4,"stream":true}`, 4, nil},
		native{"tgi", "/generate_stream", tgiFour, 4, nil})
	for _, n := range all {
		n.body = strings.Replace(n.body, "count,", "The code words are: zebra Moon9 x-ray. Say the code words and", 1)
		n.on(t, Config{}, func(t *testing.T, r *rig, ask func() heard) {
			for fault, words := range map[string][]string{"": {`"zebra"`, `" Moon9"`, `" x-ray"`, `" past"`}, "garble": {`"afcsb"`, `" Nppo0"`, `" yxsbz"`, `" past"`}} {
				r.inject(t, fault)
				got := ask().text()
				if n.api == "sglang" { // cumulative
					words = []string{strings.NewReplacer(`" `, ` `, `"`, ``).Replace(strings.Join(words, ""))}
				}
				at := 0
				for _, word := range words {
					i := strings.Index(got[at:], word)
					if i < 0 {
						t.Fatalf("%q: no %s in\n%s", fault, word, got)
					}
					at += i
				}
			}
		})
	}
}

func TestTheAnswerSaysTheCodeWordsAfterItsReasoning(t *testing.T) {
	a := &answer{want: 9, lead: []string{"a", "b", "c"}}
	a.reasoning = 2
	if got := a.thoughts() + "|" + a.content(); got != "the river|a b c past a quiet mill" {
		t.Error(got)
	}
}
