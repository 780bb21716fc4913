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
		status  int
		refusal string // empty: none
		outcome Outcome
		reason  Reason
		says    string
	}{
		"accepted": {200, "", OK, "", ""},
		"rejected": {400, `{"error":{"message":"Unknown parameter: 'seed'"}}`,
			Rejected, ReasonFieldOfBodyRejected, "field seed of body: "},
		"rejected inside": {422, `{"detail":[{"loc":["body","a","inner"],"msg":"no"}]}`,
			Rejected, ReasonFieldOfBodyRejected, "field a.inner of body: "},
		"an argument that a function does not know": {500,
			`{"error":{"message":"create() got an unexpected keyword argument 'seed'"}}`,
			ServerError, ReasonFieldOfBodyRejected, "field seed of body: "},
		"rejected altogether": {400, `{"error":{"message":"no such thing today"}}`, Rejected, ReasonRequestRejected, ""},
		"rejected for its length": {400, `{"error":{"message":"seed: maximum context length is 4096 tokens"}}`,
			Rejected, ReasonLongerThanContext, ""},
	} {
		inBubble(t, name, func(t *testing.T) {
			requests := 0
			target := serve(t, func(w http.ResponseWriter, r *http.Request) {
				requests++
				sent := string(must(io.ReadAll(r.Body)))
				for _, want := range []string{`"seed":7`, `"inner":true`} {
					if !strings.Contains(sent, want) {
						t.Errorf("a request without %s: %s", want, sent)
					}
				}
				if test.refusal != "" {
					reply(test.status, test.refusal)(w, r)
					return
				}
				exact(w, r)
			})
			target.Body = wire.Object{"seed": 7, "a": map[string]any{"inner": true}}
			m := NewMember(target, "m", 1)
			for range 3 {
				r := m.Probe(t.Context(), question(2))
				endsAs(t, r, test.outcome, test.says)
				equal(t, "reason", test.reason, r.Reason)
			}
			equal(t, "requests", 3, requests) // none is tried again without a field of the user
			equal(t, "omitted fields", nil, m.Knowledge().Omit)
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
