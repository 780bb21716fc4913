package engine

import (
	"context"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/llm-prober/prober/internal/probe"
	"github.com/llm-prober/prober/internal/schedule"
)

const (
	// countsAtOnce is how many groups may have their prompts counted at the same time. A prompt of 21,000 tokens takes
	// half a MB of memory meanwhile.
	countsAtOnce = 32

	// countWait is how long a group waits for its turn, and how long its own counting may take then.
	countWait = 30 * time.Second

	// identifyEvery is how often a server is asked for its type, version and model.
	identifyEvery = 24 * time.Hour
)

// runJob probes the members of j as planned, until starts is done. A member whose server is waited for joins later.
func (r *Runner) runJob(starts context.Context, j *Job, group *probe.Group) {
	var joining sync.WaitGroup
	defer joining.Wait()
	for i, m := range j.Members {
		if m.Waiting.Load() && !m.Disabled.Load() {
			joining.Go(func() { r.awaitReady(starts, j, i) })
		}
	}
	r.prepare(starts, j, j.Length.Active())
	j.recorder.Describe()
	schedule.Run(starts, j.Plan, j.Plan.Epoch(time.Now()), schedule.Work{
		Do: func(n uint64, due time.Time) {
			group.Round(starts, r.probes, n, due)
			r.betweenRounds(starts, j)
		},
		Late: func(n uint64) { group.Late(n) },
	})
}

// prepare has the prompts of j counted by some of its members before their first slot, so that the slot need not be
// used for that. It takes twice countWait at most, even if a server hangs. What is not counted by then, the slots
// count.
func (r *Runner) prepare(ctx context.Context, j *Job, members []int) {
	defer j.panics.Recover("writing prompts")
	waiting, stopWaiting := context.WithTimeout(ctx, countWait)
	defer stopWaiting()
	err := r.counts.Acquire(waiting, 1)
	if err == nil { // else the groups before hang: this one does not wait for them any longer
		defer r.counts.Release(1)
	}
	counting, stopCounting := context.WithTimeout(ctx, countWait)
	defer stopCounting()
	j.Length.Prepare(counting, members)
}

// betweenRounds does at the end of a round what would delay the next one: it has the next prompt counted, if a server
// has answered since the last time, and asks the servers once a day what they are.
func (r *Runner) betweenRounds(ctx context.Context, j *Job) {
	defer j.panics.Recover("writing prompts")
	ctx, stop := context.WithTimeout(ctx, countWait)
	defer stop()
	j.Length.Ahead(ctx)
	var identifying sync.WaitGroup
	for _, i := range j.Length.Active() {
		identifying.Go(func() {
			defer j.panics.Recover("asking what a server is")
			m := j.Members[i]
			known := m.Knowledge()
			if known.Answered && known.Suffices() { // else the next probe asks, or an answer after a failure makes m ask
				_, _ = m.Identify(ctx, identifyEvery) // what is known holds until the server says something else
			}
		})
	}
	identifying.Wait()
	j.recorder.Describe()
}

// awaitReady waits for the server of member i of j, and then lets it be probed like the others.
func (r *Runner) awaitReady(ctx context.Context, j *Job, i int) {
	defer j.panics.Recover("waiting for a server")
	m := j.Members[i]
	limit := j.Targets[i].WaitForReady
	start := time.Now()
	log := r.Log.With(zap.String("target", m.Name()))
	log.Info("waiting for the server to be ready", zap.Duration("limit", limit))
	err := m.Await(ctx, limit)
	waited := zap.Duration("waited", time.Since(start))
	switch {
	case ctx.Err() != nil:
		return
	case err != nil:
		log.Warn("the server is not ready in time; probing it anyway", waited)
	default:
		log.Info("the server is ready", waited)
	}
	r.prepare(ctx, j, []int{i})
	m.Waiting.Store(false)
	j.recorder.Describe()
}
