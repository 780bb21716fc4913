package probe

import (
	"context"
	"errors"
	"sync"
	"time"
)

// A Group is targets that answer the same prompts: in each round one after another, in rotating order.
type Group struct {
	Members  []*Member
	Interval time.Duration // between rounds; each member has its share of it
	Output   int           // tokens asked of each answer
	Recorder Recorder
	Ask      func(round uint64) Question // writes the prompt of a round; safe for concurrent use

	// Fit makes the length of a round's prompt known, if it is not yet, by asking a member. It returns the result of a
	// request that failed, which is then the result of the slot; or the reason why the slot has no prompt to ask; or
	// neither, if the length is known. Its other requests are not recorded. It is safe for concurrent use. Nil: every
	// length will do.
	Fit func(ctx context.Context, member int, round uint64) (failed *Result, reason Skip)
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
// goes on until probes is done. The question is written for the first member that has a free slot. Round returns when
// all are done.
func (g *Group) Round(starts, probes context.Context, round uint64, due time.Time) {
	question := g.writtenOnce(round)
	share := g.Interval / time.Duration(len(g.Members))
	var running sync.WaitGroup
	defer running.Wait()

	turn := due
	for place := range g.Members {
		i := (place + int(round%uint64(len(g.Members)))) % len(g.Members)
		latest := due.Add(share * time.Duration(place+1)) // for the next turn
		wait, done := context.WithDeadline(starts, latest)
		begins := turn
		running.Go(func() {
			g.Turn(probes, i, question, round, begins)
			done()
		})
		if place == len(g.Members)-1 {
			return
		}
		<-wait.Done()
		turn = latest
		if errors.Is(wait.Err(), context.Canceled) { // the member is done
			turn = time.Now()
		}
		if starts.Err() != nil {
			return
		}
	}
}

// writtenOnce returns a function that writes the question of a round when the first member needs it, and then returns
// the same one. A question whose length is not known is written again: it may be known by then.
func (g *Group) writtenOnce(round uint64) func() Question {
	var mu sync.Mutex
	var question *Question
	return func() Question {
		mu.Lock()
		defer mu.Unlock()
		if question == nil || question.Unfit {
			written := g.Ask(round)
			question = &written
		}
		return *question
	}
}

// Turn asks member i the question of a round, which is due at due. The result is read only; nil if the slot was
// skipped, for a reason, or if the member is disabled, for none.
func (g *Group) Turn(
	ctx context.Context, i int, question func() Question, round uint64, due time.Time,
) (r *Result, reason Skip) {
	if g.Members[i].Disabled.Load() {
		return nil, ""
	}
	reason = g.Members[i].Skipping()
	if reason == "" {
		r, reason = g.attempt(ctx, i, question, round)
	}
	if reason != "" {
		g.Recorder.Skipped(g.Members[i].Name(), reason)
		return nil, reason
	}
	r.Due, r.Round = due, round
	g.Recorder.Record(r)
	return r, ""
}

// attempt asks member i the question of a round, if it may have one more in flight by then and has tokens left of the
// day.
func (g *Group) attempt(
	ctx context.Context, i int, question func() Question, round uint64,
) (r *Result, reason Skip) {
	probe, ok := g.Members[i].take()
	if !ok {
		return nil, SkipOverlap
	}
	r, reason = g.askMember(ctx, i, question, round, probe)
	blocked := g.Members[i].release(probe)
	if r != nil {
		r.Blocked = blocked
	}
	return r, reason
}

// askMember asks member i the question of a round, or only what makes its length known.
func (g *Group) askMember(
	ctx context.Context, i int, question func() Question, round uint64, probe *flight,
) (r *Result, reason Skip) {
	m := g.Members[i]
	defer m.survive(&r, probe.start)
	if g.Fit != nil {
		r, reason = g.Fit(ctx, i, round)
		if r != nil || reason != "" {
			return r, reason
		}
	}
	q := question()
	if q.Unfit {
		return nil, SkipWaiting
	}
	asked := q.forMember(i, g.Output)
	asked.flight = probe
	r, ok := m.ProbeWithinBudget(ctx, asked)
	if !ok {
		return nil, SkipBudget
	}
	if i == q.Judge && q.Learn != nil && (r.Outcome == OK || r.Outcome == WrongLength) {
		q.Learn(r.Usage.Prompt.N)
	}
	return r, ""
}

// Late counts a round that was skipped for every member that is not disabled.
func (g *Group) Late() {
	for _, m := range g.Members {
		if !m.Disabled.Load() {
			g.Recorder.Skipped(m.Name(), SkipLate)
		}
	}
}
