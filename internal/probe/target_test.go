package probe

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/llm-prober/prober/internal/wire"
)

const ms = time.Millisecond

// TestStreams holds the definitions of DESIGN §1 on the streams where clients go wrong. Times are exact: they are the
// script's.
func TestStreams(t *testing.T) {
	for _, test := range []struct {
		name   string
		script script
		want   string
	}{
		{"a role frame 350 ms early is no token",
			slices.Concat(after(350*ms, role), tokens(10, 350*ms)).then(0, limit).then(5*ms, usage(80, 10), done),
			"ok, TTFT 700ms, TPOT 350ms, E2EL 3.85s, max gap 350ms, gaps 9×350ms, ITL 9×350ms, 80 prompt, 10 output, by total"},
		{"three tokens a frame are told by usage",
			after(100*ms, counted(3)).then(30*ms, counted(6)).then(30*ms, counted(9)).then(0, stop, done),
			"ok, TTFT 100ms, TPOT 10ms, E2EL 160ms, max gap 30ms, gaps 2×30ms, ITL 6×10ms, 80 prompt, 9 output, by usage"},
		{"three tokens a frame without usage have no ITL",
			tokens(3, 30*ms).then(0, stop, usage(80, 9), done),
			"ok, TTFT 30ms, TPOT 7.5ms, E2EL 90ms, max gap 30ms, gaps 2×30ms, 80 prompt, 9 output"},
		{"token ids tell the tokens of each frame, and so their sum",
			after(10*ms, withIDs).then(30*ms, withIDs, stop, done),
			"ok, TTFT 10ms, TPOT 10ms, E2EL 40ms, max gap 30ms, gaps 1×30ms, ITL 3×10ms, 6 output, by ids"},
		{"usage counts the tokens of ids before it once",
			after(10*ms, withIDs).then(30*ms, withIDs).then(20*ms, counted(8), stop, done),
			"ok, TTFT 10ms, TPOT 10ms, E2EL 60ms, max gap 30ms, gaps 1×30ms 1×20ms, ITL 5×10ms, 80 prompt, 8 output, by ids"},
		{"an invisible end of sequence may be counted",
			tokens(3, 30*ms).then(0, stop, usage(80, 4), done),
			"ok, TTFT 30ms, TPOT 20ms, E2EL 90ms, max gap 30ms, gaps 2×30ms, ITL 2×30ms, 80 prompt, 4 output, by total"},
		{"an answer that ended for its length has no invisible end: some frame carries two tokens",
			tokens(3, 30*ms).then(0, limit, usage(80, 4), done),
			"wrong_length, TTFT 30ms, TPOT 20ms, max gap 30ms, gaps 2×30ms, 80 prompt, 4 output"},
		{"frames of one write arrive together",
			after(100*ms, counted(1)).then(60*ms, counted(2), counted(3), counted(4)).then(0, stop, done),
			"ok, TTFT 100ms, TPOT 20ms, E2EL 160ms, max gap 60ms, gaps 1×60ms 2×0s, ITL 3×20ms, 2 coalesced, 2 in bursts, " +
				"80 prompt, 4 output, by usage"},
		{"usage of zero in each frame and the sum with the finish tells no frame's tokens",
			after(100*ms, zeroed).then(40*ms, zeroed).then(20*ms,
				`{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"usage":`+counts(80, 2)+`}`, done),
			"ok, TTFT 100ms, TPOT 40ms, E2EL 160ms, max gap 40ms, gaps 1×40ms, ITL 1×40ms, 80 prompt, 2 output, by total"},
		{"usage in a frame with a choice after the finish is the sum",
			tokens(3, 50*ms).then(0, stop).then(time.Second, `{"choices":[{"delta":{}}],"usage":`+counts(80, 3)+`}`, done),
			"ok, TTFT 50ms, TPOT 50ms, E2EL 150ms, max gap 50ms, gaps 2×50ms, ITL 2×50ms, 80 prompt, 3 output, by total"},
		{"a role frame that counts a token is none",
			after(20*ms, early).then(80*ms, counted(2)).then(30*ms, counted(3), stop, done),
			"ok, TTFT 100ms, TPOT 30ms, E2EL 130ms, max gap 30ms, gaps 1×30ms, ITL 1×30ms, 80 prompt, 3 output, by usage"},
		{"all tokens in one frame have no time per token",
			after(100*ms, token).then(0, stop, usage(80, 4), done), "ok, TTFT 100ms, E2EL 100ms, 80 prompt, 4 output"},
		{"no TPOT where some tokens are reasoning that no frame showed",
			tokens(2, 20*ms).then(0, stop, `{"choices":[],"usage":{"prompt_tokens":80,"completion_tokens":2,`+
				`"total_tokens":382}}`, done),
			"ok, TTFT 20ms, E2EL 40ms, max gap 20ms, hidden reasoning, gaps 1×20ms, 80 prompt, 302 output"},
		{"the first token of reasoning is the first, but not the answer's",
			after(10*ms, thought).then(20*ms, thought).then(30*ms, token, stop, reasonings, done),
			"ok, TTFT 10ms, TPOT 5.555555ms, E2EL 60ms, max gap 30ms, TTFAT 60ms, gaps 1×20ms 1×30ms, 80 prompt, 10 output"},
		{"reasoning and text in one frame are both",
			after(10*ms, `{"choices":[{"index":0,"delta":{"reasoning":"hm","content":"so"},"finish_reason":null}]}`, stop,
				done), "ok, TTFT 10ms, E2EL 10ms"},
		{"nothing but reasoning is no answer", after(10*ms, thought, stop, done), "ok, TTFT 10ms, E2EL 10ms, TTFAT 0s"},
		{"reasoning that no frame shows",
			after(10*ms, role).then(50*ms, token).then(ms, stop, reasonings,
				done), "ok, TTFT 60ms, E2EL 61ms, hidden reasoning, 80 prompt, 10 output"},
		{"reasoning that no frame shows, but usage counts",
			after(60*ms, counted(9)).then(10*ms, counted(10), stop, reasonings, done),
			"ok, TTFT 60ms, TPOT 10ms, E2EL 70ms, max gap 10ms, hidden reasoning, gaps 1×10ms, ITL 1×10ms, 80 prompt, 10 " +
				"output, by usage"},
		{"nothing but reasoning that no frame shows",
			after(10*ms, role).then(50*ms, limit, reasonings, done), "empty, hidden reasoning, 80 prompt, 10 output"},
		{"the finish frame ends E2EL when it is later, usage never does",
			tokens(2, 20*ms).then(7*ms, stop).then(time.Second, usage(80, 2)).then(time.Second, done),
			"ok, TTFT 20ms, TPOT 20ms, E2EL 47ms, max gap 20ms, gaps 1×20ms, ITL 1×20ms, 80 prompt, 2 output, by total"},
		{"a count that no answer has is unknown",
			after(ms, counted(1)).then(ms, counted(1<<40)).then(0, stop, done),
			"ok, TTFT 1ms, E2EL 2ms, max gap 1ms, gaps 1×1ms, 80 prompt, 1 output"},

		{"an error after ten tokens is one, whatever [DONE] says, and ends the open gap",
			tokens(10, 20*ms).then(70*ms, `{"error":{"message":"boom","code":500}}`, done),
			"server_error, TTFT 20ms, max gap 70ms, gaps 9×20ms"},
		{"an error after the finish reason ends an open gap, too",
			tokens(3, 20*ms).then(0, stop).then(70*ms, `{"error":{"message":"boom","code":500}}`, done),
			"server_error, TTFT 20ms, max gap 70ms, gaps 2×20ms"},
		{"a body cut without its end",
			append(tokens(4, 20*ms), step{80 * ms, "", cut}), "truncated, TTFT 20ms, max gap 80ms, gaps 3×20ms"},
		{"an end without a finish reason",
			tokens(4, 20*ms).then(0, done), "truncated, TTFT 20ms, max gap 20ms, gaps 3×20ms"},
		{"[DONE] alone", after(ms, done), "empty"},
		{"a refusal", after(ms, `{"choices":[{"delta":{"refusal":"no"}}]}`, stop, done), "filtered, TTFT 1ms"},
		{"a content filter", tokens(1, ms).then(0, `{"choices":[{"delta":{},"finish_reason":"content_filter"}]}`, done),
			"filtered, TTFT 1ms"},
		{"a server that gave up", tokens(1, ms).then(0, `{"choices":[{"delta":{},"finish_reason":"abort"}]}`, done),
			"server_error, TTFT 1ms"},
		{"an unknown finish reason", tokens(1, ms).then(0, `{"choices":[{"delta":{},"finish_reason":"tired"}]}`, done),
			"malformed, TTFT 1ms"},
		{"an overload told in the stream", after(ms, `{"error":"Model is overloaded","error_type":"overloaded"}`),
			"overloaded"},
		{"a rate limit told in the stream is an error in the stream",
			tokens(1, ms).then(0, `{"choices":[{"delta":{},"finish_reason":"error"}],"error":{"code":429,`+
				`"message":"m"}}`), "server_error, TTFT 1ms"},
		{"an event called error is one, whatever it says",
			append(tokens(1, ms), step{0, "event: error\ndata: {\"message\":\"out of memory\"}\n\n" + data(stop, done),
				goOn}), "server_error, TTFT 1ms"},
		{"a frame that cannot be decoded", tokens(1, ms).then(0, "{what}").hangs(), "malformed, TTFT 1ms"},
		{"silence after the first token stalls, comments do not count",
			append(tokens(3, 20*ms), step{10 * time.Second, ": ping\n\n", goOn}, step{10 * time.Second, ": ping\n\n", hang}),
			"stalled, TTFT 20ms, max gap 30s, gaps 2×20ms"},
		{"silence before the first token does not stall, it times out, and a comment is no token",
			script{{10 * time.Second, ": ping\n\n", hang}}, "timeout"},
		{"an answer that drips for ever times out",
			tokens(1000, 14*time.Second), "timeout, TTFT 14s, max gap 14s, gaps 7×14s"},
		{"an answer that goes on after the tokens asked for is broken off",
			tokens(1000, 700*ms), "wrong_length, TTFT 700ms, max gap 700ms, gaps 13×700ms"},
		{"tokens are counted by usage where that tells more",
			after(ms, counted(5)).then(ms, counted(10)).then(ms, counted(15)).hangs(),
			"wrong_length, TTFT 1ms, TPOT 200µs, max gap 1ms, gaps 2×1ms, ITL 10×200µs, 80 prompt, 15 output, by usage"},
	} {
		inBubble(t, test.name, func(t *testing.T) {
			r := probeScript(t, test.script)
			equal(t, "the result", test.want, told(r))
			endsAs(t, r, r.Outcome, "")
		})
	}
}

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
			"application/json"},
		"an error as JSON with 200": {reply(200, `{"error":{"message":"no such thing"}}`), 200, NotStreamed, "no such thing"},
		"no type":                   {answers(200, "", ""), 200, NotStreamed, "no content type"},
		"a redirect":                {answers(307, "", ""), 307, Rejected, "307"},
		"400": {reply(400, `{"error":{"message":"bad","type":"BadRequestError","code":400}}`), 400,
			Rejected, "BadRequestError: 400: bad"},
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

func TestUnreachableServers(t *testing.T) {
	fails := func(err error) Dial {
		return func(context.Context, string, string) (net.Conn, error) { return nil, err }
	}
	says := func(text string) Dial { // once it was asked
		return func(context.Context, string, string) (net.Conn, error) {
			near, far := net.Pipe()
			go func() {
				_, _ = far.Read(make([]byte, 1<<16))
				_, _ = io.WriteString(far, text)
				_ = far.Close()
			}()
			return near, nil
		}
	}
	for name, test := range map[string]struct {
		dial Dial
		want Outcome
	}{
		"an unknown name": {fails(&net.DNSError{Err: "no such host", Name: "t", IsNotFound: true}), DNS},
		"a closed port":   {fails(&net.OpError{Op: "dial", Err: io.ErrClosedPipe}), Connect},
		"a host that does not answer": {func(ctx context.Context, _, _ string) (net.Conn, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}, Timeout},
		"a server that sends no header": {func(context.Context, string, string) (net.Conn, error) {
			near, far := net.Pipe()
			go func() { _, _ = io.Copy(io.Discard, far) }()
			return near, nil
		}, Timeout},
		"a connection closed at once": {says(""), Empty},
		"a switch of protocols": {says("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: " +
			"websocket\r\n\r\n"), Malformed},
		"something that is no HTTP": {says("SSH-2.0-x\r\n"), Malformed},
	} {
		inBubble(t, name, func(t *testing.T) {
			r := newTarget(test.dial).Probe(t.Context(), wire.Ask{Prompt: "p", MaxTokens: 1})
			endsAs(t, r, test.want, "")
			if want := map[Outcome]time.Duration{Timeout: 120 * time.Second}[test.want]; r.Elapsed != want {
				t.Errorf("took %v, want %v", r.Elapsed, want)
			}
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
			"Authorization": "Bearer secret", "User-Agent": "prober/test", "Accept": "text/event-stream",
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
	hidden := Expectation{Answer: "river stone lamp"}
	long := Expectation{Length: 21000, Words: 20960}
	for _, test := range []struct {
		name   string
		script script
		expect Expectation
		want   Outcome
		says   string
	}{
		{"as asked", answer(limit, 80, 5), Expectation{PromptTokens: wire.Tokens(80), ExactOutput: true}, OK, ""},
		{"a truncated prompt", answer(limit, 40, 5), Expectation{PromptTokens: wire.Tokens(80)}, WrongLength,
			"prompt of 40 tokens, asked 80"},
		{"a prompt that is not judged", answer(limit, 40, 5), Expectation{}, OK, ""},
		{"a clamped answer", answer(limit, 80, 3), Expectation{ExactLimit: true}, WrongLength, "answer of 3 tokens, asked 5"},
		{"an early end where none can be forbidden", answer(stop, 80, 3), Expectation{ExactLimit: true}, OK, ""},
		{"an early end where it can", answer(stop, 80, 3), Expectation{ExactLimit: true, ExactOutput: true}, WrongLength,
			"asked 5"},
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
	} {
		inBubble(t, test.name, func(t *testing.T) {
			r := serve(t, test.script.stream).probe(t.Context(), Question{Ask: wire.Ask{MaxTokens: 5}, Expect: test.expect})
			endsAs(t, r, test.want, test.says)
		})
	}
}

// TestALongSecretIsHiddenAtOnce, though no text can hold more than its start.
func TestALongSecretIsHiddenAtOnce(t *testing.T) {
	secret := "sk-verysecret" + strings.Repeat("x", 1<<20)
	if got := hide("key sk-verysecret"+wire.Cut+"refused", secret); got != "key ***"+wire.Cut+"refused" {
		t.Error(got)
	}
}

// TestErrorsHoldNoSecrets holds that what a server repeats is not passed on, and no answer that is not a stream is.
func TestErrorsHoldNoSecrets(t *testing.T) {
	prompt := "Words: " + strings.Repeat("time money ", 20)
	for name, body := range map[string]string{
		"a part of a cookie": `{"error":{"message":"bad cookie session=verysecretcookie, theme=dark"}}`,
		"the key":            `{"error":{"message":"Incorrect API key provided: sk-verysecret"}}`,
		"a cut key":          `{"error":{"message":"` + strings.Repeat("x", 275) + ` key provided: sk-verysecret"}}`,
		"the prompt":         `{"detail":[{"loc":["body"],"input":"` + prompt + `"}]}`,
		"the answer":         `{"choices":[{"message":{"content":"This is verysecret."}}]}`,
	} {
		inBubble(t, name, func(t *testing.T) {
			status := http.StatusInternalServerError
			if name == "the answer" {
				status = http.StatusOK
			}
			target := serve(t, reply(status, body))
			target.Key = "sk-verysecret"
			target.Header = http.Header{"Cookie": {"session=verysecretcookie; theme=dark"}}
			ask := wire.Ask{Turns: []wire.Turn{{Role: "system", Text: prompt}}, Prompt: "p", MaxTokens: 1}
			_, err := target.Tokenize(t.Context(), ask)
			for _, err := range []error{target.Probe(t.Context(), ask).Err, err} {
				if err != nil && (strings.Contains(err.Error(), "verysec") || strings.Contains(err.Error(), "money time money")) {
					t.Error(err)
				}
			}
		})
	}
}
