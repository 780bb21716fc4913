package probe

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/llm-prober/prober/internal/wire"
)

// TestAServerThatIgnoresTheLimitIsLeft holds that the connection to a server that
// generates without end is closed at once, that the result says why, and that it is
// remembered until an answer has an end.
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
		m := NewMember(target, "m", 1, nil)
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
