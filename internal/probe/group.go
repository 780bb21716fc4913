package probe

import (
	"context"
	"errors"
	"sync"
	"time"
)

// A Group is targets that answer the same prompts: in each round one after another. The order rotates from round to
// round of each prompt, so that no member is always the first to answer one of them.
type Group struct {
	Members   []*Member
	Interval  time.Duration // between rounds; each member has its share of it
	Questions Questions
	Recorder  Recorder
}

// Questions are what the members of a group are asked: in each round one of several prompts, in rotation. They are safe
// for concurrent use.
type Questions interface {
	// Prompt returns the name of the prompt that is asked in a round, and in how many earlier rounds it was.
	Prompt(round uint64) (name string, before uint64)
	// Next returns what a member is asked in a round: the same prompt for all members. It is called in a slot of the
	// member, and may send requests of its own to make the prompt as long as configured, within the member's budget;
	// they are not recorded. If there is no question, either one of these requests has failed, and is the result of the
	// slot, or skip says why the slot is skipped.
	Next(ctx context.Context, member int, round uint64) (q Question, failed *Result, skip Skip)
	// Answered takes the result of a question of [Questions.Next]. The result is only read.
	Answered(member int, round uint64, r *Result)
}

// A Recorder takes what comes of probes, the canceled included. It is safe for concurrent use.
type Recorder interface {
	Record(r *Result)
	Skipped(target, prompt string, reason Skip)
}

// A Skip is why a slot went without a probe.
type Skip string

// The reasons to skip.
const (
	SkipOverlap  Skip = "overlap"  // as many probes as allowed were still in flight
	SkipBudget   Skip = "budget"   // the day's tokens were spent
	SkipLate     Skip = "late"     // the next slot was due as well
	SkipBackoff  Skip = "backoff"  // the server had asked for a pause
	SkipWaiting  Skip = "waiting"  // the server was not ready yet, or the length of its prompts not known
	SkipDraining Skip = "draining" // the servers are about to stop
	SkipStuck    Skip = "stuck"    // requests that did not return at their limit have not since: see [Member.Stuck]
)

// Skips returns every reason to skip.
func Skips() []Skip {
	return []Skip{SkipOverlap, SkipBudget, SkipLate, SkipBackoff, SkipWaiting, SkipDraining, SkipStuck}
}

// Round asks every member the question of a round, which is due at due. A member's turn starts when the one before it
// is done, and at the latest after its share of the interval. No turn starts once starts is done; a probe in flight
// goes on until probes is done. Round returns when all are done.
func (g *Group) Round(starts, probes context.Context, round uint64, due time.Time) {
	share := g.Interval / time.Duration(len(g.Members))
	var running sync.WaitGroup
	defer running.Wait()

	_, before := g.Questions.Prompt(round)
	lead := int(before % uint64(len(g.Members)))
	turn := due
	for place := range g.Members {
		i := (lead + place) % len(g.Members)
		begins := turn
		shareEnds := due.Add(share * time.Duration(place+1))
		wait, isDone := context.WithDeadline(starts, shareEnds)
		running.Go(func() {
			g.Turn(probes, i, round, begins)
			isDone()
		})
		if place == len(g.Members)-1 {
			return
		}
		<-wait.Done()
		if starts.Err() != nil {
			return
		}
		turn = time.Now() // the member is done
		if errors.Is(wait.Err(), context.DeadlineExceeded) {
			turn = shareEnds
		}
	}
}

// Turn asks member i the question of a round, which is due at due. The result is only read. It is nil if the slot was
// skipped, which has a reason, or if the member is disabled, which has none.
func (g *Group) Turn(ctx context.Context, i int, round uint64, due time.Time) (r *Result, reason Skip) {
	m := g.Members[i]
	if m.Disabled.Load() {
		return nil, ""
	}
	prompt, _ := g.Questions.Prompt(round)
	f, reason := m.begin(prompt)
	var blocked map[string]int
	if reason == "" {
		r, reason = g.ask(ctx, i, round, f)
		blocked = m.end(f)
	}
	if reason != "" {
		g.Recorder.Skipped(m.Name(), prompt, reason)
		return nil, reason
	}
	r.Prompt = prompt
	r.Due = due
	r.Round = round
	r.Blocked = blocked
	g.Recorder.Record(r) // from now on, r is only read
	return r, ""
}

// ask asks member i the question of a round, if there is one and tokens of the day are left.
func (g *Group) ask(ctx context.Context, i int, round uint64, f *flight) (r *Result, reason Skip) {
	m := g.Members[i]
	defer m.survive(&r, f.start)
	q, failed, reason := g.Questions.Next(ctx, i, round)
	if failed != nil || reason != "" {
		return failed, reason
	}
	q.flight = f
	r, ok := m.ProbeWithinBudget(ctx, q)
	if !ok {
		return nil, SkipBudget
	}
	g.Questions.Answered(i, round, r)
	return r, ""
}

// Late counts a round that was skipped because the next one was due: for every member that is not disabled.
func (g *Group) Late(round uint64) {
	prompt, _ := g.Questions.Prompt(round)
	for _, m := range g.Members {
		if !m.Disabled.Load() {
			g.Recorder.Skipped(m.Name(), prompt, SkipLate)
		}
	}
}
