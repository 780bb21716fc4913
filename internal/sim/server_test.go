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

// reply is a response whose frames have the moments at which they were sent.
type reply struct {
	*httptest.ResponseRecorder

	began  time.Time
	frames []time.Duration // since began
}

func (r *reply) WriteString(text string) (int, error) {
	for range strings.Count(text, "data: ") {
		r.frames = append(r.frames, time.Since(r.began))
	}
	return r.ResponseRecorder.WriteString(text)
}

// post sends a request, in virtual time.
func post(ctx context.Context, s *Server, path, body string) (r *reply) {
	r = &reply{httptest.NewRecorder(), time.Now(), nil}
	defer func() { _ = recover() }() // http.ErrAbortHandler: the client left
	s.ServeHTTP(r, httptest.NewRequestWithContext(ctx, http.MethodPost, path, strings.NewReader(body)))
	return r
}

// serve runs a test with a server of a profile in virtual time.
func serve(t *testing.T, p Profile, test func(t *testing.T, s *Server)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := New(Config{Profile: p})
		defer s.Close()
		test(t, s)
	})
}

// Requests of four tokens.
var (
	chatFour       = `{"messages":[{"content":"count"}],"max_tokens":4,"ignore_eos":true,"stream":true}`
	completionFour = `{"prompt":"` + words(79) + `","max_tokens":4,"ignore_eos":true,"stream":true}`
	tgiFour        = `{"inputs":"` + words(76) + ` do not stop.","parameters":{"max_new_tokens":4}}`
)

// TestFramesComeWhenTheyAreDue holds that tokens are sent at the times of the profile and the fault, and that the log
// of the server has them.
func TestFramesComeWhenTheyAreDue(t *testing.T) {
	const chat, completions, tgi = "/v1/chat/completions", "/v1/completions", "/generate_stream"
	for _, test := range []struct {
		profile, path, body string
		fault               Fault
		tokens              []time.Duration
		around              int // frames besides: role, [DONE]
	}{
		{"fast", chat, chatFour, Fault{}, millis(20, 21, 22, 23), 2},
		{"fast", completions, completionFour, Fault{}, millis(20, 21, 22, 23), 1},
		{"fast", completions, completionFour, Fault{ITL: 1.15}, millis(20, 21.15, 22.3, 23.45), 1},
		{"fast", completions, completionFour, Fault{TTFT: 2, ITL: 3}, millis(40, 43, 46, 49), 1},
		{"fast", completions, completionFour, Fault{Stall: 2}, millis(20, 21), 0},
		{"fast", completions, completionFour, Fault{Stall: 4}, millis(20, 21, 22, 23), 1}, // it is over by then
		{"vllm-ladder", completions, completionFour, Fault{}, millis(315, 365, 415, 465), 1},
		{"vllm-ladder", completions, completionFour, Fault{TTFT: 2, ITL: 1.5}, millis(630, 705, 780, 855), 1},
		{"tgi-ladder", tgi, tgiFour, Fault{}, millis(123.5, 167, 210.5, 254), 0},
	} {
		t.Run(fmt.Sprint(test.profile, test.path, test.fault), func(t *testing.T) {
			serve(t, profile(t, test.profile), func(t *testing.T, s *Server) {
				if err := s.SetFault(test.fault); err != nil {
					t.Fatal(err)
				}
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				got := post(ctx, s, test.path, test.body)
				var sent []time.Duration
				for _, at := range s.Sent()[0].Tokens {
					sent = append(sent, at.Sub(got.began))
				}
				if diff := cmp.Diff(test.tokens, sent); diff != "" {
					t.Errorf("tokens (-want +got):\n%s", diff)
				}
				if frames := len(test.tokens) + test.around; len(got.frames) != frames {
					t.Errorf("%d frames, want %d:\n%s", len(got.frames), frames, got.Body)
				}
			})
		})
	}
}

// TestWarmPromptsLookWarm holds it of a server whose times are drawn and of one that is computed step by step.
func TestWarmPromptsLookWarm(t *testing.T) {
	for _, name := range []string{"production-stack", "vllm-ladder"} {
		p := profile(t, name)
		p.TTFTJitter = 0
		serve(t, p, func(t *testing.T, s *Server) {
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
				post(t.Context(), s, "/v1/completions", fmt.Sprintf(
					`{"prompt":%q,"max_tokens":1,"ignore_eos":true,"stream":true,"cache_salt":%q}`, test.prompt, test.salt))
				all := s.Sent()
				got := all[len(all)-1]
				first, want := got.Tokens[0].Sub(got.Start), p.base()+p.prefill(test.cached, test.tokens)
				if first != want || got.Prompt != test.tokens || got.Cached != test.cached {
					t.Errorf("%s, salt %s: TTFT %v of %d tokens, %d cached, want %v of %d, %d cached", name, test.salt,
						first, got.Prompt, got.Cached, want, test.tokens, test.cached)
				}
			}
		})
	}
}

// TestTheCrowdIsRefused holds that a request beyond the limit is refused at once, and that one whose client leaves
// makes room in the queue.
func TestTheCrowdIsRefused(t *testing.T) {
	p := profile(t, "tgi-ladder")
	p.MaxRequests = 1
	serve(t, p, func(t *testing.T, s *Server) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		go post(ctx, s, "/generate_stream", strings.Replace(tgiFour, `:4}`, `:1000}`, 1))
		synctest.Wait()
		const overloaded = `data: {"error":"Model is overloaded","error_type":"overloaded"}` + "\n\n"
		if got := post(t.Context(), s, "/generate_stream", tgiFour); got.Body.String() != overloaded || got.frames[0] != 0 {
			t.Errorf("after %v: %s", got.frames, got.Body)
		}
		<-ctx.Done()
		synctest.Wait()
		post(t.Context(), s, "/generate_stream", tgiFour)
		if len(s.Sent()) != 2 || len(s.Sent()[1].Tokens) != 4 {
			t.Errorf("logged %+v, want an answer that was broken off and a whole one", s.Sent())
		}
	})
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

// millis returns durations of so many milliseconds.
func millis(values ...float64) []time.Duration {
	durations := make([]time.Duration, 0, len(values))
	for _, v := range values {
		durations = append(durations, time.Duration(v*float64(time.Millisecond)))
	}
	return durations
}

// words returns a text of so many tokens.
func words(n int) string {
	numbers := make([]string, 0, n)
	for i := range n {
		numbers = append(numbers, fmt.Sprint(i+1))
	}
	return strings.Join(numbers, " ")
}
