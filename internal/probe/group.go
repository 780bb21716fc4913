package probe

import (
	"context"
	"sync"
	"time"
)

// A Group is targets that answer the same prompts: in each round one after
// another, in an order that rotates. A lone target is a group of one.
type Group struct {
	Members  []*Member
	Interval time.Duration // between rounds; each member has its share of it
	Output   int           // tokens asked of each answer

	// These are called concurrently.
	Ask     func(round uint64) Question // writes the prompt of a round
	Record  func(*Result)               // takes every result but the canceled
	Cut     func(*Result)               // takes the canceled; nil: they are dropped
	Skipped func(target string, reason Skip)
}

// A Skip is why a slot went without a probe.
type Skip string

// The reasons to skip.
const (
	SkipOverlap  Skip = "overlap"  // as many probes as allowed were still in flight
	SkipBudget   Skip = "budget"   // the day's tokens were spent
	SkipLate     Skip = "late"     // the next slot was due as well
	SkipBackoff  Skip = "backoff"  // the server had asked for a pause
	SkipWaiting  Skip = "waiting"  // the server was not ready yet
	SkipDraining Skip = "draining" // the servers are about to stop
)

// Skips returns every reason to skip.
func Skips() []Skip {
	return []Skip{SkipOverlap, SkipBudget, SkipLate, SkipBackoff, SkipWaiting, SkipDraining}
}

// Round asks every member the question of a round, which is due at due. A member's turn starts when
// the one before it is done, and at the latest after its share of the interval, so that a hanging
// member delays the others no longer. No turn starts once starts is done; a probe in flight goes on
// until probes is done. The question is written for the first member that has a free slot. Round
// returns when all are done.
func (g *Group) Round(starts, probes context.Context, round uint64, due time.Time) {
	question := sync.OnceValue(func() Question { return g.Ask(round) })
	share := g.Interval / time.Duration(len(g.Members))
	var running sync.WaitGroup
	defer running.Wait()

	turn := due
	for place := range g.Members {
		i := (place + int(round%uint64(len(g.Members)))) % len(g.Members)
		done := make(chan struct{})
		begins := turn
		running.Go(func() {
			defer close(done)
			g.turn(probes, i, question, round, begins)
		})
		if place == len(g.Members)-1 {
			return
		}
		var ok bool
		if turn, ok = nextTurn(starts, done, due.Add(share*time.Duration(place+1))); !ok {
			return
		}
	}
}

// nextTurn waits until the member before is done, at the latest until latest, and returns when the
// next turn starts. ok is false if ctx is done.
func nextTurn(ctx context.Context, before <-chan struct{}, latest time.Time) (turn time.Time, ok bool) {
	timer := time.NewTimer(time.Until(latest))
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return turn, false
	case <-before:
		return time.Now(), ctx.Err() == nil
	case <-timer.C:
		return latest, ctx.Err() == nil
	}
}

// Turn is one member's part of a round, which is due at due. It returns the result, to be read only;
// nil if the slot was skipped.
func (g *Group) Turn(ctx context.Context, i int, q Question, round uint64, due time.Time) *Result {
	return g.turn(ctx, i, func() Question { return q }, round, due)
}

func (g *Group) turn(ctx context.Context, i int, question func() Question, round uint64, due time.Time) *Result {
	m := g.Members[i]
	skip := func(reason Skip) *Result { g.Skipped(m.Name(), reason); return nil }
	if reason, held := m.Held(); held {
		return skip(reason)
	}
	start := time.Now()
	if m.Resting(start) {
		return skip(SkipBackoff)
	}
	release, ok := m.take(start)
	if !ok {
		return skip(SkipOverlap)
	}
	defer release()
	var q Question
	err := recovered(func() { q = question() })
	if err == nil && !m.budget.Reserve(start, q.cost()+g.Output) {
		return skip(SkipBudget)
	}
	var r *Result
	if err == nil {
		r = m.Probe(ctx, q.forMember(i, g.Output))
		if i == 0 {
			err = recovered(func() { q.report(r) })
		}
	}
	if err != nil {
		r = m.Unreached(start, err)
	}
	r.Due, r.Round = due, round
	switch {
	case r.Outcome != Canceled:
		g.Record(r)
	case g.Cut != nil:
		g.Cut(r)
	}
	return r
}

// recovered calls f and returns its panic as an error.
func recovered(f func()) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = panicked(p)
		}
	}()
	f()
	return nil
}

func panicked(p any) error {
	return failed(Malformed, "prober panicked, please report it: %v", p)
}

// Late counts a round that was skipped for every member.
func (g *Group) Late() {
	for _, m := range g.Members {
		g.Skipped(m.Name(), SkipLate)
	}
}
