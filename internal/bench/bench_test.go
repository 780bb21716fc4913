package bench

import (
	"context"
	"fmt"
	"net"
	"slices"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/llm-prober/prober/internal/probe"
	"github.com/llm-prober/prober/internal/schedule"
	"github.com/llm-prober/prober/internal/sim"
	"github.com/llm-prober/prober/internal/wire"
)

// A world is a group of simulated servers and what a step did to them.
type world struct {
	group *probe.Group
	began time.Time

	mu      sync.Mutex
	results map[string][]*probe.Result
	skipped []string
	parts   [][]int
	ready   []uint64
}

// inWorld runs a test in virtual time, with servers that need 20 ms for the first
// token and 1 ms for each other, and give ten.
func inWorld(t *testing.T, names []string, budget int, test func(t *testing.T, w *world)) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{results: map[string][]*probe.Result{}, began: time.Now()}
		w.group = &probe.Group{
			Interval: time.Second, Output: 10, Recorder: w,
			Ask: func(round uint64) probe.Question {
				return probe.Question{Ask: wire.Ask{Prompt: fmt.Sprintf("Words of round %d", round)}, Expect: probe.Expectation{Length: 20}, Learn: func(int) {}, Refuse: func() {}}
			},
		}
		for _, name := range names {
			c := simConfig(t, "fast", 1)
			r := newRig(t, map[string]sim.Config{name: c})
			w.group.Members = append(w.group.Members, member(t, name, c.Profile.Model, budget, r.dial))
		}
		test(t, w)
	})
}

// member is a target that is dialled in memory.
func member(t *testing.T, name, model string, budget int, dial probe.Dial) *probe.Member {
	dialect, err := wire.Lookup("openai-chat")
	if err != nil {
		t.Fatal(err)
	}
	return probe.NewMember(probe.Target{
		Name: name, URL: "http://" + name, Dialect: dialect, Transport: probe.NewTransport(probe.Route{Dial: dial}),
		Timeout: time.Minute, Stall: time.Minute, DayLimit: budget,
	}, model, 1<<30)
}

func (w *world) Record(r *probe.Result) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.results[r.Target] = append(w.results[r.Target], r)
}

func (w *world) Skipped(target string, reason probe.Skip) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.skipped = append(w.skipped, target+" "+string(reason))
}

// run runs a step and returns the round after it.
func (w *world) run(ctx context.Context, load Load, first uint64, lead int) uint64 {
	ready := func(_ context.Context, round uint64) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.ready = append(w.ready, round)
	}
	begin := func(members []int) { w.parts = append(w.parts, members) }
	s := step{w.group, load, ready, begin, func([]int, time.Duration) {}}
	return s.run(ctx, first, lead)
}

// starts are when the requests of a target began, since the world did.
func (w *world) starts(target string) []time.Duration {
	var list []time.Duration
	for _, r := range w.results[target] {
		list = append(list, r.Start.Sub(w.began))
	}
	slices.Sort(list)
	return list
}

// rounds are the rounds of a target, sorted.
func (w *world) rounds(target string) []uint64 {
	var list []uint64
	for _, r := range w.results[target] {
		list = append(list, r.Round)
	}
	slices.Sort(list)
	return list
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
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// answer is how long a simulated answer takes.
const answer = 29 * time.Millisecond

func TestByTheClock(t *testing.T) {
	inWorld(t, []string{"a", "b"}, 0, func(t *testing.T, w *world) {
		load := Load{Plan: schedule.Plan{Interval: time.Second, Name: "bench"}, Requests: 3}
		next := w.run(t.Context(), load, 7, 0)
		equal(t, "starts of a", w.starts("a"), ms(10+29, 1010, 2010+29)) // the order rotates
		equal(t, "starts of b", w.starts("b"), ms(10, 1010+29, 2010))
		equal(t, "rounds", w.rounds("b"), []uint64{7, 8, 9})
		equal(t, "parts", w.parts, [][]int{{0, 1}})
		if next < 10 {
			t.Errorf("round %d is not new", next)
		}
	})
}

func TestAllAtOnce(t *testing.T) {
	inWorld(t, []string{"a", "b"}, 0, func(t *testing.T, w *world) {
		next := w.run(t.Context(), Load{Requests: 3}, 4, 1)
		equal(t, "starts of b, which leads", w.starts("b"), ms(0, 0, 0))
		equal(t, "starts of a", w.starts("a"), ms(29, 29, 29))
		equal(t, "rounds of a", w.rounds("a"), []uint64{4, 5, 6})
		equal(t, "rounds of b", w.rounds("b"), []uint64{4, 5, 6})
		equal(t, "parts", w.parts, [][]int{{1}, {0}})
		equal(t, "next round", next, uint64(7))
		for _, r := range w.results["b"] {
			if r.ScheduleDelay() != 0 || r.Outcome != probe.OK {
				t.Errorf("%s, %v late", r.Outcome, r.ScheduleDelay())
			}
		}
	})
}

func TestClosedLoop(t *testing.T) {
	inWorld(t, []string{"a"}, 0, func(t *testing.T, w *world) {
		w.run(t.Context(), Load{Concurrency: 2, Requests: 5}, 0, 0)
		equal(t, "starts", w.starts("a"), ms(0, 0, 29, 29, 58))
		equal(t, "rounds", w.rounds("a"), []uint64{0, 1, 2, 3, 4})
		for _, r := range w.results["a"] {
			equal(t, "delay", r.ScheduleDelay(), time.Duration(0)) // each was due when there was room for it
		}
		slices.Sort(w.ready)
		equal(t, "rounds that were made ready", w.ready, []uint64{0, 1, 2, 3, 4})
	})
}

func TestMoreConcurrencyThanRequests(t *testing.T) {
	inWorld(t, []string{"a"}, 0, func(t *testing.T, w *world) {
		w.run(t.Context(), Load{Concurrency: 8, Requests: 3}, 0, 0)
		equal(t, "starts", w.starts("a"), ms(0, 0, 0))
	})
}

// TestForATime holds that those under way at the end of the time go on, and no
// other begins.
func TestForATime(t *testing.T) {
	inWorld(t, []string{"a"}, 0, func(t *testing.T, w *world) {
		w.run(t.Context(), Load{Concurrency: 1, Limit: 60 * time.Millisecond}, 0, 0)
		equal(t, "starts", w.starts("a"), ms(0, 29, 58))
		equal(t, "time", time.Since(w.began), 58*time.Millisecond+answer)
	})
	inWorld(t, []string{"a"}, 0, func(t *testing.T, w *world) {
		load := Load{Plan: schedule.Plan{Interval: time.Second, Name: "x"}, Limit: 3 * time.Second}
		w.run(t.Context(), load, 0, 0)
		equal(t, "starts by the clock", w.starts("a"), ms(10, 1010, 2010))
	})
}

// TestAnInterruptEndsAll holds that nothing hangs and nothing new begins.
func TestAnInterruptEndsAll(t *testing.T) {
	for name, load := range map[string]Load{
		"by the clock": {Plan: schedule.Plan{Interval: 10 * time.Millisecond}, Requests: 1000},
		"closed loop":  {Concurrency: 3, Requests: 1000},
		"for ever":     {Concurrency: 3, Limit: time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, []string{"a", "b"}, 0, func(t *testing.T, w *world) {
				ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
				defer cancel()
				w.run(ctx, load, 0, 0)
				if took := time.Since(w.began); took != 100*time.Millisecond {
					t.Errorf("ended after %v", took)
				}
				if len(w.results["a"]) == 0 {
					t.Error("nothing was measured before")
				}
			})
		})
	}
}

// TestAServerThatRejectsIsNotHammered holds that a request that fails at once keeps its
// slot, unless their number ends the step.
func TestAServerThatRejectsIsNotHammered(t *testing.T) {
	inWorld(t, []string{"a"}, 0, func(t *testing.T, w *world) {
		w.group.Members[0] = refusing(t)
		w.run(t.Context(), Load{Concurrency: 1, Limit: 2500 * time.Millisecond}, 0, 0)
		equal(t, "starts within a time", w.starts("a"), ms(0, 1000, 2000))
	})
	inWorld(t, []string{"a"}, 0, func(t *testing.T, w *world) {
		w.group.Members[0] = refusing(t)
		w.run(t.Context(), Load{Concurrency: 1, Requests: 3}, 0, 0)
		equal(t, "starts of a number", w.starts("a"), ms(0, 0, 0))
	})
}

// refusing is a member that refuses connections.
func refusing(t *testing.T) *probe.Member {
	return member(t, "a", "m", 0, func(context.Context, string, string) (net.Conn, error) { return nil, syscall.ECONNREFUSED })
}

// TestASpentBudgetEndsAStep: a slot that is skipped takes no time, so that going
// on would spin.
func TestASpentBudgetEndsAStep(t *testing.T) {
	inWorld(t, []string{"a"}, 70, func(t *testing.T, w *world) { // 30 tokens a request
		w.run(t.Context(), Load{Concurrency: 1, Limit: time.Hour}, 0, 0)
		equal(t, "starts", w.starts("a"), ms(0, 29))
		equal(t, "skips", w.skipped, []string{"a budget"})
	})
}
