package probe

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/llm-prober/prober/internal/wire"
)

// TestMemberLearnsRejectedFields holds that a server is asked again without the field that it names, at start only,
// and remembers it.
func TestMemberLearnsRejectedFields(t *testing.T) {
	inBubble(t, "reject", func(t *testing.T) {
		bodies := []string{}
		target := serve(t, func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			bodies = append(bodies, string(body))
			for _, field := range []string{"continuous_usage_stats", "cache_salt", "min_tokens"} {
				if strings.Contains(string(body), field) {
					w.WriteHeader(http.StatusUnprocessableEntity)
					fmt.Fprintf(w, `{"message":"[{'type': 'extra_forbidden', 'loc': ('body', '%s')}]"}`, field)
					return
				}
			}
			answer(2*ms).send(w, r)
		})
		target.Dialect, _ = wire.Lookup("openai-chat")
		m := NewMember(target, "m", 1)
		q := Question{Ask: wire.Ask{Prompt: "p", MaxTokens: 2, CacheSalt: "s"}}
		m.Probe(t.Context(), q)
		want := []wire.Field{wire.FieldContinuousUsage, wire.FieldCacheSalt, wire.FieldMinTokens}
		if got := m.Capabilities().Omit; !slices.Equal(got, want) {
			t.Errorf("learnt to omit %v, want %v", got, want)
		}
		if len(bodies) != 4 {
			t.Errorf("%d requests, want one more for each field", len(bodies))
		}
		m.Probe(t.Context(), q)
		if len(bodies) != 5 {
			t.Errorf("%d requests after the second probe, want 5", len(bodies))
		}
	})
}

// TestMemberSendsFieldsAgain holds that a rejection for another reason costs the request none of its fields.
func TestMemberSendsFieldsAgain(t *testing.T) {
	inBubble(t, "poison", func(t *testing.T) {
		ill := true
		m := NewMember(serve(t, func(w http.ResponseWriter, r *http.Request) {
			if ill {
				w.WriteHeader(http.StatusBadRequest)
				_, _ = io.WriteString(w, "cannot use min_tokens, seed or anything else today")
				return
			}
			answer(2*ms).stream(w, r)
		}), "m", 1)
		ask := wire.Ask{Prompt: "p", MaxTokens: 2}
		endsAs(t, m.Probe(t.Context(), Question{Ask: ask}), Rejected, "")
		ill = false
		if r := m.Probe(t.Context(), Question{Ask: ask}); r.Outcome != OK || len(m.Capabilities().Omit) != 0 {
			t.Errorf("%s without %v", r.Outcome, m.Capabilities().Omit)
		}
	})
}

func TestMemberAsksWhatTheServerIs(t *testing.T) {
	tests := []struct {
		name    string
		replies map[string]string
		dialect string
		model   string
	}{
		{"a list of models", map[string]string{"/v1/models": `{"data":[{"id":"llama","owned_by":"vllm"}]}`}, "openai-chat", "llama"},
		{"TGI", map[string]string{"/v1/models": `{"data":[{"id":"x"}]}`, "/info": `{"model_id":"bloom","max_input_tokens":4000,"max_total_tokens":4096}`}, "tgi", "bloom"},
		{"an older TGI without a list", map[string]string{"/info": `{"model_id":"bloom","max_input_tokens":4000,"max_total_tokens":4096}`}, "tgi", "bloom"},
	}
	for _, test := range tests {
		inBubble(t, test.name, func(t *testing.T) {
			target := serve(t, func(w http.ResponseWriter, r *http.Request) {
				if reply, ok := test.replies[r.URL.Path]; ok {
					_, _ = io.WriteString(w, reply)
					return
				}
				http.NotFound(w, r)
			})
			target.Dialect = nil
			m := NewMember(target, "", 1)
			if err := m.Prepare(t.Context()); err != nil {
				t.Fatal(err)
			}
			if got := m.Capabilities(); got.Dialect.Name != test.dialect || got.Model != test.model {
				t.Errorf("%s with model %s", got.Dialect.Name, got.Model)
			}
		})
	}
}

// TestMemberThatCannotBeAskedIsAResult holds that a server which is down from the start is counted like one that goes
// down later.
func TestMemberThatCannotBeAskedIsAResult(t *testing.T) {
	for status, want := range map[int]Outcome{401: Rejected, 403: Rejected, 503: Overloaded, 500: ServerError} {
		inBubble(t, http.StatusText(status), func(t *testing.T) {
			target := serve(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) })
			target.Dialect = nil
			r := NewMember(target, "", 1).Probe(t.Context(), Question{Ask: wire.Ask{Prompt: "p", MaxTokens: 1}})
			if r.Outcome != want || r.Status != status || r.Target != "t" {
				t.Errorf("%s with status %d: %v", r.Outcome, r.Status, r.Err)
			}
		})
	}
}

// TestMemberProbesAServerOfUnknownType holds that a server without a model list is probed as most are.
func TestMemberProbesAServerOfUnknownType(t *testing.T) {
	for name, other := range map[string]http.HandlerFunc{
		"no other route":          http.NotFound,
		"a page on every route":   func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<html>") },
		"a stream on every route": script{{0, data(token), hang}}.stream,
	} {
		inBubble(t, name, func(t *testing.T) {
			target := serve(t, func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/v1/chat/completions" {
					answer(2*ms).stream(w, r)
					return
				}
				other(w, r)
			})
			target.Dialect = nil
			r := NewMember(target, "", 1).Probe(t.Context(), Question{Ask: wire.Ask{Prompt: "p", MaxTokens: 2}})
			if r.Outcome != OK || r.API != "openai-chat" || r.Model != "" {
				t.Errorf("%s by %s with model %q: %v", r.Outcome, r.API, r.Model, r.Err)
			}
		})
	}
}

// TestMemberJudgesByLearnedCapabilities holds that the first answer teaches and the later ones are judged.
func TestMemberJudgesByLearnedCapabilities(t *testing.T) {
	exact := after(ms, counted(1)).then(ms, counted(2), limit, done)
	early, clamped := after(ms, counted(1), stop, done), after(ms, counted(1), limit, done)
	tests := []struct {
		name    string
		scripts []script
		want    []Outcome
	}{
		{"an early end after an exact answer", []script{exact, early}, []Outcome{OK, WrongLength}},
		{"an early end from a server that showed nothing", []script{early, early}, []Outcome{OK, OK}},
		{"a clamped answer", []script{clamped, clamped}, []Outcome{WrongLength, WrongLength}},
	}
	for _, test := range tests {
		inBubble(t, test.name, func(t *testing.T) {
			n := 0
			m := NewMember(serve(t, func(w http.ResponseWriter, r *http.Request) {
				n++
				test.scripts[n-1].stream(w, r)
			}), "m", 1)
			for _, want := range test.want {
				endsAs(t, m.Probe(t.Context(), Question{Ask: wire.Ask{Prompt: "p", MaxTokens: 2}}), want, "")
			}
		})
	}
}

func TestPanicIsAFailedProbe(t *testing.T) {
	inBubble(t, "panic", func(t *testing.T) {
		target := serve(t, answer(ms).stream)
		broken := *target.Dialect
		broken.Path = func(wire.Ask) string { panic("mistake") }
		target.Dialect = &broken
		m := NewMember(target, "m", 1)
		r := m.Probe(t.Context(), Question{Ask: wire.Ask{Prompt: "p", MaxTokens: 2}})
		endsAs(t, r, Malformed, "mistake")
	})
}

func TestSlots(t *testing.T) {
	inBubble(t, "slots", func(t *testing.T) {
		s, start := NewMember(Target{}, "", 2), time.Now()
		first, _ := s.take(start)
		time.Sleep(time.Second)
		second, ok := s.take(time.Now())
		if _, third := s.take(time.Now()); !ok || third {
			t.Errorf("second %t, third %t", ok, third)
		}
		if n, oldest := s.InFlight(); n != 2 || !oldest.Equal(start) {
			t.Errorf("%d in flight since %v", n, oldest)
		}
		first()
		if n, oldest := s.InFlight(); n != 1 || oldest.Sub(start) != time.Second {
			t.Errorf("%d in flight since %v", n, oldest)
		}
		second()
		if n, oldest := s.InFlight(); n != 0 || !oldest.IsZero() {
			t.Errorf("%d in flight since %v", n, oldest)
		}
	})
}

// TestMemberAsksAgainAfter404 holds that what was taken for granted of a server that was not up yet is forgotten when
// it does not know the path or the model.
func TestMemberAsksAgainAfter404(t *testing.T) {
	inBubble(t, "404", func(t *testing.T) {
		up := false
		target := serve(t, func(w http.ResponseWriter, r *http.Request) {
			switch {
			case !up:
				http.NotFound(w, r)
			case r.URL.Path == "/info":
				_, _ = io.WriteString(w, `{"model_id":"bloom","max_input_tokens":4000,"max_total_tokens":4096}`)
			case r.URL.Path == "/generate_stream":
				script{{ms, data(`{"token":{"id":1,"text":"x"},"generated_text":"x","details":{"finish_reason":"length","generated_tokens":1}}`), goOn}}.stream(w, r)
			default:
				http.NotFound(w, r)
			}
		})
		target.Dialect = nil
		m, ask := NewMember(target, "bloom", 1), wire.Ask{Prompt: "p", MaxTokens: 1}
		if r := m.Probe(t.Context(), Question{Ask: ask}); r.Outcome != Rejected || r.API != "openai-chat" {
			t.Errorf("%s by %s", r.Outcome, r.API)
		}
		up = true
		if r := m.Probe(t.Context(), Question{Ask: ask}); r.Outcome != OK || r.API != "tgi" {
			t.Errorf("%s by %s: %v", r.Outcome, r.API, r.Err)
		}
	})
}

// TestAServerThatIgnoresTheLimitIsLeft holds that the connection to a server that generates without end is closed at
// once, that the result says why, and that it is remembered until an answer has an end.
func TestAServerThatIgnoresTheLimitIsLeft(t *testing.T) {
	inBubble(t, "endless", func(t *testing.T) {
		var left []time.Duration
		endless := true
		target := serve(t, func(w http.ResponseWriter, r *http.Request) {
			if start := time.Now(); endless {
				tokens(1_000_000, 20*ms).stream(w, r)
				left = append(left, time.Since(start))
				return
			}
			slices.Concat(tokens(5, 20*ms), script{{0, data(limit, usage(80, 5), done), goOn}}).stream(w, r)
		})
		m := NewMember(target, "m", 1)
		r := m.Probe(t.Context(), Question{Ask: wire.Ask{Prompt: "p", MaxTokens: 5}})
		synctest.Wait()
		if r.Outcome != WrongLength || !slices.Equal(left, []time.Duration{9 * 20 * ms}) || len(r.Warnings) != 1 ||
			!strings.Contains(r.Warnings[0].Error(), "ignores the limit") || !strings.Contains(r.Err.Error(), "asked 5") {
			t.Errorf("%s: %v, warnings %v; the server noticed after %v", r.Outcome, r.Err, r.Warnings, left)
		}
		if notes := m.Capabilities().Notes(); len(notes) != 1 || !strings.Contains(notes[0], "ignores the limit") {
			t.Errorf("notes %q", notes)
		}
		endless = false
		if r := m.Probe(t.Context(), Question{Ask: wire.Ask{Prompt: "p", MaxTokens: 5}}); r.Outcome != OK || m.Capabilities().Unlimited {
			t.Errorf("%s: %v; still said to ignore the limit: %t", r.Outcome, r.Err, m.Capabilities().Unlimited)
		}
	})
}
