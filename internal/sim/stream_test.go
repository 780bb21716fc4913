package sim

import (
	"context"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestFramesComeWhenTheyAreDue(t *testing.T) {
	queued := `{"prompt":[` + numbers(80) + `],"max_tokens":4,"ignore_eos":true,"stream":true}`
	for _, test := range []struct {
		name, fault, path, body string
		headers                 time.Duration
		want                    []time.Duration // of each line: role, tokens, usage, [DONE]
	}{
		{"chat", "", "/v1/chat/completions", chatFour, 0, ms(20, 20, 21, 22, 23, 23, 23)},
		{"completions", "", "/v1/completions", completionFour, 0, ms(20, 21, 22, 23, 23, 23)},
		{"early role", "role_early=15ms", "/v1/chat/completions", chatFour, 0, ms(5, 20, 21, 22, 23, 23, 23)},
		{"role earlier than the request", "role_early=1s", "/v1/chat/completions", chatFour, 0, ms(0, 20, 21, 22, 23, 23, 23)},
		{"early role of completions", "role_early=15ms", "/v1/completions", completionFour, 0, ms(20, 21, 22, 23, 23, 23)},
		{"slower tokens", "itl=1.15", "/v1/completions", completionFour, 0, ms(20, 21.15, 22.3, 23.45, 23.45, 23.45)},
		{"three tokens a write of TGI", "tokens_per_frame=3", "/generate_stream", tgiFour, 0, ms(22, 22, 22, 23)},
		{"slower all over, late", "ttft=2,itl=3,slow_headers=1s", "/v1/completions", completionFour, time.Second, ms(1040, 1043, 1046, 1049, 1049, 1049)},
		{"three tokens a frame", "tokens_per_frame=3", "/v1/completions", completionFour, 0, ms(22, 23, 23, 23)},
		{"released every 2 ms", "batch=2ms", "/v1/completions", completionFour, 0, ms(20, 22, 22, 23, 23, 23)},
		{"two tokens a frame, released every 2 ms", "batch=2ms,tokens_per_frame=2", "/v1/completions", completionFour, 0, ms(21, 23, 23, 23)},
		{"a pause", "stall=2,stall_for=400ms", "/v1/completions", completionFour, 0, ms(20, 21, 422, 423, 423, 423)},
		{"second usage", "double_usage=true", "/v1/completions", completionFour, 0, ms(20, 21, 22, 23, 23, 23, 23)},
		{"error", "error_frame=2", "/v1/completions", completionFour, 0, ms(20, 21, 21, 21)},
		{"error in the middle of a frame", "error_frame=2,tokens_per_frame=4", "/v1/completions", completionFour, 0, ms(21, 21, 21)},
		{"no error in a short answer", "error_frame=4", "/v1/completions", completionFour, 0, ms(20, 21, 22, 23, 23, 23)},
		{"queue", "", "/v1/completions", queued, 0, ms(315, 365, 415, 465, 465)},
		{"queue, slower and released every 100 ms", "ttft=2,itl=1.5,batch=100ms", "/v1/completions", queued, 0, ms(630, 730, 830, 855, 855)},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := Config{}
			switch test.body {
			case tgiFour:
				c.API = "tgi"
			case queued:
				c.Profile = profile(t, "vllm-ladder")
			}
			bubble(t, c, func(t *testing.T, r *rig) {
				r.inject(t, test.fault)
				got := r.post(t, test.path, test.body)
				if diff := cmp.Diff(test.want, got.times()); diff != "" || got.err != nil {
					t.Errorf("error %v, times (-want +got):\n%s\n%s", got.err, diff, got.text())
				}
				if got.headers != test.headers {
					t.Errorf("headers after %v, want %v", got.headers, test.headers)
				}
			})
		})
	}
}

func TestJitterIsTheSameForTheSameSeed(t *testing.T) {
	run := func(seed uint64) (at []time.Duration) {
		bubble(t, Config{Profile: profile(t, "production-stack"), Seed: seed}, func(t *testing.T, r *rig) {
			at = r.post(t, "/v1/completions", completionFour).times()
		})
		return at
	}
	if diff := cmp.Diff(run(1), run(1)); diff != "" {
		t.Errorf("two runs of one seed differ:\n%s", diff)
	}
	if cmp.Equal(run(1), run(2)) {
		t.Error("two seeds gave the same run")
	}
}

func TestAnAnswerEndsWithItsClientOrItsServer(t *testing.T) {
	for _, test := range []struct {
		profile, fault string
		close          bool // the server; else the client leaves
		failed         string
	}{
		{"fast", "", false, "canceled"},
		{"vllm-ladder", "", false, "canceled"},
		{"fast", "", true, "closed"},
		{"vllm-ladder", "", true, "closed"},
		{"fast", "stall=3", true, "stall"},
	} {
		bubble(t, Config{Profile: profile(t, test.profile)}, func(t *testing.T, r *rig) {
			r.inject(t, test.fault)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			end := cancel
			if test.close {
				end = r.sim.Close
			}
			time.AfterFunc(1234500*time.Microsecond, end)
			got := r.do(ctx, t, http.MethodPost, "/v1/completions", `{"prompt":"do not stop","max_tokens":100000,"stream":true}`)
			if got.err == nil || got.ended != 1234500*time.Microsecond {
				t.Errorf("%+v: ended after %v with %v", test, got.ended, got.err)
			}
			synctest.Wait()
			before := r.last(t)
			time.Sleep(time.Hour)
			if after := r.last(t); after.Failed != test.failed || after.Output != before.Output || after.Output == 0 {
				t.Errorf("%+v: failed %q, %d tokens, %d at the end", test, after.Failed, after.Output, before.Output)
			}
			if later := r.post(t, "/v1/completions", `{"prompt":"a","max_tokens":1}`); test.close && later.status != 503 {
				t.Errorf("%+v: status %d after Close", test, later.status)
			}
		})
	}
}
