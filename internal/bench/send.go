package bench

import (
	"cmp"
	"context"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/llm-prober/prober/internal/probe"
	"github.com/llm-prober/prober/internal/schedule"
)

// A sender sends the requests of one step: those of one load to one group of targets.
type sender struct {
	group *probe.Group
	load  Load

	// prepare does before a request is due what would delay it: it finds the length of the prompts, if that has changed.
	prepare func(ctx context.Context)

	// watch runs a part of the step, in which these members are asked side by side.
	watch func(members []int, run func())
}

// run sends the requests of the step, in rounds from first on, until ctx is done. It returns when all requests have
// ended, with the round after its last. By the clock, all members are asked in each round; otherwise one member after
// the other has its requests, beginning with the member lead.
func (s *sender) run(ctx context.Context, first uint64, lead int) (next uint64) {
	members := len(s.group.Members)
	if s.load.ByTheClock {
		all := make([]int, members)
		for i := range all {
			all[i] = i
		}
		s.watch(all, func() { next = s.byTheClock(ctx, first) })
		return next
	}
	for place := range members {
		member := (lead + place) % members
		s.watch([]int{member}, func() { next = max(next, s.inClosedLoop(ctx, first, member)) })
	}
	return next
}

// byTheClock asks all members in each round, at the times of the plan. It returns the round after its last.
func (s *sender) byTheClock(ctx context.Context, first uint64) (next uint64) {
	total, _ := s.load.Total()
	s.prepare(ctx)
	const headStart = 10 * time.Millisecond // else the first start would be over before the schedule looks for it
	epoch := time.Now().Add(headStart - s.load.Plan.First())
	schedule.Run(ctx, s.load.Plan, epoch, schedule.Work{
		Starts: uint64(total),
		Do: func(n uint64, due time.Time) {
			s.group.Round(ctx, ctx, first+n, due)
			s.prepare(ctx)
		},
		Late: func(n uint64) { s.group.Late(first + n) },
	})
	return first + uint64(total) + 1 // one more if the first start was over
}

// inClosedLoop asks one member without a clock, or all at once. It returns the round after its last.
func (s *sender) inClosedLoop(ctx context.Context, first uint64, member int) (next uint64) {
	c := closedLoop{
		sender: s, first: first, member: member,
		requests: uint64(cmp.Or(s.load.Requests, math.MaxInt)),
		start:    make(chan struct{}),
	}
	var workers sync.WaitGroup
	for range min(uint64(s.load.InFlight()), c.requests) {
		c.preparing.Add(1)
		workers.Go(func() { c.work(ctx) })
	}
	c.preparing.Wait()
	c.began = time.Now()
	close(c.start)
	workers.Wait()
	return first + min(c.taken.Load(), c.requests)
}

// A closedLoop asks one member by workers, each of which sends its next request when the one before is answered. All
// begin together, when each has its first question.
type closedLoop struct {
	sender   *sender
	member   int
	first    uint64 // round of the first request
	requests uint64 // how many there are at most

	taken     atomic.Uint64  // requests that workers have taken
	preparing sync.WaitGroup // workers without their first question
	start     chan struct{}  // closed when all have it
	began     time.Time      // when start was closed; zero before
}

// A request is one question of a closed loop. It is written before the request is due: to write a long prompt takes a
// millisecond, which is not the server's. To the group, it is the questions of this round.
type request struct {
	probe.Questions // those of the group; they take the answer

	round    uint64
	question probe.Question
	failed   *probe.Result
	skip     probe.Skip
}

// Next implements [probe.Questions].
func (r *request) Next(
	context.Context, int, uint64,
) (question probe.Question, failed *probe.Result, skip probe.Skip) {
	return r.question, r.failed, r.skip
}

// work sends one request after another, until there are no more.
func (c *closedLoop) work(ctx context.Context) {
	r, ok := c.take(ctx)
	c.preparing.Done()
	<-c.start
	due := c.began
	for ok && ctx.Err() == nil {
		goesOn := c.send(ctx, r, due)
		if !goesOn {
			return
		}
		r, ok = c.take(ctx)
		due = time.Now()
	}
}

// take returns the next request with its question. ok is false if there is none, or if it would begin after the limit.
func (c *closedLoop) take(ctx context.Context) (r *request, ok bool) {
	limit := c.sender.load.Limit
	if limit > 0 && !c.began.IsZero() && time.Since(c.began) >= limit {
		return nil, false
	}
	n := c.taken.Add(1) - 1
	if n >= c.requests {
		return nil, false
	}
	c.sender.prepare(ctx)
	r = &request{Questions: c.sender.group.Questions, round: c.first + n}
	r.question, r.failed, r.skip = r.Questions.Next(ctx, c.member, r.round)
	return r, true
}

// send sends a request and waits for its answer. It reports whether the worker goes on.
func (c *closedLoop) send(ctx context.Context, r *request, due time.Time) bool {
	group := *c.sender.group
	group.Questions = r
	result, skip := group.Turn(ctx, c.member, r.round, due)
	if skip == probe.SkipWaiting { // the slot was used to find the length of the next prompt
		return true
	}
	return result != nil && c.sender.holdSlot(ctx, result)
}

// holdSlot waits until the slot of a request may be given to the next. It reports false if ctx ended first. If only
// time ends the step, a failed request keeps its slot for a second, so that a server which rejects at once is not
// hammered.
func (s *sender) holdSlot(ctx context.Context, r *probe.Result) bool {
	if s.load.Requests > 0 || r.Outcome == probe.OK {
		return true
	}
	select {
	case <-ctx.Done():
		return false
	case <-time.After(time.Second - r.Elapsed):
		return true
	}
}
