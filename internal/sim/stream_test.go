package sim

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestFramesComeWhenTheyAreDue(t *testing.T) {
	queued := `{"prompt":"` + words(79) + `","max_tokens":4,"ignore_eos":true,"stream":true}`
	alone := `{"inputs":"` + words(76) + ` do not stop","parameters":{"max_new_tokens":4,"details":true}}`
	const chat, completions, tgi = "/v1/chat/completions", "/v1/completions", "/generate_stream"
	for _, test := range []struct {
		profile, fault, path, body string
		headers                    time.Duration
		want                       []time.Duration // of each line: role, tokens, usage, [DONE]
	}{
		{"fast", "", chat, chatFour, 0, millis(20, 20, 21, 22, 23, 23, 23)},
		{"fast", "", completions, completionFour, 0, millis(20, 21, 22, 23, 23, 23)},
		{"fast", "itl=1.15", completions, completionFour, 0, millis(20, 21.15, 22.3, 23.45, 23.45, 23.45)},
		{"fast", "ttft=2,itl=3,slow_headers=1s", completions, completionFour, time.Second,
			millis(1040, 1043, 1046, 1049, 1049, 1049)},
		{"fast", "tokens_per_frame=3", completions, completionFour, 0, millis(22, 23, 23, 23)},
		{"fast", "stall=2,stall_for=400ms", completions, completionFour, 0, millis(20, 21, 422, 423, 423, 423)},
		{"fast", "error_frame=2", completions, completionFour, 0, millis(20, 21, 21, 21)},
		{"fast", "error_frame=2,tokens_per_frame=4", completions, completionFour, 0, millis(21, 21, 21)},
		{"fast", "error_frame=4", completions, completionFour, 0, millis(20, 21, 22, 23, 23, 23)}, // it is over by then
		{"vllm-ladder", "", completions, queued, 0, millis(315, 365, 415, 465, 465)},
		{"vllm-ladder", "ttft=2,itl=1.5", completions, queued, 0, millis(630, 705, 780, 855, 855)},
		{"tgi-ladder", "", tgi, alone, 0, millis(123.5, 167, 210.5, 254)},
		{"tgi-ladder", "tokens_per_frame=3", tgi, alone, 0, millis(210.5, 210.5, 210.5, 254)},
	} {
		t.Run(test.profile+test.path+" "+test.fault, func(t *testing.T) {
			bubble(t, Config{Profile: profile(t, test.profile)}, func(t *testing.T, r *rig) {
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

// TestTheLogIsTheTruth holds that the log has every token frame with the moment at which it came, also of an answer
// that a fault breaks off.
func TestTheLogIsTheTruth(t *testing.T) {
	for _, test := range []struct{ profile, path, body string }{
		{"production-stack", "/v1/chat/completions", chatFour},
		{"vllm-ladder", "/v1/completions", completionFour},
		{"tgi", "/generate_stream", tgiFour},
	} {
		for fault, want := range map[string]Sent{
			"":                              {Output: 4, Finish: "length"},
			"tokens_per_frame=3,itl=2":      {Output: 4, Finish: "length"},
			"reset=2":                       {Output: 2, Failed: "reset"},
			"error_frame=3":                 {Output: 3, Failed: "error_frame"},
			"stall=1":                       {Output: 1, Failed: "stall"},
			"stall=1,stall_for=1s,reset=10": {Output: 4, Finish: "length"},
		} {
			bubble(t, Config{Profile: profile(t, test.profile)}, func(t *testing.T, r *rig) {
				r.inject(t, fault)
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				got := r.do(ctx, t, http.MethodPost, test.path, test.body)
				sent := r.last(t)
				if sent.Output != want.Output || sent.Finish != want.Finish || sent.Failed != want.Failed {
					t.Errorf("%s %s: logged %+v, want %+v", test.profile, fault, sent, want)
				}
				if broken := want.Failed == "reset" || want.Failed == "stall"; (got.err != nil) != broken {
					t.Errorf("%s %s: the answer ended with %v", test.profile, fault, got.err)
				}
				var logged, came []time.Duration
				for _, f := range sent.Frames {
					logged = append(logged, f.At.Sub(sent.Start))
				}
				for _, l := range got.lines {
					if strings.Contains(l.text, `"content":"`) && !strings.Contains(l.text, `"role"`) ||
						strings.Contains(l.text, `"text":"`) {
						came = append(came, l.at)
					}
				}
				if diff := cmp.Diff(logged, came); diff != "" {
					t.Errorf("%s %s: frames as logged and as they came:\n%s\n%s", test.profile, fault, diff, got.text())
				}
			})
		}
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

func TestAnAnswerThatItsClientLeftIsGone(t *testing.T) {
	for _, name := range []string{"fast", "vllm-ladder"} {
		bubble(t, Config{Profile: profile(t, name)}, func(t *testing.T, r *rig) {
			ctx, cancel := context.WithTimeout(t.Context(), 1234500*time.Microsecond)
			defer cancel()
			r.do(ctx, t, http.MethodPost, "/v1/completions", `{"prompt":"do not stop","max_tokens":100000,"stream":true}`)
			synctest.Wait()
			before := r.last(t)
			time.Sleep(time.Hour)
			if after := r.last(t); after.Failed != "canceled" || after.Output != before.Output || after.Output == 0 {
				t.Errorf("%s: failed %q, %d tokens, %d at the end", name, after.Failed, before.Output, after.Output)
			}
		})
	}
}

func TestBeyondTheLimitIsRefusedAtOnce(t *testing.T) {
	p := profile(t, "tgi-ladder")
	p.MaxRequests = 2
	bubble(t, Config{Profile: p}, func(t *testing.T, r *rig) {
		var taken sync.WaitGroup
		for range 2 {
			taken.Go(func() { r.post(t, "/generate_stream", tgiFour) })
		}
		synctest.Wait()
		got := r.post(t, "/generate_stream", tgiFour)
		const want = `data: {"error":"Model is overloaded","error_type":"overloaded"}` + "\n"
		if got.text() != want || got.ended != 0 {
			t.Errorf("after %v status %d: %s", got.ended, got.status, got.text())
		}
		taken.Wait()
		if sent := r.sim.Sent(); len(sent) != 2 || sent[0].Output != 4 || sent[1].Output != 4 {
			t.Errorf("logged %+v, want two whole answers and nothing of the refused one", sent)
		}
	})
}
