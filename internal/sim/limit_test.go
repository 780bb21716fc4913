package sim

import (
	"strings"
	"sync"
	"testing"
	"time"
)

// narrow is a queueing profile that takes two requests at once.
func narrow(t *testing.T) Profile {
	t.Helper()
	p := profile(t, "vllm-ladder")
	p.MaxRequests = 2
	return p
}

func TestBeyondTheLimitIsRefusedAtOnce(t *testing.T) {
	tests := []struct {
		name              string
		api, server       string
		fill, path, body  string // fill is the path of those that take the places
		status            int
		contentType, told string
	}{
		{"TGI, inside the stream", "tgi", "", "/generate_stream", "/generate_stream", tgiFour, 200, "text/event-stream", `data:{"error":"Model is overloaded","error_type":"overloaded"}`},
		{"vLLM", "openai", "", "/v1/completions", "/v1/completions", completionFour, 429, "application/json", `{"error":{"message":"Model is overloaded","type":"RateLimitError","param":null,"code":429}}`},
		{"TGI's OpenAI API", "openai", "tgi", "/v1/completions", "/v1/completions", `{"prompt":"count, do not stop","max_tokens":4,"stream":true}`, 200, "text/event-stream", `data: {"error":{"message":"Model is overloaded","http_status_code":422}}` + "\ndata: [DONE]"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			bubble(t, Config{Profile: narrow(t), API: test.api, Server: test.server}, func(t *testing.T, r *rig) {
				var taken sync.WaitGroup
				for range 2 {
					taken.Go(func() { r.post(t, test.fill, test.body) })
				}
				time.Sleep(100 * time.Millisecond)
				got := r.post(t, test.path, test.body)
				if got.status != test.status || got.header.Get("Content-Type") != test.contentType || strings.TrimSpace(got.text()) != test.told || got.ended != 0 {
					t.Errorf("after %v status %d, %s\n got %s\nwant %s", got.ended, got.status, got.header.Get("Content-Type"), got.text(), test.told)
				}
				taken.Wait()
				if sent := r.sim.Sent(); len(sent) != 2 || sent[0].Output != 4 || sent[1].Output != 4 {
					t.Errorf("sent %+v, want two whole answers and nothing of the refused one", sent)
				}
				if got := r.post(t, test.fill, test.body); got.status != 200 || strings.Contains(got.text(), "overloaded") {
					t.Errorf("once the places are free: status %d, %s", got.status, got.text())
				}
			})
		})
	}
}
