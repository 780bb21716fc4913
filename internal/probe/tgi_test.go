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

// Frames as TGI's OpenAI APIs write them: the role is in every delta, and half of a character is a frame without text.
const (
	tgiPage = `{"object":"list","data":[{"id":"org/m","object":"model","created":0,"owned_by":"org/m"}]}`
	tgiHalf = `{"choices":[{"index":0,"delta":{"role":"assistant","content":""},"logprobs":null,` +
		`"finish_reason":null}],"usage":null}`
	tgiText = `{"choices":[{"index":0,"delta":{"role":"assistant","content":"é"},"logprobs":null,` +
		`"finish_reason":null}],"usage":null}`
	tgiLast = `{"choices":[{"index":0,"delta":{"role":"assistant","content":" x"},"logprobs":null,` +
		`"finish_reason":"length"}],"usage":null}`
	tgiEOS = `{"choices":[{"index":0,"delta":{"role":"assistant","content":""},"logprobs":null,` +
		`"finish_reason":"stop"}],"usage":null}`
)

// ofTGI answers with a script and the header by which TGI is known.
func ofTGI(s script) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Compute-Type", "gpu+optimized")
		s.stream(w, r)
	}
}

// TestTGIFrames holds that each frame of TGI with a choice is one token, also without text, that an answer of nothing
// but its end is one token on each of its APIs, and that frames of other servers without text are none.
func TestTGIFrames(t *testing.T) {
	eosText := `{"choices":[{"index":0,"text":"<eos>","logprobs":null,"finish_reason":"eos_token"}],` +
		`"usage":{"prompt_tokens":80,"completion_tokens":1,"total_tokens":81}}`
	eosNative := `{"index":1,"token":{"id":1,"text":"<eos>","logprob":-1,"special":true},"generated_text":"",` +
		`"details":{"finish_reason":"eos_token","generated_tokens":1,"input_length":80}}`
	chat := func(s script) script { return s.then(0, usage(80, len(s)), done) }
	halves := after(10*ms, tgiHalf).then(10*ms, tgiText).then(10*ms, tgiHalf).then(10*ms, tgiLast)
	for name, test := range map[string]struct {
		api    string
		server http.HandlerFunc
		want   string
	}{
		"halves of characters": {"openai-chat", ofTGI(chat(halves)), "ok: TTFT 10ms, 3 × ITL of 10ms, source ids"},
		"of another server":    {"openai-chat", chat(halves).stream, "ok: TTFT 20ms, 0 × ITL of 0s, source none"},
		"the end alone": {"openai-chat", ofTGI(chat(after(10*ms, tgiEOS))),
			"ok: TTFT 10ms, 0 × ITL of 0s, source ids"},
		"as completion": {"openai-completions", ofTGI(after(10*ms, eosText, done)),
			"ok: TTFT 10ms, 0 × ITL of 0s, source ids"},
		"of the native API": {"tgi", ofTGI(after(10*ms, eosNative)), "ok: TTFT 10ms, 0 × ITL of 0s, source ids"},
	} {
		inBubble(t, name, func(t *testing.T) {
			target := serve(t, test.server)
			target.Dialect, _ = wire.Lookup(test.api)
			r := target.Probe(t.Context(), wire.Ask{Model: "m", Prompt: "p", MaxTokens: 4})
			ttft, _ := r.TTFT()
			if answer, ok := r.TTFAT(); ok && answer != ttft {
				t.Errorf("the answer begins at %v, its first token at %v", answer, ttft)
			}
			gap, gaps := 0*ms, 0
			for d := range r.ITL() {
				gap, gaps = d, gaps+1
			}
			equal(t, "the answer", test.want, fmt.Sprintf("%s: TTFT %v, %d × ITL of %v, source %s", r.Outcome,
				ttft, gaps, gap, r.Source))
		})
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
		"overloaded, native": {[]string{native("overloaded", "Model is overloaded")}, Overloaded, wire.Limits{}},
		"overloaded":         {[]string{openAI("Model is overloaded"), done}, Overloaded, wire.Limits{}},
		"a dead shard": {[]string{openAI("Request failed during generation: Server error: Connection refused"),
			done}, ServerError, wire.Limits{}},
		"after a token": {[]string{tgiText, openAI(together), done}, ServerError, wire.Limits{}},
	} {
		inBubble(t, name, func(t *testing.T) {
			m := NewMember(serve(t, ofTGI(after(ms, test.frames...))), "m", 1)
			endsAs(t, m.Probe(t.Context(), question(4)), test.want, "server error")
			equal(t, "limits", test.limits, m.Capabilities().Limits)
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
			known := m.Capabilities()
			equal(t, "type and API", []string{"tgi", "openai-chat"}, []string{known.Server.Name, known.Dialect.Name})
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
			equal(t, "said to ignore the limit", asked != 1100, m.Capabilities().Unlimited)
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
