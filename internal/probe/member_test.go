package probe

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/llm-prober/prober/internal/wire"
)

// routes answer by path; "" answers for all that have none.
type routes map[string]http.HandlerFunc

func (h routes) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	handler := h[r.URL.Path]
	if handler == nil {
		handler = h[""]
	}
	if handler == nil {
		handler = http.NotFound
	}
	handler(w, r)
}

// What a server of TGI says of itself, and its answer of one token.
var (
	tgiInfo   = reply(200, `{"model_id":"bloom","max_input_tokens":4000,"max_total_tokens":4096}`)
	tgiAnswer = after(ms, `{"token":{"id":1,"text":"x"},"generated_text":"x","details":{"finish_reason":"length",`+
		`"generated_tokens":1}}`).stream
)

// question asks for so many tokens.
func question(maxTokens int) Question {
	return Question{Ask: wire.Ask{Prompt: "p", MaxTokens: maxTokens, CacheSalt: "s"}}
}

// strictServer answers a request that has none of three fields, and refuses any other for one field after another.
func strictServer(refuse func(field string) http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body := string(must(io.ReadAll(r.Body)))
		for _, field := range []string{"continuous_usage_stats", "cache_salt", "min_tokens"} {
			if strings.Contains(body, field) {
				refuse(field)(w, r)
				return
			}
		}
		twoIn(2*ms).stream(w, r)
	}
}

// TestMemberLearns holds what a member remembers of a server's answers: fields that it rejects, at start only and not
// where that does not help; whether it obeys the length asked; and that a server which was not up yet is asked again
// what it is when it does not know the path or the model.
func TestMemberLearns(t *testing.T) {
	strict := strictServer(func(field string) http.HandlerFunc {
		return reply(422, fmt.Sprintf(`{"message":"[{'type': 'extra_forbidden', 'loc': ('body', '%s')}]"}`, field))
	})
	inStream := strictServer(func(field string) http.HandlerFunc {
		const refusal = `{"error":{"message":"Unrecognized argument: %s","type":"invalid_request_error","code":400}}`
		return after(0, fmt.Sprintf(refusal, field)).stream
	})
	typeError := strictServer(func(field string) http.HandlerFunc {
		return reply(500, fmt.Sprintf(`{"error":{"message":"create() got an unexpected keyword argument '%s'"}}`, field))
	})
	failing := reply(500, `{"error":{"message":"cache_salt, min_tokens: engine is dead"}}`)
	exact := after(ms, counted(1)).then(ms, counted(2), limit, done).stream
	early, clamped := after(ms, counted(1), stop, done).stream, after(ms, counted(1), limit, done).stream
	long := tokens(3, ms).then(0, limit, usage(80, 3), done).stream
	ill := reply(400, "cannot use min_tokens, seed or anything else today")
	tgi := routes{"/info": tgiInfo, "/generate_stream": tgiAnswer}.ServeHTTP
	for name, test := range map[string]struct {
		unknown  bool // the dialect is
		servers  []http.HandlerFunc
		outcomes []Outcome // of a probe each
		requests int       // 0: any number
		omit     []wire.Field
	}{
		"rejected fields": {false, []http.HandlerFunc{strict, strict}, []Outcome{OK, OK}, 4 + 1,
			[]wire.Field{wire.FieldContinuousUsage, wire.FieldCacheSalt, wire.FieldMinTokens}},
		"fields rejected within a stream": {false, []http.HandlerFunc{inStream, inStream}, []Outcome{OK, OK}, 4 + 1,
			[]wire.Field{wire.FieldContinuousUsage, wire.FieldCacheSalt, wire.FieldMinTokens}},
		"fields that a function does not know": {false, []http.HandlerFunc{typeError, typeError}, []Outcome{OK, OK}, 4 + 1,
			[]wire.Field{wire.FieldContinuousUsage, wire.FieldCacheSalt, wire.FieldMinTokens}},
		"a failure that names fields": {false, []http.HandlerFunc{failing, exact}, []Outcome{ServerError, OK}, 0, nil},
		"a rejection for another reason": {false, []http.HandlerFunc{ill, exact},
			[]Outcome{Rejected, OK}, 2 + 1, nil},
		"a rejection after an answer": {false, []http.HandlerFunc{exact, ill},
			[]Outcome{OK, Rejected}, 2, nil},
		"a longer answer after an exact one": {false, []http.HandlerFunc{twoIn(ms).stream, long},
			[]Outcome{OK, WrongLength}, 2, nil},
		"an early end after an exact answer": {false, []http.HandlerFunc{exact, early},
			[]Outcome{OK, WrongLength}, 2, nil},
		"an early end from a server that showed nothing": {false, []http.HandlerFunc{early, early}, []Outcome{OK, OK}, 2,
			nil},
		"a clamped answer": {false, []http.HandlerFunc{clamped, clamped},
			[]Outcome{WrongLength, WrongLength}, 2, nil},
		"a server that was not up, and of which we guessed": {true, []http.HandlerFunc{http.NotFound, tgi},
			[]Outcome{Rejected, WrongLength}, 0, nil},
	} {
		inBubble(t, name, func(t *testing.T) {
			var server http.HandlerFunc
			requests := 0
			target := serve(t, func(w http.ResponseWriter, r *http.Request) { requests++; server(w, r) })
			if test.unknown {
				target.Dialect = nil
			}
			m := NewMember(target, "m", 1)
			for i, want := range test.outcomes {
				server = test.servers[i]
				endsAs(t, m.Probe(t.Context(), question(2)), want, "")
			}
			if test.requests > 0 {
				equal(t, "requests", test.requests, requests)
			}
			equal(t, "omitted fields", test.omit, m.Knowledge().Omit)
		})
	}
}

// TestMemberAsksWhatTheServerIs holds that a server of unknown type is asked, that one without a model list is probed
// as most are, and that one which is down from the start is counted like one that goes down later.
func TestMemberAsksWhatTheServerIs(t *testing.T) {
	one := twoIn(2 * ms).stream
	for name, test := range map[string]struct {
		server     routes
		outcome    Outcome
		api, model string
	}{
		"a list of models": {
			routes{"/v1/models": reply(200, `{"data":[{"id":"llama","owned_by":"vllm"}]}`),
				"/v1/chat/completions": one}, OK, "openai-chat", "llama",
		},
		"TGI": {
			routes{"/v1/models": reply(200, `{"data":[{"id":"x"}]}`), "/info": tgiInfo,
				"/generate_stream": tgiAnswer}, WrongLength, "tgi", "bloom",
		},
		"an older TGI without a list": {routes{"/info": tgiInfo, "/generate_stream": tgiAnswer}, WrongLength, "tgi", "bloom"},
		"no other route":              {routes{"/v1/chat/completions": one}, OK, "openai-chat", ""},
		"a page on every route":       {routes{"": reply(200, "<html>"), "/v1/chat/completions": one}, OK, "openai-chat", ""},
		"a stream on every route": {routes{"": after(0, token).hangs().stream, "/v1/chat/completions": one}, OK,
			"openai-chat", ""},
		"401": {routes{"": reply(401, "")}, Unauthorized, "", ""},
		"403": {routes{"": reply(403, "")}, Unauthorized, "", ""},
		"500": {routes{"": reply(500, "")}, ServerError, "", ""},
		"503": {routes{"": reply(503, "")}, Overloaded, "", ""},
	} {
		inBubble(t, name, func(t *testing.T) {
			target := serve(t, test.server.ServeHTTP)
			target.Dialect = nil
			r := NewMember(target, "", 1).Probe(t.Context(), question(2))
			if r.Outcome != test.outcome || r.API != test.api || r.Model != test.model || r.Target != "t" || r.Status == 0 {
				t.Errorf("%s with status %d by %s with model %q: %v", r.Outcome, r.Status, r.API, r.Model, r.Err)
			}
		})
	}
}

// TestMemberAsksAgain holds that a server without a model list is not asked for it again once it answered, but is after
// a 404, and that the 404 of one probe does not spoil another that is in flight.
func TestMemberAsksAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked, missing := 0, false
		slow := twoIn(9 * ms).stream
		target := serve(t, func(w http.ResponseWriter, r *http.Request) {
			switch {
			case r.URL.Path != "/v1/chat/completions":
				asked++
				http.NotFound(w, r)
			case missing:
				http.NotFound(w, r)
			default:
				slow(w, r)
			}
		})
		target.Dialect = nil
		m := NewMember(target, "", 2)
		endsAs(t, m.Probe(t.Context(), question(2)), OK, "")
		first := asked
		ended := make(chan *Result)
		go func() { ended <- m.Probe(t.Context(), question(2)) }()
		synctest.Wait() // until it is in flight
		missing = true
		endsAs(t, m.Probe(t.Context(), question(2)), Rejected, "HTTP 404")
		equal(t, "requests for what the server is, once it answered", 0, asked-first)
		endsAs(t, <-ended, OK, "")
		endsAs(t, m.Probe(t.Context(), question(2)), Rejected, "HTTP 404")
		equal(t, "requests for what the server is, after a 404", first, asked-first)
	})
}

// TestAServerThatDoesNotTellWhatItIs holds that the result of a probe which was never sent says so, and which limit
// was over: that of the question.
func TestAServerThatDoesNotTellWhatItIs(t *testing.T) {
	silent := func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }
	gone := func(ctx context.Context, _, _ string) (net.Conn, error) { <-ctx.Done(); return nil, ctx.Err() }
	for says, server := range map[string]func(*testing.T) Target{
		"while waiting for the response header": func(t *testing.T) Target { return serve(t, silent) },
		"while connecting":                      func(*testing.T) Target { return newTarget(gone) },
	} {
		inBubble(t, says, func(t *testing.T) {
			target := server(t)
			target.Dialect = nil
			r := NewMember(target, "", 1).Probe(t.Context(), question(1))
			endsAs(t, r, Timeout, "/v1/models: no answer within 5s "+says)
			wasAsked := r.Reason == ReasonNoAnswerInTime
			if r.Elapsed != 5*time.Second || !r.NotSent || wasAsked != strings.Contains(says, "header") {
				t.Errorf("after %v: not sent: %t, %s", r.Elapsed, r.NotSent, r.Reason)
			}
		})
	}
}

// TestAPanicSaysNothingOfTheServer holds that a failure of the prober itself is not counted, and that its result says
// where it happened.
func TestAPanicSaysNothingOfTheServer(t *testing.T) {
	inBubble(t, "panic", func(t *testing.T) {
		target := serve(t, twoIn(ms).stream)
		broken := *target.Dialect
		broken.Path = func(wire.Ask) string { panic("mistake") }
		target.Dialect = &broken
		r := NewMember(target, "m", 1).Probe(t.Context(), question(2))
		endsAs(t, r, Canceled, "mistake")
		if !strings.Contains(string(r.Stack), "TestAPanicSaysNothingOfTheServer") {
			t.Errorf("the stack is %s", r.Stack)
		}
	})
}

func TestSlots(t *testing.T) {
	inBubble(t, "slots", func(t *testing.T) {
		s := NewMember(Target{}, "", 2)
		first, _ := s.take()
		start := first.start
		time.Sleep(time.Second)
		second, ok := s.take()
		if _, third := s.take(); !ok || third {
			t.Errorf("second %t, third %t", ok, third)
		}
		for _, step := range []struct {
			ends    *flight
			blocked int // by the oldest: the third
			n       int
			oldest  time.Time
		}{{nil, 0, 2, start}, {first, 1, 1, start.Add(time.Second)}, {second, 0, 0, time.Time{}}} {
			blocked := 0
			if step.ends != nil {
				blocked = s.release(step.ends)
			}
			n, oldest := s.InFlight()
			if blocked != step.blocked || n != step.n || !oldest.Equal(step.oldest) {
				t.Errorf("blocked %d, %d in flight since %v, want %+v", blocked, n, oldest, step)
			}
		}
	})
}

// TestAServerThatIgnoresTheLimitIsLeft holds that the connection to a server that generates without end is closed at
// once, that the result says why, and that it is remembered until an answer has an end.
func TestAServerThatIgnoresTheLimitIsLeft(t *testing.T) {
	inBubble(t, "endless", func(t *testing.T) {
		var left time.Duration
		server := func(w http.ResponseWriter, r *http.Request) {
			start := time.Now()
			tokens(1_000_000, 20*ms).stream(w, r)
			left = time.Since(start)
		}
		m := NewMember(serve(t, func(w http.ResponseWriter, r *http.Request) { server(w, r) }), "m", 1)
		r := m.Probe(t.Context(), question(5))
		synctest.Wait()
		endsAs(t, r, WrongLength, "asked 5")
		if left != 33*20*ms || len(r.Warnings) != 1 ||
			!strings.Contains(r.Warnings[0].Text, "ignores the limit") {
			t.Errorf("warnings %v; the server noticed after %v", r.Warnings, left)
		}
		if !m.Knowledge().Unlimited {
			t.Error("not said to ignore the limit")
		}
		server = slices.Concat(tokens(5, 20*ms), after(0, limit, usage(80, 5), done)).stream
		endsAs(t, m.Probe(t.Context(), question(5)), OK, "")
		if m.Knowledge().Unlimited {
			t.Error("still said to ignore the limit")
		}
	})
}

// TestReady holds what counts as a server that can answer.
func TestReady(t *testing.T) {
	const one = `{"object":"list","data":[{"id":"m","object":"model"}]}`
	for name, test := range map[string]struct {
		health, models int    // status
		litellm        int    // the same of its check, which alone does not ask its models
		list, model    string // the reply, and the model that is given; empty: of one, and none
		ready          bool
	}{
		"healthy":                    {health: 200, models: 404, ready: true},
		"starting, its check says":   {health: 503, models: 200},
		"broken":                     {health: 500, models: 200},
		"too busy to say":            {health: 429, models: 200},
		"no check, a list of models": {health: 404, models: 200, ready: true},
		"no check, starting":         {health: 404, models: 503},
		"neither check nor list":     {health: 404, models: 404, ready: true},
		"all behind a key":           {health: 401, models: 401, ready: true},
		"no GET":                     {health: 405, models: 405, ready: true},
		"healthy, no model yet":      {health: 200, models: 200, list: `{"object":"list","data":[]}`},
		"no check, no model yet":     {health: 404, models: 200, list: `{"object":"list","data":null}`},
		"no list, its model given": {health: 200, models: 200, list: `{"object":"list","data":[]}`, model: "m",
			ready: true},
		"something else, no list": {health: 200, models: 200, list: `{"models":7}`, ready: true},
		"LiteLLM":                 {models: 200, litellm: 200, ready: true},
		"LiteLLM, starting":       {models: 200, litellm: 503},
	} {
		inBubble(t, name, func(t *testing.T) {
			server := routes{"/health": reply(test.health, ""), "/v1/models": reply(test.models, cmp.Or(test.list, one)),
				"": reply(test.models, "{}")}
			if test.litellm > 0 {
				server["/health"] = func(http.ResponseWriter, *http.Request) { t.Error("asked") }
				server["/health/readiness"] = reply(test.litellm, "")
			}
			target := serve(t, func(w http.ResponseWriter, r *http.Request) {
				if test.litellm > 0 {
					w.Header().Set("X-Litellm-Version", "1.80.0")
				}
				server.ServeHTTP(w, r)
			})
			equal(t, "ready", test.ready, target.isReady(t.Context(), test.model))
		})
	}
}

// TestWhatShowsWhoAsks holds what a result says of the credentials of its request.
func TestWhatShowsWhoAsks(t *testing.T) {
	for _, test := range []struct {
		key    string
		header http.Header
		want   Credentials
	}{
		{"", nil, CredentialsNone},
		{"", http.Header{"X-Team": {"inference"}}, CredentialsNone},
		{"sk-1", nil, CredentialsGiven},
		{"bearer sk-1", nil, CredentialsPrefixed},
		{"sk-1", http.Header{"Authorization": {"Basic x"}}, CredentialsInHeader},
		{"", http.Header{"X-Api-Key": {"sk-1"}}, CredentialsInHeader},
	} {
		if got := (Target{Key: test.key, Header: test.header}).newResult("m").Credentials; got != test.want {
			t.Errorf("key %q, header %v: %s, want %s", test.key, test.header, got, test.want)
		}
	}
}

// TestWhichModelIsProbed holds which of a list is taken where none is configured: the first that is in memory and has a
// name.
func TestWhichModelIsProbed(t *testing.T) {
	for list, want := range map[string]string{
		`[{"id":"a"},{"id":"b"}]`: "a",
		`[{"id":"a","status":{"value":"unloaded"}},{"id":"b","status":{"value":"loaded"}}]`:   "b",
		`[{"id":"a","status":{"value":"unloaded"}},{"id":"b","status":{"value":"unloaded"}}]`: "a",
		`[{"id":"unknown"},{"id":"b"}]`:                               "b",
		`[{"id":"unknown"},{"id":"b","status":{"value":"unloaded"}}]`: "b",
		`[{"id":"unknown"}]`:                                          "unknown",
	} {
		inBubble(t, list, func(t *testing.T) {
			m := NewMember(serve(t, routes{"/v1/models": reply(200, `{"data":`+list+`}`)}.ServeHTTP), "", 1)
			_ = must(m.Identify(t.Context(), 0))
			known := m.Knowledge()
			if isOnDemand := strings.Contains(list, "unloaded"); known.Model != want || known.OnDemand != isOnDemand {
				t.Errorf("model %s, on demand: %t, want %s", known.Model, known.OnDemand, want)
			}
		})
	}
}
