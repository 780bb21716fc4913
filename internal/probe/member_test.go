package probe

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
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

// question asks for that many tokens.
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
		s := NewMember(Target{Transport: new(Transport)}, "", 2)
		first, _ := s.begin("p")
		start := first.start
		time.Sleep(time.Second)
		second, reason := s.begin("p")
		if _, third := s.begin("q"); reason != "" || third != SkipOverlap {
			t.Errorf("the second is skipped as %q, the third as %q", reason, third)
		}
		for _, step := range []struct {
			ends    *flight
			blocked int // by the oldest: the third
			n       int
			oldest  time.Time
		}{{nil, 0, 2, start}, {first, 1, 1, start.Add(time.Second)}, {second, 0, 0, time.Time{}}} {
			blocked := map[string]int{}
			if step.ends != nil {
				blocked = s.end(step.ends)
			}
			n, oldest := s.InFlight("p")
			if blocked["q"] != step.blocked || blocked["p"] != 0 || n != step.n || !oldest.Equal(step.oldest) {
				t.Errorf("blocked %v, %d in flight since %v, want %+v", blocked, n, oldest, step)
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
			r.Warnings[0].Kind != WarnBeyondLimit {
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

// TestProbesThatLearnOmittedFieldsTogether holds that what one of two probes in flight has learned is not undone by the
// other, is there once, and helps the other, too.
func TestProbesThatLearnOmittedFieldsTogether(t *testing.T) {
	const refusal = `{"message":"[{'type': 'extra_forbidden', 'loc': ('body', 'cache_salt')}]"}`
	late := func(d time.Duration, h http.HandlerFunc) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			time.Sleep(d)
			h(w, r)
		}
	}
	without := late(5*ms, reply(422, refusal)) // when the other has been sent, too
	ill := reply(400, "not today")
	fine := twoIn(ms).stream
	for name, test := range map[string]struct {
		with, more []http.HandlerFunc // what requests with the field, and those without it, are answered, in their order
		outcomes   []Outcome          // of the probe that began first, and of the other
	}{
		"both learn it": {
			[]http.HandlerFunc{without, without}, []http.HandlerFunc{fine, fine}, []Outcome{OK, OK},
		},
		"it did not help the second, while the first waits for its answer": {
			[]http.HandlerFunc{without, without}, []http.HandlerFunc{late(50*ms, fine), ill}, []Outcome{OK, Rejected},
		},
		"the first was answered before the second was refused": {
			[]http.HandlerFunc{without, late(50*ms, without)}, []http.HandlerFunc{fine, fine}, []Outcome{OK, OK},
		},
	} {
		inBubble(t, name, func(t *testing.T) {
			var mu sync.Mutex // guards both lists
			with, more := test.with, test.more
			next := func(asksForSalt bool) http.HandlerFunc {
				mu.Lock()
				defer mu.Unlock()
				left := &more
				if asksForSalt {
					left = &with
				}
				if len(*left) == 0 {
					t.Error("a request too many")
					return ill
				}
				first := (*left)[0]
				*left = (*left)[1:]
				return first
			}
			m := NewMember(serve(t, func(w http.ResponseWriter, r *http.Request) {
				asksForSalt := strings.Contains(string(must(io.ReadAll(r.Body))), "cache_salt")
				next(asksForSalt)(w, r)
			}), "m", 2)
			ended := make(chan *Result)
			go func() { ended <- m.Probe(t.Context(), question(2)) }()
			time.Sleep(time.Microsecond)
			second := m.Probe(t.Context(), question(2))
			first := <-ended
			equal(t, "outcomes", test.outcomes, []Outcome{first.Outcome, second.Outcome})
			equal(t, "omitted fields", []wire.Field{wire.FieldCacheSalt}, m.Knowledge().Omit)
		})
	}
}
