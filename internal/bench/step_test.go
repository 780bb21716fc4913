package bench

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net"
	"slices"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/llm-prober/prober/internal/probe"
	"github.com/llm-prober/prober/internal/schedule"
	"github.com/llm-prober/prober/internal/sim"
	"github.com/llm-prober/prober/internal/wire"
)

// A testGroup is a group of simulated servers, and what a step did to them.
type testGroup struct {
	group *probe.Group
	began time.Time

	mu       sync.Mutex
	results  []*probe.Result
	skipped  []string
	parts    [][]int
	prepared []uint64
}

// newTestGroup returns servers that need 20 ms for the first token and 1 ms for each other, and send ten tokens. A
// budget is how many tokens each has a day; 0 is no limit. It is for bubbles only.
func newTestGroup(t *testing.T, budget int, names ...string) *testGroup {
	g := &testGroup{began: time.Now()}
	g.group = &probe.Group{
		Interval: time.Second, Output: 10, Recorder: g,
		Ask: func(round uint64) probe.Question {
			return probe.Question{
				Ask:    wire.Ask{Prompt: fmt.Sprintf("Words of round %d", round)},
				Expect: probe.Expectation{Length: 20},
				Learn:  func(int) {},
			}
		},
	}
	dialect, err := wire.Lookup("openai-chat")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		c := simConfig(t, "fast", 1)
		dial := newRig(t, map[string]sim.Config{name: c}).dial
		if name == "refusing" {
			dial = func(context.Context, string, string) (net.Conn, error) { return nil, syscall.ECONNREFUSED }
		}
		g.group.Members = append(g.group.Members, probe.NewMember(probe.Target{
			Name: name, URL: "http://" + name, Dialect: dialect,
			Transport: probe.NewTransport(probe.Route{Dial: dial}),
			Timeout:   time.Minute, Stall: time.Minute, DayLimit: budget,
		}, c.Profile.Model, 1<<30))
	}
	return g
}

func (g *testGroup) Record(r *probe.Result) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.results = append(g.results, r)
}

func (g *testGroup) Skipped(target string, reason probe.Skip) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.skipped = append(g.skipped, target+" "+string(reason))
}

// run runs a step and returns the round after it.
func (g *testGroup) run(ctx context.Context, load Load, first uint64, lead int) uint64 {
	s := step{
		group: g.group,
		load:  load,
		prepare: func(_ context.Context, round uint64) {
			g.mu.Lock()
			defer g.mu.Unlock()
			g.prepared = append(g.prepared, round)
		},
		watch: func(members []int, run func()) {
			g.parts = append(g.parts, members)
			run()
		},
	}
	return s.run(ctx, first, lead)
}

func ms(n ...int) []time.Duration {
	var list []time.Duration
	for _, i := range n {
		list = append(list, time.Duration(i)*time.Millisecond)
	}
	return list
}

func equal(t *testing.T, what string, got, want any) {
	t.Helper()
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// answer is how long a simulated answer takes, in milliseconds.
const answer = 29

// TestSteps holds when requests begin, in milliseconds. Every round is new, and prepared before it is asked. Without a
// clock, no request is late. When the time of a step is over, requests under way go on; an interrupt ends them at once.
func TestSteps(t *testing.T) {
	plan := schedule.Plan{Interval: time.Second, Name: "bench"}
	for name, test := range map[string]struct {
		load   Load
		lead   int
		budget int                        // tokens; a request has 30
		end    time.Duration              // after which the run is interrupted
		starts map[string][]time.Duration // of each member
		parts  [][]int
	}{
		"by the clock, in turns": {load: Load{Plan: plan, Requests: 3}, parts: [][]int{{0, 1}},
			starts: map[string][]time.Duration{"a": ms(10+answer, 1010, 2010+answer), "b": ms(10, 1010+answer, 2010)}},
		"by the clock, for a time": {load: Load{Plan: plan, Limit: 3 * time.Second}, parts: [][]int{{0}},
			starts: map[string][]time.Duration{"a": ms(10, 1010, 2010)}},
		"all at once, b leads": {load: Load{Requests: 3}, lead: 1, parts: [][]int{{1}, {0}},
			starts: map[string][]time.Duration{"a": ms(answer, answer, answer), "b": ms(0, 0, 0)}},
		"closed loop": {load: Load{Concurrency: 2, Requests: 5}, parts: [][]int{{0}},
			starts: map[string][]time.Duration{"a": ms(0, 0, answer, answer, 2*answer)}},
		"more concurrency than requests": {load: Load{Concurrency: 8, Requests: 3}, parts: [][]int{{0}},
			starts: map[string][]time.Duration{"a": ms(0, 0, 0)}},
		"for a time": {load: Load{Concurrency: 1, Limit: 60 * time.Millisecond}, parts: [][]int{{0}},
			starts: map[string][]time.Duration{"a": ms(0, answer, 2*answer)}},
		"a server that rejects is not hammered": {
			load: Load{Concurrency: 1, Limit: 2500 * time.Millisecond}, parts: [][]int{{0}},
			starts: map[string][]time.Duration{"refusing": ms(0, 1000, 2000)}},
		"unless the number ends it": {load: Load{Concurrency: 1, Requests: 3}, parts: [][]int{{0}},
			starts: map[string][]time.Duration{"refusing": ms(0, 0, 0)}},
		"a spent budget ends it, which would spin": {
			load: Load{Concurrency: 1, Limit: time.Hour}, parts: [][]int{{0}}, budget: 70,
			starts: map[string][]time.Duration{"a": ms(0, answer)}},
		"by the clock, interrupted": {
			load: Load{Plan: plan, Requests: 1000}, parts: [][]int{{0}}, end: 1500 * time.Millisecond,
			starts: map[string][]time.Duration{"a": ms(10, 1010)}},
		"closed loop, interrupted": {
			load: Load{Concurrency: 2, Requests: 1000}, parts: [][]int{{0}}, end: 40 * time.Millisecond,
			starts: map[string][]time.Duration{"a": ms(0, 0, answer, answer)}},
		"for a time, interrupted": {
			load: Load{Concurrency: 1, Limit: time.Hour}, parts: [][]int{{0}}, end: 40 * time.Millisecond,
			starts: map[string][]time.Duration{"a": ms(0, answer)}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := newTestGroup(t, test.budget, slices.Sorted(maps.Keys(test.starts))...)
				const first = 7
				ctx, interrupt := context.WithTimeout(t.Context(), cmp.Or(test.end, 24*time.Hour))
				defer interrupt()
				next := g.run(ctx, test.load, first, test.lead)
				if took := time.Since(g.began); test.end > 0 && took != test.end {
					t.Errorf("an end after %v, but interrupted at %v", took, test.end)
				}
				starts, rounds := map[string][]time.Duration{}, map[string]uint64{}
				for _, r := range g.results {
					starts[r.Target] = append(starts[r.Target], r.Start.Sub(g.began))
					rounds[r.Target] += r.Round
					if r.Round < first || r.Round >= next || !slices.Contains(g.prepared, r.Round) {
						t.Errorf("round %d, of %d to %d, prepared %v", r.Round, first, next, g.prepared)
					}
					if !test.load.Planned() && r.ScheduleDelay() != 0 {
						t.Errorf("round %d was %v late", r.Round, r.ScheduleDelay())
					}
				}
				for target, list := range starts {
					slices.Sort(list)
					n := uint64(len(list))
					equal(t, "sum of the rounds", rounds[target], n*first+n*(n-1)/2)
				}
				equal(t, "starts", starts, test.starts)
				equal(t, "parts", g.parts, test.parts)
				equal(t, "skips because of the budget", slices.Contains(g.skipped, "a budget"), test.budget > 0)
			})
		})
	}
}
