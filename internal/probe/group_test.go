package probe

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/llm-prober/prober/internal/wire"
)

// log is what a group did: a line a prompt, a count learned, a result or a skip.
type log struct {
	epoch time.Time

	mu    sync.Mutex
	lines []string
}

func (l *log) write(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, fmt.Sprintf(format, args...))
}

func (l *log) Record(r *Result) {
	says := ""
	if r.Stack != nil {
		says = ": " + r.Err.Error()
	}
	if r.Outcome != Canceled || r.Stack != nil {
		l.write("%s %s round %d due %v start %v%s", r.Target, r.Outcome, r.Round, r.Due.Sub(l.epoch), r.Start.Sub(l.epoch),
			says)
	}
}

func (l *log) Skipped(target, _ string, reason Skip) {
	l.write("%s skipped: %s at %v", target, reason, time.Since(l.epoch))
}

// questions are prompts of 80 tokens by the count of the first member, and answers of two. They are logged: a prompt
// when the first member is asked, and the tokens of the first member's answers.
type questions struct {
	log    *log
	panics bool // while it writes prompt 0, and while it is told what prompt 1 has

	mu      sync.Mutex
	written map[uint64]bool
}

func (q *questions) Prompt(round uint64) (name string, before uint64) { return "p", round }

func (q *questions) Next(_ context.Context, member int, round uint64) (Question, *Result, Skip) {
	if q.panics && round == 0 {
		panic("written")
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.written[round] {
		q.written[round] = true
		q.log.write("prompt %d", round)
	}
	next := Question{Ask: wire.Ask{Prompt: "p", MaxTokens: 2}, Tokens: 80}
	if member == 0 {
		next.Expect = Expectation{Confirmed: wire.Tokens(80), Length: 80}
	}
	return next, nil, ""
}

func (q *questions) Answered(member int, round uint64, r *Result) {
	if member > 0 || r.Outcome != OK {
		return
	}
	if q.panics && round == 1 {
		panic("learned")
	}
	q.log.write("learned %d", r.Usage.Prompt.N)
}

// newGroup is a group with an interval of ten seconds, whose members are called a, b and so on.
func newGroup(t *testing.T, servers ...http.HandlerFunc) (*Group, *log) {
	l := &log{epoch: time.Now()}
	g := &Group{Interval: 10 * time.Second, Questions: &questions{log: l, written: map[uint64]bool{}}, Recorder: l}
	for i, server := range servers {
		target := serve(t, server)
		target.Name = string(rune('a' + i))
		g.Members = append(g.Members, NewMember(target, "m", 1))
	}
	return g, l
}

// twoIn answers with two tokens, and takes so long.
func twoIn(took time.Duration) script {
	return tokens(2, took/2).then(0, limit, usage(80, 2), done)
}

// rounds runs rounds 0 to n−1, each when it is due.
func (g *Group) rounds(starts, probes context.Context, n uint64) {
	var running sync.WaitGroup
	defer running.Wait()
	epoch := time.Now()
	for round := range n {
		due := epoch.Add(time.Duration(round) * g.Interval)
		time.Sleep(time.Until(due))
		running.Go(func() { g.Round(starts, probes, round, due) })
	}
}

// TestGroup holds that members are asked one after another, that only a probe that is sent costs tokens, that a hanging
// member costs the others at most its share of the interval and itself its slots, that no more tokens are spent in a
// day than allowed, and that a panic of the prober fails the probes of its round and nothing else. No probe begins once
// it is told to stop, and those in flight end when they are canceled. A server which turns probes away is left alone
// for as long as it asks, up to the limit. A disabled member has no slots, and takes no time of the others.
func TestGroup(t *testing.T) {
	const budget = 2 * 82 // tokens: two questions with their answers
	second, hanging := twoIn(time.Second).stream, script{}.hangs().stream
	slow := []http.HandlerFunc{twoIn(2 * time.Second).stream, second}
	other := tokens(2, time.Second).then(0, limit, usage(70, 2), done).stream // by another tokenizer
	busy := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "15")
		w.WriteHeader(http.StatusTooManyRequests)
	}
	late := func(w http.ResponseWriter, r *http.Request) {
		time.Sleep(8 * time.Second)
		busy(w, r)
	}
	rest := func(limit time.Duration) func(*Group) {
		return func(g *Group) { g.Members[0].target.Backoff = limit }
	}
	disabled := func(g *Group) { // a, for 15 seconds, and a slot is late meanwhile
		g.Members[0].Disabled.Store(true)
		time.AfterFunc(5*time.Second, func() { g.Late(0) })
		time.AfterFunc(15*time.Second, func() { g.Members[0].Disabled.Store(false) })
	}
	panics := func(g *Group) { g.Questions.(*questions).panics = true }
	for name, test := range map[string]struct {
		members []http.HandlerFunc
		change  func(*Group)
		want    []string // of three rounds, of one that is stopped

		stop, cancel, took time.Duration // until no probe shall begin, until those in flight shall end, until all is over
	}{
		"turns": {members: []http.HandlerFunc{second, other}, want: []string{
			"prompt 0", "learned 80", "a ok round 0 due 0s start 0s", "b ok round 0 due 1s start 1s",
			"prompt 1", "b ok round 1 due 10s start 10s", "learned 80", "a ok round 1 due 12s start 12s",
			"prompt 2", "learned 80", "a ok round 2 due 20s start 20s", "b ok round 2 due 21s start 21s",
		}},
		"a hanging member": {members: []http.HandlerFunc{hanging, second}, want: []string{
			"prompt 0", "b ok round 0 due 5s start 5s",
			"prompt 1", "b ok round 1 due 10s start 10s", "a skipped: overlap at 11s",
			"a skipped: overlap at 20s", "prompt 2", "b ok round 2 due 20s start 20s",
			"a timeout round 0 due 0s start 0s",
		}},
		"hanging alone": {members: []http.HandlerFunc{hanging}, want: []string{
			"prompt 0", "a skipped: overlap at 10s", "a skipped: overlap at 20s", "a timeout round 0 due 0s start 0s",
		}},
		"a budget": {members: []http.HandlerFunc{second}, change: func(g *Group) { g.Members[0].target.DayLimit = budget },
			want: []string{
				"prompt 0", "learned 80", "a ok round 0 due 0s start 0s",
				"prompt 1", "learned 80", "a ok round 1 due 10s start 10s",
				"prompt 2", "a skipped: budget at 20s",
			}},
		"a busy member": {members: []http.HandlerFunc{busy, second}, change: rest(time.Minute), want: []string{
			"prompt 0", "a rate_limited round 0 due 0s start 0s", "b ok round 0 due 0s start 0s",
			"prompt 1", "b ok round 1 due 10s start 10s", "a skipped: backoff at 11s",
			"prompt 2", "a rate_limited round 2 due 20s start 20s", "b ok round 2 due 20s start 20s",
		}},
		"busy since the end of a probe": {members: []http.HandlerFunc{late}, change: rest(time.Minute), want: []string{
			"prompt 0", "a rate_limited round 0 due 0s start 0s", "a skipped: backoff at 10s", "a skipped: backoff at 20s",
		}},
		"busy for longer than the limit": {members: []http.HandlerFunc{busy}, change: rest(5 * time.Second), want: []string{
			"prompt 0", "a rate_limited round 0 due 0s start 0s", "prompt 1", "a rate_limited round 1 due 10s start 10s",
			"prompt 2", "a rate_limited round 2 due 20s start 20s",
		}},
		"disabled for a while": {members: []http.HandlerFunc{second, second}, change: disabled, want: []string{
			"prompt 0", "b ok round 0 due 0s start 0s", "b skipped: late at 5s",
			"prompt 1", "b ok round 1 due 10s start 10s",
			"prompt 2", "learned 80", "a ok round 2 due 20s start 20s", "b ok round 2 due 21s start 21s",
		}},
		"disabled alone": {members: []http.HandlerFunc{second}, change: disabled, want: []string{
			"prompt 2", "learned 80", "a ok round 2 due 20s start 20s",
		}},
		"panics": {members: []http.HandlerFunc{second, second}, change: panics, want: []string{
			"a canceled round 0 due 0s start 0s: prober panicked, please report it: written",
			"b canceled round 0 due 0s start 0s: prober panicked, please report it: written",
			"prompt 1", "b ok round 1 due 10s start 10s",
			"a canceled round 1 due 11s start 11s: prober panicked, please report it: learned",
			"prompt 2", "learned 80", "a ok round 2 due 20s start 20s", "b ok round 2 due 21s start 21s",
		}},
		"stopped": {members: slow, stop: time.Second, took: 2 * time.Second,
			want: []string{"prompt 0", "learned 80", "a ok round 0 due 0s start 0s"}},
		"canceled": {members: slow, stop: time.Second, cancel: time.Second, took: time.Second, want: []string{"prompt 0"}},
	} {
		inBubble(t, name, func(t *testing.T) {
			g, l := newGroup(t, test.members...)
			if test.change != nil {
				test.change(g)
			}
			until := func(end time.Duration) context.Context {
				ctx, cancel := context.WithCancel(t.Context())
				time.AfterFunc(cmp.Or(end, time.Hour), cancel)
				return ctx
			}
			rounds := uint64(3)
			if test.stop > 0 {
				rounds = 1
			}
			g.rounds(until(test.stop), until(test.cancel), rounds)
			equal(t, "lines", test.want, l.lines)
			if took := time.Since(l.epoch); test.took > 0 && took != test.took {
				t.Errorf("took %v, want %v", took, test.took)
			}
			time.Sleep(24 * time.Hour)
			_, ok := g.Members[0].Budget.Reserve(time.Now(), budget, budget)
			if !ok {
				t.Error("a new day has no budget")
			}
		})
	}
}

// TestScheduleDelayIsOurs holds that a probe which first asks the server what it is and which fields it takes began
// when its slot was due, however long the server takes for that.
func TestScheduleDelayIsOurs(t *testing.T) {
	inBubble(t, "delay", func(t *testing.T) {
		fine := twoIn(time.Second).stream
		g, _ := newGroup(t, func(w http.ResponseWriter, r *http.Request) {
			body := string(must(io.ReadAll(r.Body)))
			switch {
			case r.Method == http.MethodGet:
				time.Sleep(2 * time.Second)
				http.NotFound(w, r)
			case strings.Contains(body, "cache_salt"):
				time.Sleep(time.Second)
				reply(422, `{"message":"[{'type': 'extra_forbidden', 'loc': ('body', 'cache_salt')}]"}`)(w, r)
			default:
				fine(w, r)
			}
		})
		target := g.Members[0].target
		target.Dialect = nil
		g.Members[0] = NewMember(target, "", 1)
		due := time.Now()
		time.Sleep(ms)
		r, _ := g.Turn(t.Context(), 0, 0, due)
		endsAs(t, r, OK, "")
		equal(t, "schedule delay", ms, r.ScheduleDelay())
		if waited := r.Start.Sub(due); waited < 3*time.Second {
			t.Errorf("the answer was asked for after %v: the server took no time before", waited)
		}
	})
}

// events are a recorder that counts the events of an objective.
type events struct {
	objective Objective

	mu        sync.Mutex
	good, bad int
	skipped   map[Skip]int
}

func (e *events) Record(r *Result) {
	e.mu.Lock()
	defer e.mu.Unlock()
	good, bad := e.objective.Events(r.Prompt, r)
	e.good += good
	e.bad += bad
}

func (e *events) Skipped(_, _ string, reason Skip) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.skipped[reason]++
}

// TestBlockedSlots holds that a server which does not answer for eight minutes has a bad event for each slot of them,
// whether a probe was sent in it or was skipped behind one that failed, and that slots behind a slow answer, or behind
// one that was refused, are no events.
func TestBlockedSlots(t *testing.T) {
	refused := func(w http.ResponseWriter, _ *http.Request) {
		time.Sleep(25 * time.Second)
		w.WriteHeader(http.StatusUnauthorized)
	}
	latency := Objective{Signal: SignalTTFT, Limit: time.Second, Goal: 0.99}
	availability := Objective{Signal: SignalAvailability, Goal: 0.99}
	for name, test := range map[string]struct {
		server    http.HandlerFunc
		inFlight  int
		objective Objective
		slots     uint64 // one each ten seconds

		good, bad, skipped int
	}{
		"hangs for eight minutes":               {script{}.hangs().stream, 1, availability, 48, 0, 48, 36},
		"hangs, judged by latency":              {script{}.hangs().stream, 1, latency, 48, 0, 48, 36},
		"hangs, with two in flight":             {script{}.hangs().stream, 2, availability, 48, 0, 48, 24},
		"slow":                                  {twoIn(25 * time.Second).stream, 1, availability, 6, 2, 0, 4},
		"slow, judged by latency":               {twoIn(25 * time.Second).stream, 1, latency, 6, 0, 2, 4},
		"refused late":                          {refused, 1, availability, 6, 0, 0, 4},
		"fails at once, so that nothing blocks": {answerStatus(http.StatusServiceUnavailable), 1, availability, 6, 0, 6, 0},
	} {
		inBubble(t, name, func(t *testing.T) {
			g, _ := newGroup(t, test.server)
			target := g.Members[0].target
			target.Timeout = 35 * time.Second // three slots begin in it
			g.Members[0] = NewMember(target, "m", test.inFlight)
			got := &events{objective: test.objective, skipped: map[Skip]int{}}
			g.Recorder = got
			g.rounds(t.Context(), t.Context(), test.slots)
			equal(t, "good, bad and skipped", []int{test.good, test.bad, test.skipped},
				[]int{got.good, got.bad, got.skipped[SkipOverlap]})
		})
	}
}

// answerStatus is a server that answers with a status and no more.
func answerStatus(status int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }
}
