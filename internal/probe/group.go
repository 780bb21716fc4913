package probe

import (
	"context"
	"errors"
	"sync"
	"time"
)

// A Group is targets that answer the same prompts: in each round one after another, in rotating order.
type Group struct {
	Members   []*Member
	Interval  time.Duration // between rounds; each member has its share of it
	Questions Questions
	Recorder  Recorder
}

// Questions are what the members of a group are asked. They are safe for concurrent use.
type Questions interface {
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
	Skipped(target string, reason Skip)
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

	turn := due
	for place := range g.Members {
		i := (place + int(round%uint64(len(g.Members)))) % len(g.Members)
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
	f, reason := m.begin()
	blocked := 0
	if reason == "" {
		r, reason = g.ask(ctx, i, round, f)
		blocked = m.end(f)
	}
	if reason != "" {
		g.Recorder.Skipped(m.Name(), reason)
		return nil, reason
	}
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
func (g *Group) Late() {
	for _, m := range g.Members {
		if !m.Disabled.Load() {
			g.Recorder.Skipped(m.Name(), SkipLate)
		}
	}
}
