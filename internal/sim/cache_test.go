package sim

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestPrefixCache(t *testing.T) {
	c := newPrefixCache(1000)
	ids := func(n int) []uint32 {
		out := make([]uint32, n)
		for i := range out {
			out[i] = uint32(i)
		}
		return out
	}
	visit := func(ids []uint32, salt string) int { return c.visit(digestOf(slices.Values(ids), salt)) }
	other := ids(100)
	other[40] = 7777
	for _, test := range []struct {
		name string
		got  int
		want int
	}{
		{"new", visit(ids(100), ""), 0},
		{"again", visit(ids(100), ""), 96},
		{"a longer one", visit(ids(120), ""), 96},
		{"whole blocks leave one to compute", visit(ids(96), ""), 80},
		{"different in the third block", visit(other, ""), 32},
		{"another salt", visit(ids(100), "x"), 0},
		{"that salt again", visit(ids(100), "x"), 96},
		{"shorter than a block", visit(ids(15), ""), 0},
	} {
		if test.got != test.want {
			t.Errorf("%s: %d cached, want %d", test.name, test.got, test.want)
		}
	}
}

// TestWarmPromptsLookWarm holds it of a server whose times are drawn and of one that is computed step by step.
func TestWarmPromptsLookWarm(t *testing.T) {
	for _, name := range []string{"production-stack", "vllm-ladder"} {
		p := profile(t, name)
		p.TTFTJitter = 0
		bubble(t, Config{Profile: p}, func(t *testing.T, r *rig) {
			for _, test := range []struct {
				salt   string
				cached int
			}{{"a", 0}, {"a", 496}, {"b", 0}} {
				got := r.post(t, "/v1/completions", `{"prompt":[`+numbers(500)+`],"max_tokens":1,"stream":true,`+
					`"stream_options":{"include_usage":true},"cache_salt":"`+test.salt+`"}`)
				want := p.base() + p.prefill(test.cached, 500)
				if got.lines[0].at != want || !strings.Contains(got.lines[1].text, fmt.Sprintf(`"cached_tokens":%d}`, test.cached)) {
					t.Errorf("%s, salt %s: TTFT %v, want %v; usage %s", name, test.salt, got.lines[0].at, want, got.lines[1].text)
				}
			}
			if sent := r.last(t); sent.Prompt != 500 || sent.Cached != 0 {
				t.Errorf("written down: prompt %d, cached %d", sent.Prompt, sent.Cached)
			}
		})
	}
}
