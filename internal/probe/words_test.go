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
	nothing := answers(200, "text/event-stream", "")
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
		"an empty stream":           {nothing, Empty, ErrNothing},
		"nothing but its end":       {answers(200, "text/event-stream", data(done)), Empty, nil},
		"a stream without a reason": {unfinished, Truncated, ErrNoFinish},
		"a quota": {reply(429, `{"error":{"message":"Rate limit reached for model a","code":"429"}}`),
			RateLimited, nil},
	} {
		inBubble(t, name, func(t *testing.T) {
			target := serve(t, test.server)
			target.Key = "Invalid model" // what hides it keeps the reason
			r := target.Probe(t.Context(), wire.Ask{Prompt: "p", MaxTokens: 3})
			endsAs(t, r, test.want, "")
			if test.reason != nil && !errors.Is(r.Err, test.reason) {
				t.Errorf("%v, not for the reason %v", r.Err, test.reason)
			}
		})
	}
}

// TestAGuessOfThePromptIsNoCount: Dynamo and Ollama tell the prompt's tokens by the Messages API before they have
// counted them.
func TestAGuessOfThePromptIsNoCount(t *testing.T) {
	twice := after(ms,
		`{"type":"message_start","message":{"usage":{"input_tokens":300,"output_tokens":0}}}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":" x"}}`,
		`{"type":"message_delta","delta":{"stop_reason":"max_tokens"},"usage":{"input_tokens":200,"output_tokens":1}}`,
		`{"type":"message_stop"}`)
	untold := after(ms,
		`{"type":"message_start","message":{"usage":{"input_tokens":300,"output_tokens":0}}}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":" x"}}`,
		`{"type":"message_delta","delta":{"stop_reason":"max_tokens"},"usage":{"output_tokens":1}}`)
	for _, test := range []struct {
		server string
		script script
		want   wire.Count
	}{
		{"dynamo", twice, wire.Tokens(200)},
		{"ollama", twice, wire.Tokens(200)},
		{"ollama", untold, wire.Count{}},
		{"anthropic", untold, wire.Tokens(300)},
		{"anthropic", twice, wire.Tokens(300)}, // the larger, as of everything that is told twice
	} {
		inBubble(t, test.server, func(t *testing.T) {
			target := serve(t, test.script.stream)
			target.Dialect = must(wire.Lookup("anthropic"))
			r := target.Probe(t.Context(), wire.Ask{Prompt: "p", MaxTokens: 1, Server: must(wire.LookupServer(test.server))})
			endsAs(t, r, OK, "")
			equal(t, "prompt", test.want, r.Usage.Prompt)
		})
	}
}
