package bench

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/llm-prober/prober/internal/probe"
	"github.com/llm-prober/prober/internal/schedule"
	"github.com/llm-prober/prober/internal/wire"
)

// A testGroup is a group of simulated servers, and what a step did to them.
type testGroup struct {
	group *probe.Group
	began time.Time

	mu       sync.Mutex // guards all below
	results  []*probe.Result
	skipped  map[string]int // by target and reason
	parts    [][]int
	first    uint64        // round
	writing  time.Duration // that it takes to write a question
	prepared int
	tooEarly []uint64 // rounds that were asked before they were prepared
}

// newTestGroup returns servers that need 20 ms for the first token and 1 ms for each other, and send ten tokens. One
// with the name "refusing" refuses connections, and one with the name "overloaded" says so after 300 ms. Each has a
// budget of tokens a day; 0 is no limit. It is for bubbles.
func newTestGroup(t *testing.T, budget int, names ...string) *testGroup {
	t.Helper()
	g := &testGroup{began: time.Now()}
	g.group = &probe.Group{Interval: time.Second, Questions: g, Recorder: g}
	dialect, err := wire.Lookup("openai-chat")
	if err != nil {
		t.Fatal(err)
	}
	r := newRig(t, "fast")
	for _, name := range names {
		r.servers.Serve(name, "fast")
		g.group.Members = append(g.group.Members, probe.NewMember(probe.Target{
			Name: name, URL: "http://" + name, Dialect: dialect,
			Transport: probe.NewTransport(probe.Route{Dial: r.servers.Dial}),
			Timeout:   time.Minute, Stall: time.Minute, DayLimit: budget,
		}, "meta-llama/Llama-3.1-8B-Instruct", 1<<30))
	}
	r.servers.Down("refusing")
	r.servers.Answer("overloaded", func(w http.ResponseWriter, _ *http.Request) {
		time.Sleep(300 * time.Millisecond)
		w.WriteHeader(http.StatusServiceUnavailable)
	})
	return g
}

// Prompt implements [probe.Questions].
func (g *testGroup) Prompt(round uint64) (name string, before uint64) { return "cold", round }

// Next implements [probe.Questions]: prompts of 20 tokens, and answers of ten.
func (g *testGroup) Next(_ context.Context, _ int, round uint64) (probe.Question, *probe.Result, probe.Skip) {
	time.Sleep(g.writing)
	g.mu.Lock()
	defer g.mu.Unlock()
	if uint64(g.prepared) <= round-g.first {
		g.tooEarly = append(g.tooEarly, round)
	}
	prompt := fmt.Sprintf("Words of round %d", round)
	return probe.Question{Ask: wire.Ask{Prompt: prompt, MaxTokens: 10}, Tokens: 20}, nil, ""
}

// Answered implements [probe.Questions].
func (g *testGroup) Answered(int, uint64, *probe.Result) {}

func (g *testGroup) Record(r *probe.Result) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.results = append(g.results, r)
}

func (g *testGroup) Skipped(target, _ string, reason probe.Skip) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.skipped == nil {
		g.skipped = map[string]int{}
	}
	g.skipped[target+" "+string(reason)]++
}

// run runs a step and returns the round after it.
func (g *testGroup) run(ctx context.Context, load Load, first uint64, lead int) uint64 {
	s := sender{
		group: g.group,
		load:  load,
		prepare: func(context.Context) {
			g.mu.Lock()
			defer g.mu.Unlock()
			g.prepared++
		},
		watch: func(members []int, run func()) {
			g.parts = append(g.parts, members)
			run()
		},
	}
	g.first = first
	return s.run(ctx, first, lead)
}

// starts returns when the requests to each target began.
func (g *testGroup) starts() map[string][]time.Duration {
	starts := map[string][]time.Duration{}
	for _, r := range g.results {
		starts[r.Target] = append(starts[r.Target], r.Start.Sub(g.began))
	}
	for _, list := range starts {
		slices.Sort(list)
	}
	return starts
}

// rounds returns the rounds of the requests to each target.
func (g *testGroup) rounds() map[string][]uint64 {
	rounds := map[string][]uint64{}
	for _, r := range g.results {
		rounds[r.Target] = append(rounds[r.Target], r.Round)
	}
	for _, list := range rounds {
		slices.Sort(list)
	}
	return rounds
}

// answer is how long a simulated answer takes, in milliseconds.
const answer = 29

var everySecond = schedule.Plan{Interval: time.Second, Name: "bench"}

// TestStarts holds when requests begin, in milliseconds, and in which parts a step watches its members.
func TestStarts(t *testing.T) {
	for name, test := range map[string]struct {
		load    Load
		lead    int
		budget  int                        // tokens; a request has 30
		starts  map[string][]time.Duration // of each member
		parts   [][]int
		skipped map[string]int
	}{
		"by the clock, members ask in turns": {
			load:   Load{ByTheClock: true, Plan: everySecond, Requests: 3},
			starts: map[string][]time.Duration{"a": ms(10, 1010+answer, 2010), "b": ms(10+answer, 1010, 2010+answer)},
			parts:  [][]int{{0, 1}},
		},
		"all at once, one member after the other, b first": {
			load:   Load{Requests: 3},
			lead:   1,
			starts: map[string][]time.Duration{"a": ms(answer, answer, answer), "b": ms(0, 0, 0)},
			parts:  [][]int{{1}, {0}},
		},
		"two workers ask when they are answered": {
			load:   Load{Concurrency: 2, Requests: 5},
			starts: map[string][]time.Duration{"a": ms(0, 0, answer, answer, 2*answer)},
			parts:  [][]int{{0}},
		},
		"a request under way goes on when the time is over": {
			load:   Load{Concurrency: 1, Limit: 60 * time.Millisecond},
			starts: map[string][]time.Duration{"a": ms(0, answer, 2*answer)},
			parts:  [][]int{{0}},
		},
		"a server that rejects is not hammered": {
			load:   Load{Concurrency: 1, Limit: 2500 * time.Millisecond},
			starts: map[string][]time.Duration{"refusing": ms(0, 1000, 2000)},
			parts:  [][]int{{0}},
		},
		"a server that rejects after a while is asked as often": {
			load:   Load{Concurrency: 1, Limit: 2500 * time.Millisecond},
			starts: map[string][]time.Duration{"overloaded": ms(0, 1000, 2000)},
			parts:  [][]int{{0}},
		},
		"a server that rejects gets its number of requests at once": {
			load:   Load{Concurrency: 1, Requests: 3},
			starts: map[string][]time.Duration{"refusing": ms(0, 0, 0)},
			parts:  [][]int{{0}},
		},
		"a spent budget ends the step, which would spin": {
			load:    Load{Concurrency: 1, Limit: time.Hour},
			budget:  70,
			starts:  map[string][]time.Duration{"a": ms(0, answer)},
			parts:   [][]int{{0}},
			skipped: map[string]int{"a budget": 1},
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := newTestGroup(t, test.budget, slices.Sorted(maps.Keys(test.starts))...)
				g.run(t.Context(), test.load, 0, test.lead)
				equal(t, "starts", g.starts(), test.starts)
				equal(t, "parts", g.parts, test.parts)
				equal(t, "skipped", g.skipped, test.skipped)
			})
		})
	}
}

// TestRounds holds that every round is new and prepared before it is asked, and that no request is late without
// a clock, however long it takes to write its prompt.
func TestRounds(t *testing.T) {
	for name, load := range map[string]Load{
		"by the clock": {ByTheClock: true, Plan: everySecond, Requests: 3},
		"closed loop":  {Concurrency: 2, Requests: 3},
		"all at once":  {Requests: 3},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := newTestGroup(t, 0, "a", "b")
				g.writing = time.Millisecond
				const first = 7
				next := g.run(t.Context(), load, first, 0)
				equal(t, "rounds", g.rounds(), map[string][]uint64{"a": {7, 8, 9}, "b": {7, 8, 9}})
				equal(t, "rounds that were not prepared", len(g.tooEarly), 0)
				if next < first+3 {
					t.Errorf("the next step begins with round %d, which was asked", next)
				}
				for _, r := range g.results {
					if !load.ByTheClock {
						equal(t, "schedule delay", r.ScheduleDelay(), time.Duration(0))
					}
				}
			})
		})
	}
}

// TestInterruptedSteps holds that an interrupt ends a step and the requests under way at once.
func TestInterruptedSteps(t *testing.T) {
	for name, test := range map[string]struct {
		target string
		load   Load
		after  time.Duration
		starts []time.Duration
	}{
		"by the clock": {
			"a", Load{ByTheClock: true, Plan: everySecond, Requests: 1000}, 1500 * time.Millisecond, ms(10, 1010),
		},
		"closed loop": {"a", Load{Concurrency: 2, Requests: 1000}, 40 * time.Millisecond, ms(0, 0, answer, answer)},
		"waiting to ask a server again that rejects": {
			"refusing", Load{Concurrency: 1, Limit: time.Hour}, 1500 * time.Millisecond, ms(0, 1000),
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := newTestGroup(t, 0, test.target)
				ctx, cancel := context.WithTimeout(t.Context(), test.after)
				defer cancel()
				g.run(ctx, test.load, 0, 0)
				equal(t, "duration", time.Since(g.began), test.after)
				equal(t, "starts", g.starts()[test.target], test.starts)
			})
		})
	}
}

// A standstill is a context whose Err stands still for a while at its first call, as a process without a processor.
type standstill struct {
	context.Context
	pause atomic.Int64 // nanoseconds; 0 once it is over
}

func (s *standstill) Err() error {
	time.Sleep(time.Duration(s.pause.Swap(0)))
	return s.Context.Err()
}

// TestLateRoundsAreCounted holds that rounds whose time is over are not made up for, and that the recorder gets them.
func TestLateRoundsAreCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newTestGroup(t, 0, "a", "b")
		late := &standstill{Context: t.Context()}
		late.pause.Store(int64(2500 * time.Millisecond)) // from the first round on, at 10 ms
		g.run(late, Load{ByTheClock: true, Plan: everySecond, Requests: 5}, 0, 0)
		equal(t, "rounds", g.rounds(), map[string][]uint64{"a": {2, 3, 4}, "b": {2, 3, 4}})
		equal(t, "skipped", g.skipped, map[string]int{"a late": 2, "b late": 2})
	})
}
