package sim

import (
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
