package probe

import (
	"errors"
	"net/http"
	"testing"

	"github.com/llm-prober/prober/internal/wire"
)

// TestWordsGoBeforeTheStatus holds failures that a status alone tells wrongly or not at all: their outcome, and the
// reason that the hint follows.
func TestWordsGoBeforeTheStatus(t *testing.T) {
	reasons := []error{ErrTooLong, ErrNoTemplate, ErrWrongModel, ErrWantsHeader, ErrNoBackend, ErrNothing, ErrNoFinish}
	unfinished := tokens(3, ms).stream
	for name, test := range map[string]struct {
		server http.HandlerFunc
		want   Outcome
		reason error
	}{
		"LiteLLM, another model": {reply(400, `{"error":{"message":"Invalid model name passed in model=nope",`+
			`"code":"400"}}`), Rejected, ErrWrongModel},
		"transformers, another model": {reply(400, `{"detail":"Server is pinned to 'a'; requested 'b'."}`),
			Rejected, ErrWrongModel},
		"Dynamo, another model": {reply(404, `{"message":"Model not found","type":"Not Found","code":404}`),
			Rejected, ErrWrongModel},
		"LiteLLM without a database": {reply(400,
			`{"error":{"message":"No connected db.","type":"no_db_connection","code":"400"}}`), Unauthorized, nil},
		"LiteLLM without a backend": {
			reply(429, `{"error":{"message":"No deployments available for selected model",`+
				`"type":"all_deployments_in_cooldown","code":"429"}}`),
			Overloaded, ErrNoBackend,
		},
		"Portkey without its header": {reply(400,
			`{"status":"failure","message":"Either x-portkey-config or x-portkey-provider header is required"}`),
			Rejected, ErrWantsHeader},
		"a prompt that is too long": {reply(400, `{"error":{"message":"This model's maximum context length is 4096 tokens"}}`),
			Rejected, ErrTooLong},
		"TGI without a template": {reply(400,
			`{"error":"Template error: template not found","error_type":"template_error"}`), Rejected, ErrNoTemplate},
		"vLLM without a template": {reply(400,
			`{"message":"you must provide a chat template if the tokenizer does not define"}`), Rejected, ErrNoTemplate},
		"a wrong parameter":         {reply(400, `{"error":{"message":"max_tokens must be at least 1"}}`), Rejected, nil},
		"an empty stream":           {answers(200, "text/event-stream", ""), Empty, ErrNothing},
		"a stream without a reason": {unfinished, Truncated, ErrNoFinish},
		"a quota": {reply(429, `{"error":{"message":"Rate limit reached for model a","code":"429"}}`),
			RateLimited, nil},
	} {
		inBubble(t, name, func(t *testing.T) {
			target := serve(t, test.server)
			target.Key = "Invalid model" // what hides it keeps the reason
			r := target.Probe(t.Context(), wire.Ask{Prompt: "p", MaxTokens: 3})
			endsAs(t, r, test.want, "")
			var got error
			for _, reason := range reasons {
				if errors.Is(r.Err, reason) {
					got = reason
				}
			}
			if !errors.Is(got, test.reason) {
				t.Errorf("%v: the reason is %v, want %v", r.Err, got, test.reason)
			}
		})
	}
}
