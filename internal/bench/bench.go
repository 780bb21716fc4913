// Package bench is a finite run: steps of requests at a rate, all at once, or so
// many at a time. It knows no configuration, no tables and no metrics.
package bench

import (
	"context"
	"time"

	"github.com/llm-prober/prober/internal/probe"
	"github.com/llm-prober/prober/internal/schedule"
)

// A Load says when the requests of a step begin. One of Requests and Limit is
// above zero.
type Load struct {
	// Plan is when they are due, all members of a group in each round. Without
	// an interval they are due as soon as there is room for them, one member
	// after another.
	Plan schedule.Plan

	AtOnce   int           // how many of a member are under way at once, without an interval; 0: all
	Requests int           // of each member; 0: as many as begin within Limit
	Limit    time.Duration // none begins later than this; 0: none is too late
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

// A Step is one load on one group.
type Step struct {
	Group *probe.Group
	Load  Load
	First uint64 // round of the first request; the rounds after it are the step's
	Lead  int    // member that is asked first, where one is asked after another

	// Ready is told of a round before its request is due. It may take time,
	// which is not the request's.
	Ready func(ctx context.Context, round uint64)

	// Begin is told, before a part of the step, the members that are asked in it
	// side by side, and End how much the machine was late in it.
	Begin func(members []int)
	End   func(members []int, lag Lag)
}

// Run makes the requests of the step, and returns the round after its last when
// all have ended. No request begins once starts is done; those under way go on
// until probes is.
func (s Step) Run(starts, probes context.Context) (next uint64) {
	if s.Load.Planned() {
		s.part(s.everyone(), func() { next = s.planned(starts, probes) })
		return next
	}
	members := len(s.Group.Members)
	for place := range members {
		member := (s.Lead + place) % members
		s.part([]int{member}, func() { next = max(next, s.crowd(starts, probes, member)) })
	}
	return next
}

// part runs a part of the step.
func (s Step) part(members []int, run func()) {
	s.Begin(members)
	pulse := newPulse()
	run()
	s.End(members, pulse.end())
}

func (s Step) everyone() []int {
	members := make([]int, len(s.Group.Members))
	for i := range members {
		members[i] = i
	}
	return members
}

// lead is how long before its first start a plan begins, so that the start is not
// over before it was looked for.
const lead = 10 * time.Millisecond

// planned runs rounds by the clock.
func (s Step) planned(starts, probes context.Context) (next uint64) {
	total, _ := s.Load.Total()
	next = s.First
	s.Ready(starts, s.First)
	work := schedule.Job{
		Plan: s.Load.Plan, Starts: uint64(total),
		Do: func(n uint64, due time.Time) {
			s.Group.Round(starts, probes, s.First+n, due)
			s.Ready(starts, s.First+n+1)
		},
		Late: func(uint64) { s.Group.Late() },
	}
	work.Run(starts, time.Now().Add(lead-s.Load.Plan.Offset(0)))
	return next + uint64(total) + 1 // a first start that was over is one more
}
