package sim

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestTokensComeWhenTheyAreDue holds that the tokens of an answer are sent at the times of the profile and the fault.
func TestTokensComeWhenTheyAreDue(t *testing.T) {
	const chat = `{"messages":[{"content":"count"}],"max_tokens":4,"ignore_eos":true,"stream":true}`
	const completion = `{"prompt":%q,"max_tokens":4,"ignore_eos":true,"stream":true}`
	for name, test := range map[string]struct {
		profile, path, body string
		fault               Fault
		want                []time.Duration
	}{
		"at the times of the profile": {"fast", "/v1/chat/completions", chat, Fault{},
			millis(20, 21, 22, 23)},
		"slowed down": {"fast", "/v1/completions", fmt.Sprintf(completion, words(79)), Fault{TTFT: 2, ITL: 1.15},
			millis(40, 41.15, 42.3, 43.45)},
		"stalled": {"fast", "/v1/completions", fmt.Sprintf(completion, words(79)), Fault{Stall: 2},
			millis(20, 21)},
		"alone in vLLM's queue": {"vllm-ladder", "/v1/completions", fmt.Sprintf(completion, words(79)), Fault{ITL: 1.5},
			millis(315, 390, 465, 540)},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := New(Config{Profile: profile(t, test.profile)})
				defer s.Close()
				if err := s.SetFault(test.fault); err != nil {
					t.Fatal(err)
				}
				answer := ask(t, s, test.path, test.body)
				var got []time.Duration
				for _, at := range answer.Tokens {
					got = append(got, at.Sub(answer.Start))
				}
				if diff := cmp.Diff(test.want, got); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			})
		})
	}
}

// TestWarmPromptsAreFaster holds that TTFT leaves out the blocks of a prompt that the prefix cache has. At least one
// token is always computed.
func TestWarmPromptsAreFaster(t *testing.T) {
	p := profile(t, "production-stack")
	p.TTFTJitter = 0
	synctest.Test(t, func(t *testing.T) {
		s := New(Config{Profile: p})
		defer s.Close()
		for _, test := range []struct {
			name, prompt, salt string
			tokens, cached     int
		}{
			{"a new prompt", words(499), "a", 500, 0},
			{"the same prompt", words(499), "a", 500, 496},
			{"the same prompt with another salt", words(499), "b", 500, 0},
			{"a longer prompt", words(519), "a", 520, 496},
			{"full blocks alone", words(495), "a", 496, 480},
			{"a prompt that differs in its third block", strings.Replace(words(499), " 40 ", " 7777 ", 1), "a", 500, 32},
		} {
			got := ask(t, s, "/v1/completions", fmt.Sprintf(
				`{"prompt":%q,"max_tokens":1,"ignore_eos":true,"stream":true,"cache_salt":%q}`, test.prompt, test.salt))
			first := got.Start.Add(p.base() + p.prefill(test.cached, test.tokens))
			want := Sent{Start: got.Start, Prompt: test.tokens, Cached: test.cached, Tokens: []time.Time{first}}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", test.name, diff)
			}
		}
	})
}

// ask sends a request, waits a minute for the answer at most, and returns what the server noted of it.
func ask(t *testing.T, s *Server, path, body string) Sent {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	func() {
		defer func() { _ = recover() }() // http.ErrAbortHandler: the client left
		r := httptest.NewRequestWithContext(ctx, http.MethodPost, path, strings.NewReader(body))
		s.ServeHTTP(httptest.NewRecorder(), r)
	}()
	all := s.Sent()
	if len(all) == 0 {
		t.Fatal("no answer")
	}
	return all[len(all)-1]
}

// profile returns a profile that exists.
func profile(t *testing.T, name string) Profile {
	t.Helper()
	p, err := ParseProfile(name)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// millis returns durations of that many milliseconds.
func millis(values ...float64) []time.Duration {
	var durations []time.Duration
	for _, v := range values {
		durations = append(durations, time.Duration(v*float64(time.Millisecond)))
	}
	return durations
}

// words returns a text of that many tokens.
func words(n int) string {
	var numbers []string
	for i := range n {
		numbers = append(numbers, fmt.Sprint(i+1))
	}
	return strings.Join(numbers, " ")
}
