// Package bench is a finite run: steps of requests at a rate, all at once, or in a closed loop, of one target or several.
package bench

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/llm-prober/prober/internal/probe"
	"github.com/llm-prober/prober/internal/schedule"
)

// A Load says when the requests of a step begin. One of Requests and Limit is above zero.
type Load struct {
	Plan        schedule.Plan // of the rounds; without an interval members are asked one after another as the concurrency allows
	Concurrency int           // requests of a member under way in a closed loop; 0: all at once
	Requests    int           // of each member; 0: as many as begin within Limit
	Limit       time.Duration // none begins later than this; 0: no limit
}

// Planned reports whether requests begin by the clock.
func (l Load) Planned() bool { return l.Plan.Interval > 0 }

// Total is how many requests each member gets. ok is false if only time tells.
func (l Load) Total() (n int, ok bool) {
	if l.Planned() && l.Limit > 0 {
		within := int(l.Plan.Starts(l.Limit))
		if l.Requests > 0 {
			within = min(within, l.Requests)
		}
		return within, true
	}
	return l.Requests, l.Limit == 0
}

// InFlight is how many requests are under way together at most; 0 where the clock decides.
func (l Load) InFlight() int {
	switch {
	case l.Planned():
		return 0
	case l.Concurrency > 0:
		return l.Concurrency
	}
	return l.Requests
}

// String is what tables call the load.
func (l Load) String() string {
	switch {
	case l.Planned():
		qps := float64(time.Second) / float64(l.Plan.Interval)
		return strconv.FormatFloat(qps, 'g', 4, 64) + " QPS"
	case l.Concurrency > 0:
		return fmt.Sprintf("concurrency %d", l.Concurrency)
	}
	return fmt.Sprintf("%d at once", l.Requests)
}

type step struct {
	group *probe.Group
	load  Load

	ready func(ctx context.Context, round uint64) // called before a request is due; its time is not the request's
	part  func(members []int, run func())         // runs a part, in which these members are asked side by side
}

// run makes the requests of the step, from a round on, until ctx is done, and returns the round after its last when all have
// ended. Where members are asked one after another, lead is the first.
func (s *step) run(ctx context.Context, first uint64, lead int) (next uint64) {
	members := len(s.group.Members)
	if s.load.Planned() {
		all := make([]int, members)
		for i := range all {
			all[i] = i
		}
		s.part(all, func() { next = s.planned(ctx, first) })
		return next
	}
	for place := range members {
		member := (lead + place) % members
		s.part([]int{member}, func() { next = max(next, s.closedLoop(ctx, first, member)) })
	}
	return next
}

func (s *step) planned(ctx context.Context, first uint64) (next uint64) {
	total, _ := s.load.Total()
	s.ready(ctx, first)
	job := schedule.Job{
		Plan: s.load.Plan, Starts: uint64(total),
		Do: func(n uint64, due time.Time) {
			s.group.Round(ctx, ctx, first+n, due)
			s.ready(ctx, first+n+1)
		},
		Late: func(uint64) { s.group.Late() },
	}
	const early = 10 * time.Millisecond // so that the first start is not over before it was looked for
	job.Run(ctx, time.Now().Add(early-s.load.Plan.Offset(0)))
	return first + uint64(total) + 1 // a first start that was over is one more
}

// closedLoop asks one member without a clock. All workers begin together, when each has its first question ready.
func (s *step) closedLoop(ctx context.Context, first uint64, member int) (next uint64) {
	requests := uint64(cmp.Or(s.load.Requests, math.MaxInt))
	var began time.Time // zero while first questions are made
	var taken atomic.Uint64
	take := func() (q probe.Question, round uint64, ok bool) { // not ok: there is none, or it is too late
		if s.load.Limit > 0 && !began.IsZero() && time.Since(began) >= s.load.Limit {
			return q, 0, false
		}
		n := taken.Add(1) - 1
		if n >= requests {
			return q, 0, false
		}
		s.ready(ctx, first+n)
		return s.group.Ask(first + n), first + n, true
	}
	var making, workers sync.WaitGroup
	begin := make(chan struct{})
	for range min(uint64(s.load.InFlight()), requests) {
		making.Add(1)
		workers.Go(func() {
			question, round, ok := take()
			making.Done()
			<-begin
			for due := began; ok && ctx.Err() == nil; due = time.Now() {
				r, reason := s.group.Turn(ctx, member, func() probe.Question { return question }, round, due)
				again := reason == probe.SkipWaiting // what was asked instead made the length of the next known
				if !again && (r == nil || !s.hold(ctx, r)) {
					return
				}
				question, round, ok = take()
			}
		})
	}
	making.Wait()
	began = time.Now()
	close(begin)
	workers.Wait()
	return first + min(taken.Load(), requests)
}

// hold waits until the slot of a request may be given to the next, and returns false once ctx is done. Where only time ends the
// step, a failed request keeps its slot for a second, so that a server that rejects at once is not hammered.
func (s *step) hold(ctx context.Context, r *probe.Result) bool {
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
