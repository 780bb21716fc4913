package probe

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/llm-prober/prober/internal/wire"
)

// A list of models and frames as TGI's OpenAI APIs write them: the role is in every delta.
const (
	tgiPage = `{"object":"list","data":[{"id":"org/m","object":"model","created":0,"owned_by":"org/m"}]}`
	tgiText = `{"choices":[{"index":0,"delta":{"role":"assistant","content":"é"},"logprobs":null,` +
		`"finish_reason":null}],"usage":null}`
	tgiLast = `{"choices":[{"index":0,"delta":{"role":"assistant","content":" x"},"logprobs":null,` +
		`"finish_reason":"length"}],"usage":null}`
)

// ofTGI answers with a script and the header by which TGI is known.
func ofTGI(s script) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Compute-Type", "gpu+optimized")
		s.stream(w, r)
	}
}

// TestTGIErrors holds what an error in a stream of TGI is, and that its limits are learned from it.
func TestTGIErrors(t *testing.T) {
	const (
		invalid  = "Input validation error: "
		together = invalid + "`inputs` tokens + `max_new_tokens` must be <= 25000. Given: 70006 `inputs` " +
			"tokens and 4 `max_new_tokens`"
		alone = invalid + "`inputs` must have less than 24000 tokens. Given: 24900"
	)
	native := func(class, message string) string { return fmt.Sprintf(`{"error":%q,"error_type":%q}`, message, class) }
	openAI := func(message string) string {
		return fmt.Sprintf(`{"error":{"message":%q,"http_status_code":422}}`, message)
	}
	for name, test := range map[string]struct {
		frames []string
		want   Outcome
		limits wire.Limits
	}{
		"too long together, native": {[]string{native("validation", together)}, Rejected, wire.Limits{Context: 25000}},
		"too long together":         {[]string{openAI(together), done}, Rejected, wire.Limits{Context: 25000}},
		"too long a prompt":         {[]string{openAI(alone), done}, Rejected, wire.Limits{Input: 24000}},
		"another validation": {[]string{openAI(invalid + "`temperature` must be strictly positive")},
			Rejected, wire.Limits{}},
		"after a token": {[]string{tgiText, openAI(together), done}, ServerError, wire.Limits{}},
	} {
		inBubble(t, name, func(t *testing.T) {
			m := NewMember(serve(t, ofTGI(after(ms, test.frames...))), "m", 1)
			endsAs(t, m.Probe(t.Context(), question(4)), test.want, "Input validation error")
			equal(t, "limits", test.limits, m.Knowledge().Limits)
		})
	}
}

// TestTGIBehindAGateway holds that TGI is known where only its OpenAI API is passed, and is asked for the answer's
// limit by one name: either it is known by its list of models, or it tells that both names are one.
func TestTGIBehindAGateway(t *testing.T) {
	for name, test := range map[string]struct {
		models   http.HandlerFunc
		requests int
	}{
		"with a list of models": {reply(200, tgiPage), 1},
		"with nothing":          {http.NotFound, 2},
	} {
		inBubble(t, name, func(t *testing.T) {
			requests := 0
			target := serve(t, func(w http.ResponseWriter, r *http.Request) {
				switch r.URL.Path {
				case "/v1/models":
					test.models(w, r)
				case "/v1/chat/completions":
					requests++
					body := string(must(io.ReadAll(r.Body)))
					if strings.Contains(body, `"max_tokens"`) && strings.Contains(body, `"max_completion_tokens"`) {
						answers(422, "text/plain", "Failed to deserialize the JSON body into the target type: duplicate field "+
							"`max_tokens` at line 1 column 90")(w, r)
						return
					}
					ofTGI(after(ms, tgiText, tgiLast, usage(80, 2), done))(w, r)
				default:
					http.NotFound(w, r)
				}
			})
			target.Dialect = nil
			m := NewMember(target, "org/m", 1)
			endsAs(t, m.Probe(t.Context(), question(2)), OK, "")
			equal(t, "requests", test.requests, requests)
			known := m.Knowledge()
			equal(t, "type and API", []string{"tgi", "openai-chat"}, []string{known.Type.Name, known.Dialect.Name})
		})
	}
}

// TestPieces holds that an answer which a server rounds up to whole pieces is told as that, and not as a server that
// ignores its limit.
func TestPieces(t *testing.T) {
	for asked, want := range map[int]string{
		1100: "1104 tokens and no end, asked 1100: the server generates long answers in whole pieces of 1024 tokens, " +
			"and the probe was canceled",
		1000: "1004 tokens and no end, asked 1000: the server ignores the limit of an answer's length, " +
			"and the probe was canceled",
		2048: "2052 tokens and no end, asked 2048: the server ignores the limit of an answer's length, " +
			"and the probe was canceled",
	} {
		synctest.Test(t, func(t *testing.T) {
			endless := make(script, 3000)
			for i := range endless {
				endless[i] = step{after: ms, send: data(tgiText)}
			}
			m := NewMember(serve(t, ofTGI(endless)), "m", 1)
			endsAs(t, m.Probe(t.Context(), question(asked)), WrongLength, want)
			equal(t, "said to ignore the limit", asked != 1100, m.Knowledge().Unlimited)
		})
	}
}

// TestATokenizerWithALimit holds that a prompt above the size that a server takes is told as too long, not as a missing
// tokenizer.
func TestATokenizerWithALimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		target := serve(t, answers(413, "text/plain", "Failed to buffer the request body: length limit exceeded"))
		_, err := target.Tokenize(t.Context(), wire.Ask{Prompt: "p"})
		if err == nil || err.Error() != "longer than the server takes: /tokenize: HTTP 413: Failed to buffer the request "+
			"body: length limit exceeded" {
			t.Errorf("got %v", err)
		}
	})
}
