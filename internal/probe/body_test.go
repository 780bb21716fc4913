package probe

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/llm-prober/prober/internal/wire"
)

// TestAFieldOfTheUserIsNeverLeftOut holds that a field which the user adds is sent with every request, even to a server
// that rejects it, and that the failure says so. Other rejections have their own reason.
func TestAFieldOfTheUserIsNeverLeftOut(t *testing.T) {
	exact := after(ms, counted(1)).then(ms, counted(2), limit, done).stream
	for name, test := range map[string]struct {
		refusal string // empty: none
		outcome Outcome
		reason  Reason
	}{
		"accepted":            {"", OK, ""},
		"rejected":            {`{"error":{"message":"Unknown parameter: 'seed'"}}`, Rejected, ReasonFieldOfBodyRejected},
		"rejected inside":     {`{"detail":[{"loc":["body","a","inner"],"msg":"no"}]}`, Rejected, ReasonFieldOfBodyRejected},
		"rejected altogether": {`{"error":{"message":"no such thing today"}}`, Rejected, ReasonRequestRejected},
	} {
		inBubble(t, name, func(t *testing.T) {
			target := serve(t, func(w http.ResponseWriter, r *http.Request) {
				sent := string(must(io.ReadAll(r.Body)))
				for _, want := range []string{`"seed":7`, `"inner":true`} {
					if !strings.Contains(sent, want) {
						t.Errorf("a request without %s: %s", want, sent)
					}
				}
				if test.refusal != "" {
					reply(400, test.refusal)(w, r)
					return
				}
				exact(w, r)
			})
			target.Body = wire.Object{"seed": 7, "a": map[string]any{"inner": true}}
			m := NewMember(target, "m", 1)
			for range 3 {
				r := m.Probe(t.Context(), question(2))
				if r.Outcome != test.outcome || r.Reason != test.reason {
					t.Errorf("%s, %s: %v", r.Outcome, r.Reason, r.Err)
				}
			}
		})
	}
}

// TestAnswersMayBeShortIfTheUserSaysSo holds that a server which answers with exactly the tokens asked is not held to
// that by a request that lets the answer end.
func TestAnswersMayBeShortIfTheUserSaysSo(t *testing.T) {
	exact := after(ms, counted(1)).then(ms, counted(2), limit, done).stream
	early := after(ms, counted(1), stop, done).stream
	for _, test := range []struct {
		body wire.Object
		want Outcome
	}{
		{nil, WrongLength},
		{wire.Object{"top_k": 20}, WrongLength},
		{wire.Object{"stop": []any{"x"}}, OK},
	} {
		inBubble(t, fmt.Sprint(test.body), func(t *testing.T) {
			server := http.HandlerFunc(exact)
			target := serve(t, func(w http.ResponseWriter, r *http.Request) { server(w, r) })
			target.Body = test.body
			m := NewMember(target, "m", 1)
			endsAs(t, m.Probe(t.Context(), question(2)), OK, "")
			server = early
			endsAs(t, m.Probe(t.Context(), question(2)), test.want, "")
		})
	}
}
