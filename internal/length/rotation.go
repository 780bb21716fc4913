package length

import (
	"context"
	"slices"
	"sync"

	"github.com/llm-prober/prober/internal/probe"
	"github.com/llm-prober/prober/internal/schedule"
)

// A Rotation is all that a group is asked: one of several prompts in each round. It implements [probe.Questions]. Each
// prompt has its own [Questions], whose rounds are those in which it is asked, counted without a gap. It is safe for
// concurrent use.
type Rotation struct {
	Prompts []*Questions // at least one, all for the same members
	order   schedule.Rotation
}

// NewRotation returns the rotation of prompts, each of which has its share of the rounds: a number above 0.
func NewRotation(prompts []*Questions, shares []int) *Rotation {
	return &Rotation{Prompts: prompts, order: schedule.NewRotation(shares...)}
}

// At returns the index of the prompt that is asked in a round, and in how many earlier rounds it was.
func (r *Rotation) At(round uint64) (prompt int, before uint64) { return r.order.At(round) }

// Prompt implements [probe.Questions].
func (r *Rotation) Prompt(round uint64) (name string, before uint64) {
	i, before := r.At(round)
	return r.Prompts[i].Name, before
}

// Next implements [probe.Questions], by [Questions.Next] of the round's prompt.
func (r *Rotation) Next(ctx context.Context, member int, round uint64) (probe.Question, *probe.Result, probe.Skip) {
	i, before := r.At(round)
	return r.Prompts[i].Next(ctx, member, before)
}

// Answered implements [probe.Questions].
func (r *Rotation) Answered(member int, round uint64, result *probe.Result) {
	i, before := r.At(round)
	r.Prompts[i].Answered(member, before, result)
}

// Prepare asks members side by side what their servers are, and then has each prompt counted by the first one that
// answers and counts. A member that hangs delays the others by ten seconds.
func (r *Rotation) Prepare(ctx context.Context, members []int) {
	first := r.Prompts[0]
	answers := make([]bool, len(first.Members))
	var asking sync.WaitGroup
	for _, i := range members {
		asking.Go(func() {
			defer first.survive(i, "asking what a server is")
			_, err := first.Members[i].Identify(ctx, probe.AnyAge)
			answers[i] = probe.MayAnswer(err)
		})
	}
	asking.Wait()
	members = slices.DeleteFunc(slices.Clone(members), func(i int) bool { return !answers[i] })
	for _, q := range r.Prompts {
		q.countByAny(ctx, members)
	}
}

// Ahead does what [Questions.Ahead] does, for each prompt.
func (r *Rotation) Ahead(ctx context.Context) {
	for _, q := range r.Prompts {
		q.Ahead(ctx)
	}
}

// Active returns what [Questions.active] does, which is the same for each prompt.
func (r *Rotation) Active() (members []int) { return r.Prompts[0].active() }
