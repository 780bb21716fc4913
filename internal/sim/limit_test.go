package sim

import (
	"strings"
	"sync"
	"testing"
	"testing/synctest"
)

func TestBeyondTheLimitIsRefusedAtOnce(t *testing.T) {
	for api, test := range map[string]struct{ path, body, refused string }{
		"tgi":    {"/generate_stream", tgiFour, `data:{"error":"Model is overloaded","error_type":"overloaded"}`}, // inside the stream
		"openai": {"/v1/completions", completionFour, `{"error":{"message":"Model is overloaded","type":"RateLimitError","param":null,"code":429}}`},
	} {
		p := profile(t, "vllm-ladder")
		p.MaxRequests = 2
		bubble(t, Config{Profile: p, API: api}, func(t *testing.T, r *rig) {
			var taken sync.WaitGroup
			for range 2 {
				taken.Go(func() { r.post(t, test.path, test.body) })
			}
			synctest.Wait()
			if got := r.post(t, test.path, test.body); strings.TrimSpace(got.text()) != test.refused || got.ended != 0 {
				t.Errorf("after %v status %d\n got %s\nwant %s", got.ended, got.status, got.text(), test.refused)
			}
			taken.Wait()
			if sent := r.sim.Sent(); len(sent) != 2 || sent[0].Output != 4 || sent[1].Output != 4 {
				t.Errorf("sent %+v, want two whole answers and nothing of the refused one", sent)
			}
			if got := r.post(t, test.path, test.body); got.status != 200 || strings.Contains(got.text(), "overloaded") {
				t.Errorf("once the places are free: status %d, %s", got.status, got.text())
			}
		})
	}
}
