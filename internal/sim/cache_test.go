package sim

import (
	"fmt"
	"strings"
	"testing"
)

// TestWarmPromptsLookWarm holds it of a server whose times are drawn and of one that is computed step by step.
func TestWarmPromptsLookWarm(t *testing.T) {
	for _, name := range []string{"production-stack", "vllm-ladder"} {
		p := profile(t, name)
		p.TTFTJitter = 0
		bubble(t, Config{Profile: p}, func(t *testing.T, r *rig) {
			for _, test := range []struct {
				prompt, salt   string
				tokens, cached int
			}{
				{words(499), "a", 500, 0}, // behind the beginning of sequence
				{words(499), "a", 500, 496},
				{words(499), "b", 500, 0},
				{words(519), "a", 520, 496},
				{words(495), "a", 496, 480}, // one token at least is computed
				{strings.Replace(words(499), " 40 ", " 7777 ", 1), "a", 500, 32},
				{words(14), "a", 15, 0}, // less than a block
			} {
				got := r.post(t, "/v1/completions", `{"prompt":"`+test.prompt+`","max_tokens":1,"stream":true,`+
					`"stream_options":{"include_usage":true},"cache_salt":"`+test.salt+`"}`)
				want := p.base() + p.prefill(test.cached, test.tokens)
				cached := fmt.Sprintf(`"cached_tokens":%d}`, test.cached)
				first, usage := got.lines[0].at, got.lines[1].text
				if first != want || !strings.Contains(usage, cached) {
					t.Errorf("%s, %d tokens, salt %s: TTFT %v, want %v; usage %s", name, test.tokens, test.salt, first, want, usage)
				}
				if sent := r.last(t); sent.Prompt != test.tokens || sent.Cached != test.cached {
					t.Errorf("logged: prompt %d, cached %d", sent.Prompt, sent.Cached)
				}
			}
		})
	}
}
