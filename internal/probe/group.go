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

	Ask     func(round uint64) Question // writes the prompt of a round; safe for concurrent use
	Record  func(*Result)               // takes every result but the canceled; safe for concurrent use
	Cut     func(*Result)               // takes the canceled; nil: nobody does; safe for concurrent use
	Skipped func(target string, reason Skip)
}

// A Skip is why a slot went without a probe.
type Skip string

// The reasons to skip.
const (
	SkipOverlap Skip = "overlap" // as many probes as allowed were still under way
	SkipBudget  Skip = "budget"  // the day's tokens were spent
	SkipLate    Skip = "late"    // the next slot was due as well
	SkipBackoff Skip = "backoff" // the server asked not to be asked for a while
	SkipWaiting Skip = "waiting" // the server was not ready yet, and is waited for

	SkipDraining Skip = "draining" // the servers are about to stop
)

// Skips returns every reason to skip.
func Skips() []Skip {
	return []Skip{SkipOverlap, SkipBudget, SkipLate, SkipBackoff, SkipWaiting, SkipDraining}
}

// Round asks every member the question of a round, which is due at due. A
// member's turn comes when the one before it is done, and at the latest after
// its share of the interval: one that hangs delays nobody for longer. Round
// returns when all are done. No turn begins once starts is done; a probe under
// way goes on until probes is. The question is written when a member has room for
// it: a server that is behind costs us nothing.
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

// nextTurn waits for the turn of the next member and returns when it came: when
// the one before was done, at the latest at latest. ok is false if ctx is done.
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

// Turn is one member's part of a round, which is due at due. It returns what came
// of it, to be read only; nil if the slot was skipped.
func (g *Group) Turn(ctx context.Context, i int, q Question, round uint64, due time.Time) *Result {
	return g.turn(ctx, i, func() Question { return q }, round, due)
}

func (g *Group) turn(ctx context.Context, i int, question func() Question, round uint64, due time.Time) *Result {
	m := g.Members[i]
	if reason, held := m.Held(); held {
		g.Skipped(m.Name(), reason)
		return nil
	}
	if m.Resting(time.Now()) {
		g.Skipped(m.Name(), SkipBackoff)
		return nil
	}
	release, ok := m.slots.Take(time.Now())
	if !ok {
		g.Skipped(m.Name(), SkipOverlap)
		return nil
	}
	defer release()
	start, q := time.Now(), Question{}
	if err := guarded(func() { q = question() }); err != nil {
		return g.record(m.Unreached(start, err), round, due)
	}
	if !m.budget.Reserve(time.Now(), q.cost()+g.Output) {
		g.Skipped(m.Name(), SkipBudget)
		return nil
	}
	r := m.Probe(ctx, q.forMember(i, g.Output))
	if i == 0 {
		if err := guarded(func() { q.report(r) }); err != nil {
			r = m.Unreached(start, err)
		}
	}
	return g.record(r, round, due)
}

// record hands on what came of a member's part of a round, and returns it.
func (g *Group) record(r *Result, round uint64, due time.Time) *Result {
	r.Due, r.Round = due, round
	switch {
	case r.Outcome != Canceled:
		g.Record(r)
	case g.Cut != nil:
		g.Cut(r)
	}
	return r
}

// guarded calls f. Its error is a panic of ours.
func guarded(f func()) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = panicked(p)
		}
	}()
	f()
	return nil
}

// panicked is what a panic of ours is reported as.
func panicked(p any) error {
	return undiscovered{failed(Malformed, "prober panicked, please report it: %v", p)}
}

// Late counts a round that was passed over for every member.
func (g *Group) Late() {
	for _, m := range g.Members {
		g.Skipped(m.Name(), SkipLate)
	}
}
