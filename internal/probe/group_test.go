package probe

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/llm-prober/prober/internal/wire"
)

// log is what a group reported: a line a result or skip, with the second at which it was due.
type log struct {
	epoch time.Time

	mu      sync.Mutex
	lines   []string
	results []*Result
}

func (l *log) Record(r *Result) {
	if r.Outcome == Canceled {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.results = append(l.results, r)
	l.lines = append(l.lines, fmt.Sprintf("%s %s round %d due %v start %v", r.Target, r.Outcome, r.Round, r.Due.Sub(l.epoch), r.Start.Sub(l.epoch)))
}

func (l *log) Skipped(target string, reason Skip) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, fmt.Sprintf("%s skipped: %s at %v", target, reason, time.Since(l.epoch)))
}

// newGroup is a group with an interval of ten seconds.
func newGroup(l *log, members ...*Member) *Group {
	return &Group{
		Members: members, Interval: 10 * time.Second, Output: 2,
		Ask: func(round uint64) Question {
			return Question{Ask: wire.Ask{Prompt: fmt.Sprintf("round %d", round)}, Expect: Expectation{Length: 80}, Learn: func(int) {}, Refuse: func() {}}
		},
		Recorder: l,
	}
}

// newMember is a member whose server answers with s.
func newMember(t *testing.T, name string, s script) *Member {
	target := serve(t, s.stream)
	target.Name = name
	return NewMember(target, "m", 1)
}

// answer takes so long for two tokens.
func answer(took time.Duration) script {
	return slices.Concat(tokens(2, took/2), script{{0, data(limit, usage(80, 2), done), goOn}})
}

// rounds runs rounds 0 to n−1, each when it is due.
func (g *Group) rounds(ctx context.Context, n uint64) {
	var running sync.WaitGroup
	defer running.Wait()
	epoch := time.Now()
	for round := range n {
		due := epoch.Add(time.Duration(round) * g.Interval)
		time.Sleep(time.Until(due))
		running.Go(func() { g.Round(ctx, ctx, round, due) })
	}
}

// TestGroupTakesTurns holds that members are asked one after another, that a hanging one costs the others at most its
// share of the interval and itself its slots, and that no more tokens are spent in a day than allowed.
func TestGroupTakesTurns(t *testing.T) {
	const budget = 2 * 82 // tokens: two questions with their answers
	second := answer(time.Second)
	for name, test := range map[string]struct {
		members []script
		limit   int      // tokens of a day for the first; 0: any number
		want    []string // of three rounds
	}{
		"turns": {[]script{second, answer(2 * time.Second)}, 0, []string{
			"a ok round 0 due 0s start 0s", "b ok round 0 due 1s start 1s",
			"b ok round 1 due 10s start 10s", "a ok round 1 due 12s start 12s",
			"a ok round 2 due 20s start 20s", "b ok round 2 due 21s start 21s",
		}},
		"a hanging member": {[]script{{{0, "", hang}}, second}, 0, []string{
			"b ok round 0 due 5s start 5s",
			"b ok round 1 due 10s start 10s", "a skipped: overlap at 11s",
			"a skipped: overlap at 20s", "b ok round 2 due 20s start 20s",
			"a timeout round 0 due 0s start 0s",
		}},
		"a budget": {[]script{second}, budget, []string{
			"a ok round 0 due 0s start 0s", "a ok round 1 due 10s start 10s", "a skipped: budget at 20s",
		}},
	} {
		inBubble(t, name, func(t *testing.T) {
			l := &log{epoch: time.Now()}
			g := newGroup(l)
			for i, s := range test.members {
				g.Members = append(g.Members, newMember(t, string(rune('a'+i)), s))
			}
			g.Members[0].target.DayLimit = test.limit
			g.rounds(t.Context(), 3)
			equal(t, "lines", test.want, l.lines)
			time.Sleep(24 * time.Hour)
			if !g.Members[0].Budget.Reserve(time.Now(), budget, budget) {
				t.Error("a new day has no budget")
			}
		})
	}
}

// TestQuestionIsWrittenForThoseWhoAskIt holds that a slot without a probe costs no prompt, and that a round has one
// for all of its members.
func TestQuestionIsWrittenForThoseWhoAskIt(t *testing.T) {
	hanging := script{{0, "", hang}}
	for _, test := range []struct {
		name   string
		others []script
		want   []uint64 // rounds for which a prompt was written
	}{
		{"alone", nil, []uint64{0}},
		{"one of two", []script{answer(time.Second)}, []uint64{0, 1, 2}},
	} {
		inBubble(t, test.name, func(t *testing.T) {
			g := newGroup(&log{}, newMember(t, "a", hanging))
			for _, s := range test.others {
				g.Members = append(g.Members, newMember(t, "b", s))
			}
			var mu sync.Mutex
			var written []uint64
			ask := g.Ask
			g.Ask = func(round uint64) Question {
				mu.Lock()
				defer mu.Unlock()
				written = append(written, round)
				return ask(round)
			}
			g.rounds(t.Context(), 3)
			equal(t, "prompts of rounds", test.want, written)
		})
	}
}

func TestGroupStops(t *testing.T) {
	inBubble(t, "stop", func(t *testing.T) {
		l := &log{epoch: time.Now()}
		g := newGroup(l, newMember(t, "a", answer(2*time.Second)), newMember(t, "b", answer(time.Second)))
		starts, stop := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, stop)
		g.Round(starts, t.Context(), 0, time.Now())
		if want := []string{"a ok round 0 due 0s start 0s"}; !slices.Equal(l.lines, want) {
			t.Errorf("%q, want the running probe to end and no other to begin", l.lines)
		}
	})
	inBubble(t, "cancel", func(t *testing.T) {
		l := &log{epoch: time.Now()}
		g := newGroup(l, newMember(t, "a", answer(time.Minute)))
		probes, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		g.Round(t.Context(), probes, 0, time.Now())
		if len(l.lines) != 0 || time.Since(l.epoch) != time.Second {
			t.Errorf("%q after %v, want nothing counted", l.lines, time.Since(l.epoch))
		}
	})
}

// TestGroupAsksAllTheSame holds that members of a round get one prompt, and that only the first is judged by its
// length.
func TestGroupAsksAllTheSame(t *testing.T) {
	inBubble(t, "ask", func(t *testing.T) {
		l, learnt := &log{epoch: time.Now()}, []int{}
		short := slices.Concat(tokens(2, ms), script{{0, data(limit, usage(70, 2), done), goOn}})
		g := newGroup(l, newMember(t, "a", answer(time.Second)), newMember(t, "b", short))
		learn := func(n int) { learnt = append(learnt, n) }
		g.Ask = func(uint64) Question {
			return Question{Ask: wire.Ask{Prompt: "x"}, Expect: Expectation{PromptTokens: wire.Tokens(80), Length: 80}, Learn: learn, Refuse: func() {}}
		}
		g.rounds(t.Context(), 2)
		for _, r := range l.results {
			endsAs(t, r, OK, "")
		}
		equal(t, "learnt from the first member", []int{80, 80}, learnt)
	})
}

// TestGroupSurvivesAPanic holds that a panic of ours while a prompt is written, or while its writer is told what the
// server counted, fails the probes of that round and nothing else.
func TestGroupSurvivesAPanic(t *testing.T) {
	inBubble(t, "panic", func(t *testing.T) {
		l := &log{epoch: time.Now()}
		g := newGroup(l, newMember(t, "a", answer(time.Second)), newMember(t, "b", answer(time.Second)))
		write := g.Ask
		g.Ask = func(round uint64) Question {
			q := write(round)
			switch round {
			case 0:
				panic("written")
			case 1:
				q.Learn = func(int) { panic("learnt") }
			}
			return q
		}
		g.rounds(t.Context(), 3)
		want := []string{
			"a malformed round 0 due 0s start 0s", "b malformed round 0 due 0s start 0s",
			"b ok round 1 due 10s start 10s", "a malformed round 1 due 11s start 11s",
			"a ok round 2 due 20s start 20s", "b ok round 2 due 21s start 21s",
		}
		equal(t, "lines", want, l.lines)
		if err := l.results[0].Err; !strings.Contains(err.Error(), "prober panicked, please report it: written") {
			t.Error(err)
		}
	})
}

// TestMembersRestAsAsked holds that a server which turns probes away is left alone for as long as it asks, up to the
// limit, while the others are probed, and that the slots it goes without are counted.
func TestMembersRestAsAsked(t *testing.T) {
	tests := []struct {
		name       string
		retryAfter string
		limit      time.Duration
		want       []string // of the busy member, by slot
	}{
		{"for 25 seconds", "25", time.Minute, []string{"rate_limited", "backoff", "backoff", "rate_limited", "backoff", "backoff"}},
		{"up to the limit", "3600", 12 * time.Second, []string{"rate_limited", "backoff", "rate_limited", "backoff", "rate_limited", "backoff"}},
		{"not at all", "25", 0, slices.Repeat([]string{"rate_limited"}, 6)},
		{"not asked to", "", time.Minute, slices.Repeat([]string{"rate_limited"}, 6)},
	}
	for _, test := range tests {
		inBubble(t, test.name, func(t *testing.T) {
			target := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				if test.retryAfter != "" {
					w.Header().Set("Retry-After", test.retryAfter)
				}
				w.WriteHeader(http.StatusTooManyRequests)
			})
			target.Name, target.Backoff = "busy", test.limit
			l := &log{}
			g := newGroup(l, NewMember(target, "m", 1), newMember(t, "well", answer(ms)))
			g.rounds(t.Context(), 6)
			slots := map[string][]string{}
			for _, line := range l.lines {
				words := strings.Fields(strings.Replace(line, "skipped: ", "", 1))
				slots[words[0]] = append(slots[words[0]], words[1])
			}
			equal(t, "slots", map[string][]string{"busy": test.want, "well": slices.Repeat([]string{"ok"}, 6)}, slots)
		})
	}
}
