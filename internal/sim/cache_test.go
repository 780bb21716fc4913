package sim

import (
	"strings"
	"testing"
	"time"
)

func TestWarmPromptsLookWarm(t *testing.T) {
	p := profile(t, "production-stack")
	p.TTFTJitter = 0
	body := func(salt string) string {
		return `{"prompt":[` + numbers(21000) + `],"max_tokens":1,"stream":true,"stream_options":{"include_usage":true},"cache_salt":"` + salt + `"}`
	}
	bubble(t, Config{Profile: p}, func(t *testing.T, r *rig) {
		for _, test := range []struct {
			salt   string
			cached string
			ttft   time.Duration
		}{
			{"a", `"cached_tokens":0}`, 796100 * time.Microsecond},
			{"a", `"cached_tokens":20992}`, p.base() + p.prefill(20992, 21000)},
			{"b", `"cached_tokens":0}`, 796100 * time.Microsecond},
		} {
			got := r.post(t, "/v1/completions", body(test.salt))
			if got.lines[0].at != test.ttft || !strings.Contains(got.lines[1].text, test.cached) {
				t.Errorf("salt %s: TTFT %v, want %v; usage %s", test.salt, got.lines[0].at, test.ttft, got.lines[1].text)
			}
		}
		if sent := r.last(t); sent.Prompt != 21000 || sent.Cached != 0 {
			t.Errorf("written down: prompt %d, cached %d", sent.Prompt, sent.Cached)
		}
	})
}
