package probe

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/llm-prober/prober/internal/wire"
)

// TestMemberAsksAgainAfter404 holds that what was taken for granted of a server
// that was not up yet is doubted when it does not know what it is asked for.
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
		m, ask := NewMember(target, "bloom", 1, nil), wire.Ask{Prompt: "p", MaxTokens: 1}
		if r := m.Probe(t.Context(), Question{Ask: ask}); r.Outcome != Rejected || r.API != "openai-chat" {
			t.Errorf("%s by %s", r.Outcome, r.API)
		}
		up = true
		if r := m.Probe(t.Context(), Question{Ask: ask}); r.Outcome != OK || r.API != "tgi" {
			t.Errorf("%s by %s: %v", r.Outcome, r.API, r.Err)
		}
	})
}

// TestAnswersAreNotRepeated holds that an answer which is no stream is in no error,
// and that a tokenizer's complaint does not repeat the prompt.
func TestAnswersAreNotRepeated(t *testing.T) {
	const answer = "The patient is called Doe."
	inBubble(t, "answer", func(t *testing.T) {
		target := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"choices":[{"message":{"content":"`+answer+`"}}]}`)
		})
		r := target.Probe(t.Context(), wire.Ask{Prompt: "p", MaxTokens: 1})
		if r.Outcome != NotStreamed || strings.Contains(r.Err.Error(), "Doe") {
			t.Errorf("%s: %v", r.Outcome, r.Err)
		}
	})
	inBubble(t, "prompt", func(t *testing.T) {
		prompt := "It was late in the year and the river was high, and nobody saw it."
		target := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusInternalServerError)
			_, _ = io.WriteString(w, `{"error":"cannot tokenize: `+prompt+`"}`)
		})
		if _, err := target.Tokenize(t.Context(), wire.Ask{Prompt: prompt}); err == nil || strings.Contains(err.Error(), "nobody saw it") {
			t.Errorf("error %v", err)
		}
	})
}
