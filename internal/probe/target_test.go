package probe

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/llm-prober/prober/internal/server"
	"github.com/llm-prober/prober/internal/wire"
)

// TestAnswersThatAreNoStream holds the outcome of every other kind of answer.
func TestAnswersThatAreNoStream(t *testing.T) {
	compressed := func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		answers(200, "text/event-stream", data(token))(w, r)
	}
	for name, test := range map[string]struct {
		server http.HandlerFunc
		status int
		want   Outcome
		says   string
	}{
		"a compressed one": {compressed, 200, Malformed, "gzip"},
		"HTML": {answers(200, "text/html", "<html>Welcome to nginx</html>"), 200, NotStreamed,
			"Welcome to nginx"},
		"plain JSON": {reply(200, `{"choices":[{"message":{"content":"hi"}}]}`), 200, NotStreamed,
			"application/json instead of a stream: 42 bytes, which look like an answer"},
		"plain JSON with the type of a stream": {
			answers(200, "text/event-stream", `{"choices":[{"message":{"content":"hi"},"finish_reason":"stop"}]}`+"\n"), 200,
			NotStreamed, "one JSON text instead of a stream",
		},
		"a whole message as an event": {answers(200, "text/event-stream", data(
			`{"choices":[{"message":{"role":"assistant","content":"hi"},"finish_reason":"stop"}]}`, done)), 200, OK, ""},
		"a whole message without a reason": {answers(200, "text/event-stream", data(
			`{"choices":[{"message":{"content":"hi"}}]}`)), 200, Truncated, "after 1 token frames"},
		"an error that Python wrote": {answers(200, "text/event-stream", "data: {'error': {'message': 'boom'}}\n\n"), 200,
			Malformed, "'boom'"},
		"a message as the only frame": {answers(200, "text/event-stream", data(`{"message":"Internal server error"}`)), 200,
			ServerError, "Internal server error"},
		"an event with an error's status": {answers(400, "text/event-stream", data(`{"error":{"message":"no",`+
			`"code":"content_filter"}}`)), 400, Filtered, "HTTP 400: content_filter: no"},
		"another API's answer": {reply(200, `{"output":{"text":"hi"}}`), 200, NotStreamed, "24 bytes, which look like"},
		"JSON that says little": {reply(200, `{"status":"maintenance","until":"14:00"}`), 200, NotStreamed,
			`instead of a stream: {"status":"maintenance","until":"14:00"}`},
		"an error as JSON with 200": {reply(200, `{"error":{"message":"no such thing"}}`), 200, ServerError,
			"no such thing"},
		"a key as JSON with 200": {reply(200, `{"error":"Unauthorized"}`), 200, Unauthorized, "Unauthorized"},
		"our own fault with 200": {reply(200, `{"detail":[{"loc":["body","n"],"msg":"too big"}],"code":422}`), 200,
			Rejected, "body.n: too big"},
		"MiniMax's balance with 200": {
			reply(200, `{"base_resp":{"status_code":1008,"status_msg":"insufficient balance"}}`), 200, RateLimited,
			"1008: insufficient balance",
		},
		"words with 200": {answers(200, "text/plain", "no healthy upstream"), 200, ServerError,
			"no server left to ask"},
		"a message with 200": {reply(200, `{"message":"Endpoint request timed out"}`), 200, ServerError,
			"timed out"},
		"a page without a backend": {
			answers(200, "text/html", "<html>No server is available to handle this request.</html>"), 200, ServerError,
			"no server left to ask",
		},
		"no type":    {answers(200, "", ""), 200, NotStreamed, "no content type instead of a stream: no bytes"},
		"a redirect": {answers(307, "", ""), 307, Rejected, "307"},
		"400": {reply(400, `{"error":{"message":"bad","type":"BadRequestError","code":400}}`), 400,
			Rejected, "HTTP 400: BadRequestError: bad"},
		"a page of nginx": {from("nginx", answers(504, "text/html", "<html><title>504 Gateway Time-out</title><h1>504 "+
			"Gateway Time-out</h1><hr><center>nginx/1.22.1</center></html>")), 504, ServerError,
			"HTTP 504: nginx/1.22.1 answered, not the model server: Gateway Time-out"},
		"a page of nobody": {answers(502, "text/html", "<h1>502 Bad Gateway</h1>"), 502, ServerError,
			"HTTP 502: a gateway answered, not the model server: Bad Gateway"},
		"401": {reply(401, `{"error":"Unauthorized"}`), 401, Unauthorized, "Unauthorized"},
		"403": {reply(403, `{"error":"Forbidden"}`), 403, Unauthorized, "Forbidden"},
		"404": {reply(404, `{"detail":"Not Found"}`), 404, Rejected, "Not Found"},
		"408": {answers(408, "text/plain", "late"), 408, ServerError, "late"},
		"424": {reply(424, `{"error":"Request failed","error_type":"generation"}`), 424, ServerError,
			"generation"},
		"429": {answers(429, "text/plain", "slow down"), 429, RateLimited, "slow down"},
		"499": {answers(499, "text/plain", "canceled"), 499, ServerError, "canceled"},
		"500": {reply(500, `{"object":"error","message":"oops","code":500}`), 500, ServerError, "oops"},
		"502": {answers(502, "text/html", "<h1>502 Bad Gateway</h1>"), 502, ServerError, "Bad Gateway"},
		"503": {answers(503, "text/plain", "inference error: ServiceUnavailable"), 503, Overloaded,
			"ServiceUnavailable"},
		"529": {reply(529,
			`{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`), 529, Overloaded, "Overloaded"},
	} {
		inBubble(t, name, func(t *testing.T) {
			r := serve(t, test.server).Probe(t.Context(), wire.Ask{Prompt: "p", MaxTokens: 1})
			endsAs(t, r, test.want, test.says)
			equal(t, "status", test.status, r.Status)
		})
	}
}

func TestCanceledProbeIsNoFailure(t *testing.T) {
	inBubble(t, "cancel", func(t *testing.T) {
		target := serve(t, after(ms, token).hangs().stream)
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(5*time.Second, cancel)
		r := target.Probe(ctx, wire.Ask{Prompt: "p", MaxTokens: 1})
		if good, ok := (Objective{Signal: SignalAvailability}).Judge(r); r.Outcome != Canceled ||
			r.Elapsed != 5*time.Second || good || ok {
			t.Errorf("%s after %v, judged good=%t ok=%t; a canceled probe says nothing", r.Outcome, r.Elapsed, good, ok)
		}
	})
}

// TestRequest holds what goes over the wire.
func TestRequest(t *testing.T) {
	inBubble(t, "request", func(t *testing.T) {
		var got *http.Request
		var body []byte
		target := serve(t, func(w http.ResponseWriter, r *http.Request) {
			got, body = r, must(io.ReadAll(r.Body))
			after(ms, token, limit, usage(3, 1), done).stream(w, r)
		})
		target.Key, target.Session, target.Agent = "secret", "X-Session", "prober/test"
		target.Header = http.Header{"X-Llm-D-Inference-Objective": {"sheddable"}, "Host": {"llm.example.com"}}
		ask := wire.Ask{Model: "m", Prompt: "Words: time", MaxTokens: 1, CacheSalt: "salt", Session: "user-1",
			Priority: new(-5)}
		r := target.Probe(t.Context(), ask)
		endsAs(t, r, OK, "")
		equal(t, "body", string(must(target.Dialect.Body(ask))), string(body))
		for name, value := range map[string]string{
			"Authorization": "Bearer secret", "User-Agent": "prober/test", "Accept": "text/event-stream, application/json",
			"Accept-Encoding": "identity", "Content-Type": "application/json", "Expect": "", "Connection": "",
			"Traceparent": "00-" + r.TraceID + "-" + r.SpanID + "-01",
			"Baggage":     "user_agent.synthetic.type=test", "X-Session": "user-1", "X-Llm-D-Inference-Objective": "sheddable",
		} {
			equal(t, name, value, got.Header.Get(name))
		}
		if got.Host != "llm.example.com" || got.ContentLength != int64(len(body)) || got.URL.Path != "/v1/chat/completions" {
			t.Errorf("host %q, content length %d, path %s", got.Host, got.ContentLength, got.URL.Path)
		}
	})
}

// TestAnswersAreHeldToWhatTheServerCanDo holds when an answer has the wrong length on a server that obeys the limit of
// answers, and on one whose answers all have the length asked.
func TestAnswersAreHeldToWhatTheServerCanDo(t *testing.T) {
	obeys := server.Knowledge{ExactLimit: true}
	exact := server.Knowledge{ExactLimit: true, ExactOutput: true}
	for name, test := range map[string]struct {
		finish string
		output int
		known  server.Knowledge
		want   Outcome
		says   string
	}{
		"as asked":         {limit, 5, exact, OK, ""},
		"a clamped answer": {limit, 3, obeys, WrongLength, "answer of 3 tokens, asked 5"},
		"an early end where none can be forbidden": {stop, 3, obeys, OK, ""},
		"an early end where it can":                {stop, 3, exact, WrongLength, "asked 5"},
	} {
		inBubble(t, name, func(t *testing.T) {
			answer := tokens(test.output, ms).then(0, test.finish, usage(80, test.output), done)
			r := serve(t, answer.stream).probe(t.Context(), Question{Ask: wire.Ask{MaxTokens: 5}, known: test.known})
			endsAs(t, r, test.want, test.says)
		})
	}
}

// TestExpectations holds when prompt or answer are of the wrong length, and when an answer is wrong.
func TestExpectations(t *testing.T) {
	answer := func(finish string, prompt, output int) script {
		return tokens(output, ms).then(0, finish, usage(prompt, output), done)
	}
	says := func(texts ...string) (s script) {
		for _, text := range texts {
			s = s.then(ms, fmt.Sprintf(`{"choices":[{"index":0,"delta":{"content":%q},"finish_reason":null}]}`, text))
		}
		return s.then(0, stop, done)
	}
	hidden := Expectation{Code: []CodeWords{{Depth: 0.5, Words: "river stone lamp"}}}
	parts := Expectation{Code: []CodeWords{{0.1, "river stone"}, {0.5, "lamp bread"}, {1, "cloud horse"}}}
	long := Expectation{Length: 21000, Words: 20960}
	for _, test := range []struct {
		name   string
		script script
		expect Expectation
		want   Outcome
		says   string
	}{
		{"as asked", answer(limit, 80, 5), Expectation{Confirmed: wire.Tokens(80)}, OK, ""},
		{"a truncated prompt", answer(limit, 40, 5), Expectation{Confirmed: wire.Tokens(80)}, WrongLength,
			"prompt of 40 tokens, asked 80"},
		{"a prompt that is not judged", answer(limit, 40, 5), Expectation{}, OK, ""},
		{"a first answer that ends for its length before it", answer(limit, 80, 3), Expectation{}, WrongLength,
			"answer of 3 tokens, asked 5"},
		{"a first answer that ends for its length after it", answer(limit, 80, 6), Expectation{}, OK, ""},
		{"a first answer that ends early", answer(stop, 80, 3), Expectation{}, OK, ""},
		{"fewer tokens than words", answer(limit, 4096, 5), long, WrongLength,
			"prompt of 4096 tokens, asked 21000: the server cut its 20960 words"},
		{"the same of another member's prompt", answer(limit, 4096, 5), Expectation{Words: 20960}, WrongLength,
			"asked 20960"},
		{"a count that is none", answer(limit, 24, 5), long, OK, ""},
		{"nearly as many tokens as words", answer(limit, 19000, 5), long, OK, ""},

		{"right", says("The words: ", "River, ", "stone", "\nLAMP."), hidden, OK, ""},
		{"right within the reasoning", after(ms, `{"choices":[{"delta":{"reasoning":"river stone lamp"}}]}`, stop, done),
			hidden, OK, ""},
		{"right after reasoning", after(ms, `{"choices":[{"delta":{"reasoning":"I read four"}}]}`,
			`{"choices":[{"delta":{"content":"river stone lamp"}}]}`, stop, done), hidden, OK, ""},
		{"nothing but reasoning until the limit", after(ms, thought, thought, thought, thought, thought, limit, done),
			hidden, OK, ""},
		{"nothing but reasoning that ends by itself", after(ms, thought, stop, done), hidden, WrongAnswer, ""},
		{"in another order", says("stone river lamp"), hidden, WrongAnswer, ""},
		{"parts of other words", says("driver stone lamps"), hidden, WrongAnswer, ""},
		{"with other words between", says("1. river\n2. stone, and\n3. lamp"), hidden, OK, ""},
		{"too far from each other", says("river one two three four stone lamp"), hidden, WrongAnswer, ""},
		{"all parts", says("river stone lamp bread cloud horse"), parts, OK, ""},
		{"all parts in another order", says("3. Cloud, horse. 1. River, stone. 2. Lamp and bread."), parts, OK, ""},
		{"a part lost", says("river stone cloud horse"), parts, WrongAnswer, "at the depth 0.5, but those at 0.1, 1"},
		{"half of two parts", says("stone lamp bread horse"), parts, WrongAnswer, "at the depth 0.1, 1, but those at 0.5"},
		{"all parts lost", says("one two three"), parts, WrongAnswer, "none of the words hidden in the prompt, at"},
	} {
		inBubble(t, test.name, func(t *testing.T) {
			r := serve(t, test.script.stream).probe(t.Context(), Question{Ask: wire.Ask{MaxTokens: 5}, Expect: test.expect})
			endsAs(t, r, test.want, test.says)
		})
	}
}
