package probe

import (
	"context"
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

// reading is what the tables say of a result. A negative duration is none.
type reading struct {
	Outcome                  Outcome
	TTFT, TPOT, E2EL, MaxGap time.Duration
	Frames, Coalesced        int
	Gaps, ITL                []time.Duration
	Prompt, Cached, Output   int // -1: unknown
	Source                   Source
}

const none = -1

func readingOf(r *Result) reading {
	return reading{
		Outcome: r.Outcome,
		TTFT:    orNone(r.TTFT()), TPOT: orNone(r.TPOT()), E2EL: orNone(r.E2EL()), MaxGap: orNone(r.MaxGap()),
		Frames: len(r.Tokens), Coalesced: r.Coalesced(),
		Gaps: slices.Collect(r.ChunkGaps()), ITL: slices.Collect(r.ITL()),
		Prompt: countOr(r.Usage.Prompt), Cached: countOr(r.Usage.Cached), Output: countOr(r.Usage.Generated()),
		Source: r.Source,
	}
}

func orNone(d time.Duration, ok bool) time.Duration {
	if !ok {
		return none
	}
	return d
}

func countOr(c wire.Count) int {
	if !c.Known {
		return none
	}
	return c.N
}

// times repeats a duration.
func times(n int, d time.Duration) []time.Duration { return slices.Repeat([]time.Duration{d}, n) }

// TestStreams holds the definitions of DESIGN §1 on the streams where clients go wrong. Times are exact: they are the
// script's.
func TestStreams(t *testing.T) {
	tests := []struct {
		name   string
		script script
		want   reading
	}{
		{
			"a role frame 350 ms early is no token",
			slices.Concat(script{{350 * ms, data(role), goOn}}, tokens(10, 350*ms), script{{0, data(limit), goOn}, {5 * ms, data(usage(80, 10), done), goOn}}),
			reading{OK, 700 * ms, 350 * ms, 3850 * ms, 350 * ms, 10, 0, times(9, 350*ms), times(9, 350*ms), 80, none, 10, FromTotal},
		},
		{
			"of two usage frames the larger count of each field stands",
			slices.Concat(tokens(3, 20*ms), script{
				{0, data(stop), goOn},
				{0, data(`{"choices":[],"usage":{"prompt_tokens":100,"completion_tokens":3,"total_tokens":103,"prompt_tokens_details":{"cached_tokens":64}}}`), goOn},
				{0, data(`{"choices":[],"usage":{"prompt_tokens":100,"completion_tokens":3,"total_tokens":103,"prompt_tokens_details":{"cached_tokens":0}}}`, done), goOn},
			}),
			reading{OK, 20 * ms, 20 * ms, 60 * ms, 20 * ms, 3, 0, times(2, 20*ms), times(2, 20*ms), 100, 64, 3, FromTotal},
		},
		{
			"three tokens a frame are told by usage",
			script{{100 * ms, data(counted(3)), goOn}, {30 * ms, data(counted(6)), goOn}, {30 * ms, data(counted(9)), goOn}, {0, data(stop, done), goOn}},
			reading{OK, 100 * ms, 10 * ms, 160 * ms, 30 * ms, 3, 0, times(2, 30*ms), times(6, 10*ms), 80, none, 9, FromUsage},
		},
		{
			"three tokens a frame without usage have no ITL",
			slices.Concat(tokens(3, 30*ms), script{{0, data(stop, usage(80, 9), done), goOn}}),
			reading{OK, 30 * ms, 60 * ms / 8, 90 * ms, 30 * ms, 3, 0, times(2, 30*ms), nil, 80, none, 9, FromNothing},
		},
		{
			"an invisible end of sequence may be counted",
			slices.Concat(tokens(3, 30*ms), script{{0, data(stop, usage(80, 4), done), goOn}}),
			reading{OK, 30 * ms, 20 * ms, 90 * ms, 30 * ms, 3, 0, times(2, 30*ms), times(2, 30*ms), 80, none, 4, FromTotal},
		},
		{
			"an answer that ended for its length has no invisible end: some frame carries two tokens",
			slices.Concat(tokens(3, 30*ms), script{{0, data(limit, usage(80, 4), done), goOn}}),
			reading{WrongLength, 30 * ms, 20 * ms, none, 30 * ms, 3, 0, times(2, 30*ms), nil, 80, none, 4, FromNothing},
		},
		{
			"a comment is no token",
			slices.Concat(script{{50 * ms, ": ping\n\n", goOn}}, tokens(2, 100*ms), script{{0, data(stop, usage(80, 2), done), goOn}}),
			reading{OK, 150 * ms, 100 * ms, 250 * ms, 100 * ms, 2, 0, times(1, 100*ms), times(1, 100*ms), 80, none, 2, FromTotal},
		},
		{
			"frames of one write arrive together",
			script{{100 * ms, data(counted(1)), goOn}, {50 * ms, data(counted(2), counted(3), counted(4)), goOn}, {0, data(stop, done), goOn}},
			reading{OK, 100 * ms, 50 * ms / 3, 150 * ms, 50 * ms, 4, 2, []time.Duration{50 * ms, 0, 0}, times(3, 50*ms/3), 80, none, 4, FromUsage},
		},
		{
			"an error after ten tokens is one, whatever [DONE] says",
			slices.Concat(tokens(10, 20*ms), script{{70 * ms, data(`{"error":{"message":"boom","code":500}}`, done), goOn}}),
			reading{ServerError, 20 * ms, none, none, 70 * ms, 10, 0, times(9, 20*ms), nil, none, none, none, FromNothing},
		},
		{
			"a body cut without its end",
			slices.Concat(tokens(4, 20*ms), script{{80 * ms, "", cut}}),
			reading{Truncated, 20 * ms, none, none, 80 * ms, 4, 0, times(3, 20*ms), nil, none, none, none, FromNothing},
		},
		{
			"an end without a finish reason",
			slices.Concat(tokens(4, 20*ms), script{{0, data(done), goOn}}),
			reading{Truncated, 20 * ms, none, none, 20 * ms, 4, 0, times(3, 20*ms), nil, none, none, none, FromNothing},
		},
		{
			"usage of zero in each frame and the sum with the finish tells no frame's tokens",
			script{
				{100 * ms, data(zeroed), goOn}, {40 * ms, data(zeroed), goOn},
				{20 * ms, data(`{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"usage":`+counts(80, 2)+`}`, done), goOn},
			},
			reading{OK, 100 * ms, 40 * ms, 160 * ms, 40 * ms, 2, 0, times(1, 40*ms), times(1, 40*ms), 80, none, 2, FromTotal},
		},
		{
			"a role frame that counts a token is none",
			script{{20 * ms, data(early), goOn}, {80 * ms, data(counted(2)), goOn}, {30 * ms, data(counted(3), stop, done), goOn}},
			reading{OK, 100 * ms, 30 * ms, 130 * ms, 30 * ms, 2, 0, times(1, 30*ms), times(1, 30*ms), 80, none, 3, FromUsage},
		},
		{
			"all tokens in one frame have no time per token",
			script{{100 * ms, data(token), goOn}, {0, data(stop, usage(80, 4), done), goOn}},
			reading{OK, 100 * ms, none, 100 * ms, none, 1, 0, nil, nil, 80, none, 4, FromNothing},
		},
		{
			"[DONE] alone", script{{ms, data(done), goOn}},
			reading{Empty, none, none, none, none, 0, 0, nil, nil, none, none, none, FromNothing},
		},
		{
			"nothing at all", script{{ms, "", goOn}},
			reading{Empty, none, none, none, none, 0, 0, nil, nil, none, none, none, FromNothing},
		},
		{
			"hidden reasoning is counted but was never seen",
			script{{ms, data(stop, `{"choices":[],"usage":{"prompt_tokens":80,"completion_tokens":100,"total_tokens":180,"completion_tokens_details":{"reasoning_tokens":100}}}`, done), goOn}},
			reading{Empty, none, none, none, none, 0, 0, nil, nil, 80, none, 100, FromNothing},
		},
		{
			"no TPOT where some tokens are reasoning that no frame showed",
			slices.Concat(tokens(2, 20*ms), script{{0, data(stop, `{"choices":[],"usage":{"prompt_tokens":80,"completion_tokens":2,"total_tokens":382}}`, done), goOn}}),
			reading{OK, 20 * ms, none, 40 * ms, 20 * ms, 2, 0, times(1, 20*ms), nil, 80, none, 302, FromNothing},
		},
		{
			"the finish frame ends E2EL when it is later, usage never does",
			slices.Concat(tokens(2, 20*ms), script{{7 * ms, data(stop), goOn}, {time.Second, data(usage(80, 2)), goOn}, {time.Second, data(done), goOn}}),
			reading{OK, 20 * ms, 20 * ms, 47 * ms, 20 * ms, 2, 0, times(1, 20*ms), times(1, 20*ms), 80, none, 2, FromTotal},
		},
		{
			"a refusal",
			script{{ms, data(`{"choices":[{"delta":{"refusal":"no"}}]}`, stop, done), goOn}},
			reading{Filtered, ms, none, none, none, 1, 0, nil, nil, none, none, none, FromNothing},
		},
		{
			"a content filter",
			slices.Concat(tokens(1, ms), script{{0, data(`{"choices":[{"delta":{},"finish_reason":"content_filter"}]}`, done), goOn}}),
			reading{Filtered, ms, none, none, none, 1, 0, nil, nil, none, none, none, FromNothing},
		},
		{
			"a server that gave up",
			slices.Concat(tokens(1, ms), script{{0, data(`{"choices":[{"delta":{},"finish_reason":"abort"}]}`, done), goOn}}),
			reading{ServerError, ms, none, none, none, 1, 0, nil, nil, none, none, none, FromNothing},
		},
		{
			"an overload told in the stream",
			script{{ms, data(`{"error":"Model is overloaded","error_type":"overloaded"}`), goOn}},
			reading{Overloaded, none, none, none, none, 0, 0, nil, nil, none, none, none, FromNothing},
		},
		{
			"a rate limit told in the stream is an error in the stream",
			slices.Concat(tokens(1, ms), script{{0, data(`{"choices":[{"delta":{},"finish_reason":"error"}],"error":{"code":429,"message":"m"}}`), goOn}}),
			reading{ServerError, ms, none, none, none, 1, 0, nil, nil, none, none, none, FromNothing},
		},
		{
			"usage in a frame with a choice after the finish is the sum",
			slices.Concat(tokens(3, 50*ms), script{{0, data(stop), goOn}, {time.Second, data(`{"choices":[{"delta":{}}],"usage":`+counts(80, 3)+`}`, done), goOn}}),
			reading{OK, 50 * ms, 50 * ms, 150 * ms, 50 * ms, 3, 0, times(2, 50*ms), times(2, 50*ms), 80, none, 3, FromTotal},
		},
		{
			"a count that no answer has is unknown",
			script{{ms, data(counted(1)), goOn}, {ms, data(counted(1 << 40)), goOn}, {0, data(stop, done), goOn}},
			reading{OK, ms, none, 2 * ms, ms, 2, 0, times(1, ms), nil, 80, none, 1, FromNothing},
		},
		{
			"an event called error is one, whatever it says",
			slices.Concat(tokens(1, ms), script{{0, "event: error\ndata: {\"message\":\"out of memory\"}\n\n" + data(stop, done), goOn}}),
			reading{ServerError, ms, none, none, none, 1, 0, nil, nil, none, none, none, FromNothing},
		},
		{
			"an event called error needs no data",
			slices.Concat(tokens(1, ms), script{{0, "event: error\n: boom\n\n" + data(stop, done), goOn}}),
			reading{ServerError, ms, none, none, none, 1, 0, nil, nil, none, none, none, FromNothing},
		},
		{
			"a frame that cannot be decoded",
			slices.Concat(tokens(1, ms), script{{0, data("{what}"), hang}}),
			reading{Malformed, ms, none, none, none, 1, 0, nil, nil, none, none, none, FromNothing},
		},
		{
			"silence after the first token stalls, comments do not count",
			slices.Concat(tokens(3, 20*ms), script{{10 * time.Second, ": ping\n\n", goOn}, {10 * time.Second, ": ping\n\n", hang}}),
			reading{Stalled, 20 * ms, none, none, 30 * time.Second, 3, 0, times(2, 20*ms), nil, none, none, none, FromNothing},
		},
		{
			"silence before the first token does not stall, it times out",
			script{{10 * time.Second, ": ping\n\n", hang}},
			reading{Timeout, none, none, none, none, 0, 0, nil, nil, none, none, none, FromNothing},
		},
		{
			"an answer that drips for ever times out",
			tokens(1000, 14*time.Second),
			reading{Timeout, 14 * time.Second, none, none, 14 * time.Second, 8, 0, times(7, 14*time.Second), nil, none, none, none, FromNothing},
		},
		{
			"an answer that goes on after the tokens asked for is broken off",
			tokens(1000, 700*ms),
			reading{WrongLength, 700 * ms, none, none, 700 * ms, 14, 0, times(13, 700*ms), nil, none, none, none, FromNothing},
		},
		{
			"tokens are counted by usage where that tells more",
			script{{ms, data(counted(5)), goOn}, {ms, data(counted(10)), goOn}, {ms, data(counted(15)), hang}},
			reading{WrongLength, ms, ms / 5, none, ms, 3, 0, times(2, ms), times(10, ms/5), 80, none, 15, FromUsage},
		},
	}
	for _, test := range tests {
		inBubble(t, test.name, func(t *testing.T) {
			r := probeScript(t, test.script)
			equal(t, "reading", test.want, readingOf(r))
			endsAs(t, r, test.want.Outcome, "")
		})
	}
}

// TestAnswersThatAreNoStream holds the outcome of every other kind of answer.
func TestAnswersThatAreNoStream(t *testing.T) {
	tests := []struct {
		name   string
		status int
		kind   string
		body   string
		want   Outcome
		says   string
	}{
		{"a compressed one", 200, "text/event-stream", data(token), Malformed, "gzip"},
		{"HTML", 200, "text/html", "<html>Welcome to nginx</html>", NotStreamed, "Welcome to nginx"},
		{"plain JSON", 200, "application/json", `{"choices":[{"message":{"content":"hi"}}]}`, NotStreamed, "application/json"},
		{"an error as JSON with 200", 200, "application/json", `{"error":{"message":"no such thing"}}`, NotStreamed, "no such thing"},
		{"no type", 200, "", "", NotStreamed, "no content type"},
		{"400", 400, "application/json", `{"error":{"message":"bad","type":"BadRequestError","code":400}}`, Rejected, "BadRequestError: 400: bad"},
		{"401", 401, "application/json", `{"error":"Unauthorized"}`, Rejected, "Unauthorized"},
		{"404", 404, "application/json", `{"detail":"Not Found"}`, Rejected, "Not Found"},
		{"a redirect", 307, "", "", Rejected, "307"},
		{"408", 408, "text/plain", "late", ServerError, "late"},
		{"424", 424, "application/json", `{"error":"Request failed","error_type":"generation"}`, ServerError, "generation"},
		{"429", 429, "text/plain", "slow down", RateLimited, "slow down"},
		{"500", 500, "application/json", `{"object":"error","message":"oops","code":500}`, ServerError, "oops"},
		{"502", 502, "text/html", "<h1>502 Bad Gateway</h1>", ServerError, "Bad Gateway"},
		{"503", 503, "text/plain", "inference error: ServiceUnavailable", Overloaded, "ServiceUnavailable"},
		{"529", 529, "application/json", `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`, Overloaded, "Overloaded"},
	}
	for _, test := range tests {
		inBubble(t, test.name, func(t *testing.T) {
			target := serve(t, func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body)
				w.Header()["Content-Type"] = []string{test.kind}
				if test.want == Malformed {
					w.Header().Set("Content-Encoding", test.says)
				}
				w.WriteHeader(test.status)
				_, _ = io.WriteString(w, test.body)
			})
			r := target.Probe(t.Context(), wire.Ask{Prompt: "p", MaxTokens: 1})
			endsAs(t, r, test.want, test.says)
			if r.Status != test.status {
				t.Errorf("status %d", r.Status)
			}
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
	tests := []struct {
		name string
		dial Dial
		want Outcome
	}{
		{"an unknown name", fails(&net.DNSError{Err: "no such host", Name: "t", IsNotFound: true}), DNS},
		{"a closed port", fails(&net.OpError{Op: "dial", Err: io.ErrClosedPipe}), Connect},
		{"a host that does not answer", func(ctx context.Context, _, _ string) (net.Conn, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}, Timeout},
		{"a server that sends no header", func(context.Context, string, string) (net.Conn, error) {
			near, far := net.Pipe()
			go func() { _, _ = io.Copy(io.Discard, far) }()
			return near, nil
		}, Timeout},
		{"a connection closed at once", says(""), Empty},
		{"a switch of protocols", says("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"), Malformed},
		{"something that is no HTTP", says("SSH-2.0-x\r\n"), Malformed},
	}
	for _, test := range tests {
		inBubble(t, test.name, func(t *testing.T) {
			start := time.Now()
			r := newTarget(test.dial).Probe(t.Context(), wire.Ask{Prompt: "p", MaxTokens: 1})
			if endsAs(t, r, test.want, ""); r.Status != 0 && r.Outcome != Malformed {
				t.Errorf("status %d", r.Status)
			}
			if took := time.Since(start); test.want == Timeout && took != 120*time.Second || test.want != Timeout && took != 0 {
				t.Errorf("took %v", took)
			}
		})
	}
}

func TestCanceledProbeIsNoFailure(t *testing.T) {
	inBubble(t, "cancel", func(t *testing.T) {
		target := serve(t, script{{ms, data(token), hang}}.stream)
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(5*time.Second, cancel)
		r := target.Probe(ctx, wire.Ask{Prompt: "p", MaxTokens: 1})
		if r.Outcome != Canceled || r.Elapsed != 5*time.Second {
			t.Errorf("%s after %v", r.Outcome, r.Elapsed)
		}
		if good, ok := (Objective{Signal: SignalAvailability}).Judge(r); good || ok {
			t.Errorf("judged good=%t ok=%t; a canceled probe says nothing", good, ok)
		}
	})
}

// TestRequest holds what goes over the wire.
func TestRequest(t *testing.T) {
	inBubble(t, "request", func(t *testing.T) {
		got := make(chan *http.Request, 1)
		var body string
		target := serve(t, func(w http.ResponseWriter, r *http.Request) {
			b, _ := io.ReadAll(r.Body)
			body = string(b)
			got <- r
			script{{ms, data(token, limit, usage(3, 1), done), goOn}}.stream(w, r)
		})
		target.Key, target.Session = "secret", "X-Session"
		target.Header = http.Header{"X-Llm-D-Inference-Objective": {"sheddable"}, "Host": {"llm.example.com"}}
		target.Agent = "prober/test"
		r := target.Probe(t.Context(), wire.Ask{Model: "m", Prompt: "Words: time", MaxTokens: 1, CacheSalt: "salt", Session: "user-1", Priority: new(-5)})
		if r.Outcome != OK {
			t.Fatalf("%s: %v", r.Outcome, r.Err)
		}
		request := <-got
		want := `{"cache_salt":"salt","ignore_eos":true,"max_completion_tokens":1,"max_tokens":1,"messages":[{"role":"user","content":"Words: time"}],"min_tokens":1,` +
			`"model":"m","priority":-5,"seed":1,"stream":true,"stream_options":{"continuous_usage_stats":true,"include_usage":true},"temperature":0}`
		if body != want {
			t.Errorf("body\n%s\nwant\n%s", body, want)
		}
		headers := map[string]string{
			"Authorization": "Bearer secret", "User-Agent": "prober/test", "Accept": "text/event-stream",
			"Accept-Encoding": "identity", "Content-Type": "application/json", "Expect": "", "Connection": "",
			"Traceparent": "00-" + r.TraceID + "-" + r.SpanID + "-01",
			"Baggage":     "user_agent.synthetic.type=test", "X-Session": "user-1", "X-Llm-D-Inference-Objective": "sheddable",
		}
		for name, value := range headers {
			if request.Header.Get(name) != value {
				t.Errorf("%s: %q, want %q", name, request.Header.Get(name), value)
			}
		}
		if request.Host != "llm.example.com" {
			t.Errorf("host %q, want that of the header", request.Host)
		}
		if request.ContentLength != int64(len(want)) || request.URL.Path != "/v1/chat/completions" {
			t.Errorf("content length %d, path %s", request.ContentLength, request.URL.Path)
		}
	})
}

// TestLengths holds when an answer is of the wrong length.
func TestLengths(t *testing.T) {
	answer := func(finish string, prompt, output int) script {
		return slices.Concat(tokens(output, ms), script{{0, data(finish, usage(prompt, output), done), goOn}})
	}
	tests := []struct {
		name   string
		script script
		expect Expectation
		want   Outcome
		says   string
	}{
		{"as asked", answer(limit, 80, 5), Expectation{PromptTokens: wire.Tokens(80), ExactOutput: true}, OK, ""},
		{"a truncated prompt", answer(limit, 40, 5), Expectation{PromptTokens: wire.Tokens(80)}, WrongLength, "prompt of 40 tokens, asked 80"},
		{"a prompt that is not judged", answer(limit, 40, 5), Expectation{}, OK, ""},
		{"a clamped answer", answer(limit, 80, 3), Expectation{ExactLimit: true}, WrongLength, "answer of 3 tokens, asked 5"},
		{"an early end where none can be forbidden", answer(stop, 80, 3), Expectation{ExactLimit: true}, OK, ""},
		{"an early end where it can", answer(stop, 80, 3), Expectation{ExactLimit: true, ExactOutput: true}, WrongLength, "asked 5"},
		{"a first answer that ends for its length before it", answer(limit, 80, 3), Expectation{}, WrongLength, "answer of 3 tokens, asked 5"},
		{"a first answer that ends for its length after it", answer(limit, 80, 6), Expectation{}, OK, ""},
		{"a first answer that ends early", answer(stop, 80, 3), Expectation{}, OK, ""},
		{"fewer tokens than words", answer(limit, 4096, 5), Expectation{Length: 21000, Words: 20960}, WrongLength, "prompt of 4096 tokens, asked 21000: the server cut its 20960 words"},
		{"fewer tokens than words, of another member's prompt", answer(limit, 4096, 5), Expectation{Words: 20960}, WrongLength, "asked 20960"},
		{"a count that is none", answer(limit, 24, 5), Expectation{Length: 21000, Words: 20960}, OK, ""},
		{"nearly as many tokens as words", answer(limit, 19000, 5), Expectation{Length: 21000, Words: 20960}, OK, ""},
	}
	for _, test := range tests {
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

// TestErrorsHoldNoSecrets holds that what a server repeats is not passed on.
func TestErrorsHoldNoSecrets(t *testing.T) {
	prompt := "Words: " + strings.Repeat("time money ", 20)
	for name, body := range map[string]string{
		"a part of a cookie": `{"error":{"message":"bad cookie session=verysecretcookie, theme=dark"}}`,
		"the key":            `{"error":{"message":"Incorrect API key provided: sk-verysecret"}}`,
		"a cut key":          `{"error":{"message":"` + strings.Repeat("x", 270) + ` key provided: sk-verysecret"}}`,
		"the prompt":         `{"detail":[{"loc":["body"],"input":"` + prompt + `"}]}`,
	} {
		inBubble(t, name, func(t *testing.T) {
			target := serve(t, func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body)
				w.WriteHeader(401)
				_, _ = io.WriteString(w, body)
			})
			target.Key = "sk-verysecret"
			target.Header = http.Header{"Cookie": {"session=verysecretcookie; theme=dark"}}
			r := target.Probe(t.Context(), wire.Ask{Turns: []wire.Turn{{Role: "system", Text: prompt}}, Prompt: "p", MaxTokens: 1})
			if text := r.Err.Error(); strings.Contains(text, "verysecret") || strings.Contains(text, "money time money") {
				t.Errorf("error %q", text)
			}
		})
	}
}

// TestAvailable holds which failures are not the server's.
func TestAvailable(t *testing.T) {
	var available []Outcome
	for _, o := range Outcomes() {
		if o.Available() {
			available = append(available, o)
		}
	}
	if want := []Outcome{OK, RateLimited, Rejected, Filtered, WrongLength, WrongAnswer}; !slices.Equal(available, want) {
		t.Errorf("available: %q, want %q", available, want)
	}
}
