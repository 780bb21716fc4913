package bench

import (
	"cmp"
	"context"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/llm-prober/prober/internal/probe"
)

// A turn is a request to be made.
type turn struct {
	question probe.Question
	round    uint64
}

// closedLoop asks one member without a clock. All workers begin together, when each has its first question ready.
func (s *step) closedLoop(ctx context.Context, first uint64, member int) (next uint64) {
	requests := uint64(cmp.Or(s.load.Requests, math.MaxInt))
	var began time.Time // zero while first questions are made
	var taken atomic.Uint64
	take := func() *turn { // nil if there is none, or it is too late
		if s.load.Limit > 0 && !began.IsZero() && time.Since(began) >= s.load.Limit {
			return nil
		}
		n := taken.Add(1) - 1
		if n >= requests {
			return nil
		}
		s.ready(ctx, first+n)
		return &turn{s.group.Ask(first + n), first + n}
	}
	turns := make([]*turn, min(uint64(s.load.InFlight()), requests))
	var workers sync.WaitGroup
	for i := range turns {
		workers.Go(func() { turns[i] = take() })
	}
	workers.Wait()
	began = time.Now()
	for _, t := range turns {
		workers.Go(func() {
			for due := began; t != nil && ctx.Err() == nil; due = time.Now() {
				r := s.group.Turn(ctx, member, func() probe.Question { return t.question }, t.round, due)
				if r == nil || !s.hold(ctx, r) {
					return
				}
				t = take()
			}
		})
	}
	workers.Wait()
	return first + min(taken.Load(), requests)
}

// hold waits until the slot of a request may be given to the next, and returns false once ctx is done. Where only time ends the
// step, a failed request keeps its slot for a second, so that a server that rejects at once is not hammered.
func (s *step) hold(ctx context.Context, r *probe.Result) bool {
	if s.load.Requests > 0 || r.Outcome == probe.OK {
		return true
	}
	timer := time.NewTimer(time.Second - r.Elapsed)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
