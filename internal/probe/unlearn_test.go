package probe

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/llm-prober/prober/internal/testing/memconn"
	"github.com/llm-prober/prober/internal/wire"
)

// TestAServerThatChangesItsMind holds that a server which rejects a field that it took before is asked without it after
// three rejections in a row, and one whose answers have another length than before is not held to that after three.
func TestAServerThatChangesItsMind(t *testing.T) {
	exact := after(ms, counted(1)).then(ms, counted(2), limit, done).stream
	long := tokens(3, ms).then(0, limit, usage(80, 3), done).stream
	strict := func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(string(must(io.ReadAll(r.Body))), "cache_salt") {
			reply(422, `{"message":"[{'type': 'extra_forbidden', 'loc': ('body', 'cache_salt')}]"}`)(w, r)
			return
		}
		exact(w, r)
	}
	for name, test := range map[string]struct {
		then http.HandlerFunc
		fail Outcome
	}{"a field": {strict, Rejected}, "a length": {long, WrongLength}} {
		inBubble(t, name, func(t *testing.T) {
			server := http.HandlerFunc(exact)
			m := NewMember(serve(t, func(w http.ResponseWriter, r *http.Request) { server(w, r) }), "m", 1)
			endsAs(t, m.Probe(t.Context(), question(2)), OK, "")
			server = test.then
			endsAs(t, m.Probe(t.Context(), question(2)), test.fail, "")
			server = exact // one alone says nothing
			endsAs(t, m.Probe(t.Context(), question(2)), OK, "")
			server = test.then
			for range 3 {
				endsAs(t, m.Probe(t.Context(), question(2)), test.fail, "")
			}
			endsAs(t, m.Probe(t.Context(), question(2)), OK, "")
		})
	}
}

// TestIdentifyAfterADay holds that a server is asked for its version and model again after a day, with all configured too, that
// a model which is listed still stays, and that what does not answer is taken to be as before.
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

// TestBudgetPaysForWhatWasSent holds that a probe which never got to the server costs nothing, and that a request from
// before midnight does not throw away what is spent of the new day.
func TestBudgetPaysForWhatWasSent(t *testing.T) {
	inBubble(t, "budget", func(t *testing.T) {
		target := newTarget(func(context.Context, string, string) (net.Conn, error) { return nil, errors.New("refused") })
		target.DayLimit = 100
		m := NewMember(target, "m", 1)
		for range 3 {
			r, ok := m.ProbeWithinBudget(t.Context(), Question{Ask: wire.Ask{MaxTokens: 20}, Expect: Expectation{Length: 80}})
			if !ok || r.Outcome != Connect {
				t.Fatalf("within the budget: %t, %v", ok, r)
			}
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

// TestADayOfTheBudget holds which requests count together: those of a day of UTC, whatever happens around midnight and
// to the clock. Each step spends 60 of 100 tokens, or gives back what an earlier step has spent.
func TestADayOfTheBudget(t *testing.T) {
	const hour = time.Hour
	type step struct {
		at     time.Duration // after midnight
		result string
	}
	for name, steps := range map[string][]step{
		"a day and the next":                      {{0, "spent"}, {23 * hour, "refused"}, {24 * hour, "spent"}},
		"begun before midnight, and counted late": {{0, "spent"}, {-time.Second, "refused"}, {time.Second, "refused"}},
		"the clock was a day ahead":               {{36 * hour, "spent"}, {12 * hour, "spent"}, {36 * hour, "spent"}},
		"the clock was a year ahead":              {{8760 * hour, "spent"}, {12 * hour, "spent"}, {13 * hour, "refused"}},
		"given back":                              {{0, "spent"}, {0, "returned"}, {hour, "spent"}, {2 * hour, "refused"}},
		"given back the day after": {
			{0, "spent"}, {24 * hour, "spent"}, {0, "returned"}, {25 * hour, "refused"},
		},
		"counted late, and given back": {
			{0, "spent"}, {0, "returned"}, {-time.Second, "spent"}, {-time.Second, "returned"}, {0, "spent"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var b Budget
			midnight := time.Date(2026, 11, 25, 0, 0, 0, 0, time.UTC)
			days := map[time.Duration]time.Time{} // that the steps were counted of
			for i, s := range steps {
				got := s.result
				if s.result == "returned" {
					b.Return(days[s.at], 60)
				} else {
					day, ok := b.Reserve(midnight.Add(s.at), 60, 100)
					days[s.at] = day
					got = map[bool]string{true: "spent", false: "refused"}[ok]
				}
				equal(t, fmt.Sprintf("step %d", i), s.result, got)
			}
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
