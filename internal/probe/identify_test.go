package probe

import (
	"cmp"
	"context"
	"errors"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/llm-prober/prober/internal/server"
	"github.com/llm-prober/prober/internal/testing/memconn"
	"github.com/llm-prober/prober/internal/wire"
)

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

// TestAConfiguredTypeSaysTheAPI holds that a server which is down, and of which all but the API is configured, is probed:
// its outage counts.
func TestAConfiguredTypeSaysTheAPI(t *testing.T) {
	for kind, api := range map[string]string{"vllm": "openai-chat", "tgi": "tgi"} {
		inBubble(t, kind, func(t *testing.T) {
			target := newTarget(func(context.Context, string, string) (net.Conn, error) { return nil, errors.New("refused") })
			target.Dialect, target.Server = nil, must(wire.LookupServer(kind))
			m := NewMember(target, "m", 1)
			_, _ = m.Identify(t.Context(), AnyAge)
			r := m.Probe(t.Context(), question(1))
			endsAs(t, r, Connect, "refused")
			equal(t, "API", api, r.API)
		})
	}
}

// TestTheModelsOfAServer holds that one of a list is probed where none is configured, and that it is known whether the
// server loads some on demand.
func TestTheModelsOfAServer(t *testing.T) {
	for list, want := range map[string]server.Knowledge{
		`[{"id":"a"},{"id":"b"}]`: {Identity: server.Identity{Model: "a"}},
		`[{"id":"a","status":{"value":"unloaded"}},{"id":"b","status":{"value":"loaded"}}]`: {
			Identity: server.Identity{Model: "b"}, OnDemand: true,
		},
	} {
		inBubble(t, list, func(t *testing.T) {
			m := NewMember(serve(t, routes{"/v1/models": reply(200, `{"data":`+list+`}`)}.ServeHTTP), "", 1)
			_ = must(m.Identify(t.Context(), 0))
			known := m.Knowledge()
			if known.Model != want.Model || known.OnDemand != want.OnDemand {
				t.Errorf("model %s, on demand: %t, want %+v", known.Model, known.OnDemand, want)
			}
		})
	}
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

// TestIdentifyAfterADay holds that a server is asked for its version and model again after a day, that a model which is
// still listed stays, and that a server which does not answer is taken to be as before.
func TestIdentifyAfterADay(t *testing.T) {
	inBubble(t, "look", func(t *testing.T) {
		version, list := "1", `{"data":[{"id":"m","owned_by":"vllm"}]}`
		asked := 0
		server := routes{
			"/version": func(w http.ResponseWriter, r *http.Request) { reply(200, `{"version":"`+version+`"}`)(w, r) },
			"/v1/models": func(w http.ResponseWriter, r *http.Request) {
				asked++
				reply(200, list)(w, r)
			},
		}
		m := NewMember(serve(t, server.ServeHTTP), "", 1)
		_ = must(m.Identify(t.Context(), 0))
		version, list = "2", `{"data":[{"id":"other","owned_by":"vllm"},{"id":"m"}]}`
		_ = must(m.Identify(t.Context(), 24*time.Hour))
		if known := m.Knowledge(); known.Version != "1" || asked != 1 {
			t.Errorf("asked %d times on the first day: version %s", asked, known.Version)
		}
		time.Sleep(25 * time.Hour)
		_ = must(m.Identify(t.Context(), 24*time.Hour))
		_ = must(m.Identify(t.Context(), 24*time.Hour))
		if known := m.Knowledge(); known.Version != "2" || known.Model != "m" || asked != 2 {
			t.Errorf("asked %d times: version %s of %s", asked, known.Version, known.Model)
		}
		list = `{"data":[{"id":"other","owned_by":"vllm"}]}`
		time.Sleep(25 * time.Hour)
		_ = must(m.Identify(t.Context(), 24*time.Hour))
		if known := m.Knowledge(); known.Model != "other" {
			t.Errorf("still asked for %s", known.Model)
		}
		list = "busy"
		time.Sleep(25 * time.Hour)
		_, _ = m.Identify(t.Context(), 24*time.Hour)
		if known := m.Knowledge(); known.Model != "other" || known.Version != "2" {
			t.Errorf("without a list: %+v", known.Identity)
		}
	})
}

// TestARestartedServerHasAnotherModel holds that a server which takes every model's name for its own is asked for its
// model again with the first answer after a failure, and that this answer has the label of the new model, as have the
// next ones. Without a failure it is not asked, and a model that is configured stays.
func TestARestartedServerHasAnotherModel(t *testing.T) {
	for name, fails := range map[string]http.HandlerFunc{
		"refused":           nil,
		"killed in between": append(tokens(1, ms), step{then: cut}).stream,
		"loading":           reply(503, `{"error":{"code":503,"message":"Loading model","type":"unavailable_error"}}`),
	} {
		inBubble(t, name, func(t *testing.T) {
			model := "tiny"
			asked := 0
			answer := http.HandlerFunc(tokens(2, ms).then(0, limit, usage(80, 2), done).stream)
			chat := answer
			server := memconn.Serve(t, routes{
				"/v1/chat/completions": func(w http.ResponseWriter, r *http.Request) { chat(w, r) },
				"/v1/models": func(w http.ResponseWriter, r *http.Request) {
					asked++
					reply(200, `{"data":[{"id":"`+model+`","owned_by":"llamacpp"}]}`)(w, r)
				},
			})
			isDown := false
			target := newTarget(func(ctx context.Context, network, address string) (net.Conn, error) {
				if isDown {
					return nil, errors.New("refused")
				}
				return server.Dial(ctx, network, address)
			})
			m, configured := NewMember(target, "", 1), NewMember(target, "mine", 1)
			probeBoth := func(want Outcome, label string, times int) {
				t.Helper()
				asked = 0
				r := m.Probe(t.Context(), question(2))
				if r.Outcome != want || r.Model != label || asked != times {
					t.Errorf("%s by %s, asked %d times, want %s by %s, %d times", said(r), r.Model, asked, want, label, times)
				}
				if r := configured.Probe(t.Context(), question(2)); r.Model != "mine" {
					t.Errorf("the configured model became %s", r.Model)
				}
			}
			probeBoth(OK, "tiny", 1)
			probeBoth(OK, "tiny", 0)
			isDown = fails == nil
			if fails != nil {
				chat = fails
			}
			asked = 0
			for _, member := range []*Member{m, configured} {
				if r := member.Probe(t.Context(), question(2)); r.Outcome == OK || asked != 0 {
					t.Errorf("%s, asked %d times", said(r), asked)
				}
			}
			isDown, chat, model = false, answer, "second"
			probeBoth(OK, "second", 1)
			probeBoth(OK, "second", 0)
		})
	}
}

// TestAnAnswerNamesAnotherModel holds that a server is asked for its model again if an answer names another one than
// the answers before, because it was restarted between two probes. An answer that names its model otherwise than the
// list does, as providers do, is no change.
func TestAnAnswerNamesAnotherModel(t *testing.T) {
	inBubble(t, "names", func(t *testing.T) {
		asked := 0
		var listed, named string
		m := NewMember(serve(t, routes{
			"/v1/models": func(w http.ResponseWriter, r *http.Request) {
				asked++
				reply(200, `{"data":[{"id":"`+listed+`"}]}`)(w, r)
			},
			"/v1/chat/completions": func(w http.ResponseWriter, r *http.Request) {
				after(ms, `{"model":"`+named+`","choices":[{"delta":{"content":"a"}}]}`, stop, done).stream(w, r)
			},
		}.ServeHTTP), "", 1)
		for i, step := range []struct {
			listed, named, want string
			asked               int
		}{
			{"tiny", "tiny-2026-01-01", "tiny", 1},
			{"tiny", "tiny-2026-01-01", "tiny", 1},
			{"second", "second", "second", 2},
			{"second", "second", "second", 2},
			{"second", "second-fp8", "second", 3},
			{"second", "second-fp8", "second", 3},
		} {
			listed, named = step.listed, step.named
			r := m.Probe(t.Context(), question(1))
			if r.Outcome != OK || r.Model != step.want || asked != step.asked {
				t.Errorf("step %d: %s by %s, asked %d times, want %+v", i, said(r), r.Model, asked, step)
			}
		}
	})
}

// TestWhenAServerIsAskedWhatItIs holds which ages of what is known make [Member.Identify] ask, after a probe of a server
// that says everything, nothing, or is not there. A probe itself asks only if API or model are not known.
func TestWhenAServerIsAskedWhatItIs(t *testing.T) {
	const hour = time.Hour
	everything := reply(200, `{"data":[{"id":"m","owned_by":"vllm"}]}`)
	for name, test := range map[string]struct {
		list       http.HandlerFunc // nil: nobody listens
		configured bool             // API and model are
		want       []int            // how often its models are asked for: by a probe, and then for each age below
	}{
		"it says all":             {everything, false, []int{1, 0, 0, 1, 0, 1}},
		"it says all, configured": {everything, true, []int{0, 1, 0, 1, 0, 1}},
		"it says nothing":         {http.NotFound, false, []int{1, 0, 0, 1, 0, 1}},
		"it fails":                {reply(500, ""), false, []int{1, 1, 1, 1, 1, 1}},
		"it fails, configured":    {reply(500, ""), true, []int{0, 1, 0, 1, 0, 1}},
		"it is down":              {nil, false, []int{1, 1, 1, 1, 1, 1}},
		"it is down, configured":  {nil, true, []int{0, 1, 1, 1, 1, 1}},
	} {
		inBubble(t, name, func(t *testing.T) {
			asked := 0
			target := serve(t, func(w http.ResponseWriter, r *http.Request) {
				switch r.URL.Path {
				case "/v1/models":
					asked++
					test.list(w, r)
				case "/v1/chat/completions":
					twoIn(ms).stream(w, r)
				default:
					http.NotFound(w, r)
				}
			})
			if test.list == nil {
				target = newTarget(func(context.Context, string, string) (net.Conn, error) {
					asked++
					return nil, errors.New("refused")
				})
			}
			model := ""
			if test.configured {
				model = "m"
			} else {
				target.Dialect = nil
			}
			m := NewMember(target, model, 1)
			r := m.Probe(t.Context(), question(2))
			if test.list == nil && !r.NotSent {
				asked-- // the probe's own connection
			}
			got := []int{asked}
			for _, age := range []time.Duration{AnyAge, 24 * hour, 0, hour, hour} {
				asked = 0
				_, _ = m.Identify(t.Context(), age)
				got = append(got, asked)
				if len(got) == 5 {
					time.Sleep(hour)
				}
			}
			equal(t, "requests", test.want, got)
		})
	}
}

// TestVersionsFitALabel holds that a version has at most 64 bytes, no credentials, even where it is cut, and nothing
// that does not print.
func TestVersionsFitALabel(t *testing.T) {
	const key = "llama-8b-secret"
	long := strings.Repeat("1", 60)
	for version, want := range map[string]string{
		`0.9\u0000\u001b[31m\n+cu`: "0.9 +cu",
		long + "2345":              long + "2345",
		long + "23456":             long + "2…",
		long + "é3456":             long + "…",
		long[:55] + key + "2222":   long[:55] + "***2222",
	} {
		target := Target{Key: key, Header: http.Header{}}
		got := target.versionIn([]byte(`{"version":"` + version + `"}`))
		equal(t, version, want, got)
	}
}
