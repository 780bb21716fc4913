package sim

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTheQueueOverHTTP(t *testing.T) {
	bubble(t, Config{Profile: profile(t, "vllm-ladder")}, func(t *testing.T, r *rig) {
		ids := "[" + numbers(80) + "]"
		got := r.post(t, "/v1/completions", `{"prompt":`+ids+`,"max_tokens":4,"ignore_eos":true,"stream":true}`)
		if diff := cmp.Diff(ms(315, 365, 415, 465, 465), got.times()); diff != "" {
			t.Errorf("times (-want +got):\n%s", diff)
		}
		r.inject(t, "ttft=2,itl=1.5,batch=100ms")
		got = r.post(t, "/v1/completions", `{"prompt":`+ids+`,"max_tokens":4,"ignore_eos":true,"stream":true,"cache_salt":"other"}`)
		if diff := cmp.Diff(ms(630, 730, 830, 855, 855), got.times()); diff != "" {
			t.Errorf("stretched and batched, times (-want +got):\n%s", diff)
		}
	})
}

func TestTGIsQueueOverHTTP(t *testing.T) {
	bubble(t, Config{Profile: profile(t, "tgi-ladder")}, func(t *testing.T, r *rig) {
		body := func(word string) string {
			return `{"inputs":"do not stop` + strings.Repeat(" "+word, 76) + `","parameters":{"max_new_tokens":4,"details":true}}`
		}
		got := r.post(t, "/generate_stream", body("the"))
		if diff := cmp.Diff(ms(123.5, 167, 210.5, 254), got.times()); diff != "" {
			t.Errorf("times (-want +got):\n%s", diff)
		}
		r.inject(t, "ttft=2,itl=1.5,batch=100ms")
		got = r.post(t, "/generate_stream", body("river"))
		if diff := cmp.Diff(ms(247, 347, 442.75, 442.75), got.times()); diff != "" {
			t.Errorf("stretched and batched, times (-want +got):\n%s", diff)
		}
		if sent := r.last(t); sent.Prompt != 80 || sent.Cached != 0 || sent.Output != 4 || sent.Finish != "length" {
			t.Errorf("sent %+v", sent)
		}
		r.inject(t, "status=503,retry_after=3s")
		if got := r.post(t, "/generate_stream", body("sea")); got.status != 503 {
			t.Errorf("status %d", got.status)
		}
	})
}

func TestRoleIsSentAtAcceptanceByAQueue(t *testing.T) {
	bubble(t, Config{Profile: profile(t, "vllm-ladder")}, func(t *testing.T, r *rig) {
		r.inject(t, "role_early=1ms")
		if got := r.post(t, "/v1/chat/completions", chatFour); got.lines[0].at != 0 || got.lines[1].at == 0 {
			t.Errorf("role after %v, first token after %v", got.lines[0].at, got.lines[1].at)
		}
	})
}
