package engine

import (
	"context"
	"errors"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/llm-prober/prober/internal/probe"
	"github.com/llm-prober/prober/internal/schedule"
)

// probe probes one job as planned until starts is done. Members whose servers
// are waited for join when these are ready.
func (r *Runner) probe(starts context.Context, j *runningJob) {
	var joining sync.WaitGroup
	defer joining.Wait()
	for i, m := range j.Members {
		if m.Waiting.Load() {
			joining.Go(func() { r.admit(starts, j.Job, i) })
		}
	}
	first := j.Members[0]
	if reason := first.Skipping(); reason == "" || reason == probe.SkipBackoff {
		r.fit(starts, j.Job)
	}
	r.Observers.describe(j.Job)
	work := schedule.Job{
		Plan: j.Plan,
		Do: func(n uint64, due time.Time) {
			j.group.Round(starts, r.probes, n, due)
			if first.Skipping() != "" {
				return
			}
			r.surviving(j.Job, func() {
				if !j.reached.Load() { // it was not there when it was to be asked
					_ = r.fitInTurn(starts, j.Job)
				}
				j.FitAhead(starts, n+1)
			})
		},
		Late: func(uint64) { j.group.Late() },
	}
	work.Run(starts, j.Plan.Epoch(time.Now()))
}

// fit makes the prompts of j exact, where its first server helps with that.
func (r *Runner) fit(ctx context.Context, j *Job) {
	var err error
	r.surviving(j, func() { err = r.fitInTurn(ctx, j) })
	log := r.Log.With(zap.String("group", j.Plan.Name))
	switch {
	case err == nil || ctx.Err() != nil:
	case errors.Is(err, probe.ErrTooLong):
		log.Warn("the server refused to count the tokens of the prompt", zap.Error(err))
	default:
		log.Info("prompt length is calibrated by the usage of the first probes", zap.Error(err))
	}
}

// surviving calls f, which makes prompts of j, and logs a panic of ours: it must
// not end the probing of all others.
func (r *Runner) surviving(j *Job, f func()) {
	defer func() {
		if p := recover(); p != nil {
			r.Log.Error("panic while writing prompts; please report it",
				zap.String("group", j.Plan.Name), zap.Any("panic", p), zap.Stack("stack"))
		}
	}()
	f()
}

// fitInTurn is [Job.Fit] when few others do the same, if there is anything to find out. A
// server that does not answer takes no turn, and one that hangs delays others for
// fitWait at most.
func (r *Runner) fitInTurn(ctx context.Context, j *Job) error {
	if _, known := j.Off(); known {
		return nil
	}
	if err := j.Members[0].Prepare(ctx); err != nil {
		return err
	}
	wait, cancel := context.WithTimeout(ctx, fitWait)
	defer cancel()
	if r.fits.Acquire(wait, 1) == nil {
		defer r.fits.Release(1)
	}
	return j.Fit(ctx)
}

// admit waits for the server of member i of j, and makes it a member like the
// others.
func (r *Runner) admit(ctx context.Context, j *Job, i int) {
	m, since := j.Members[i], time.Now()
	log, limit := r.Log.With(zap.String("target", m.Name())), j.Targets[i].WaitForReady
	log.Info("waiting for the server to be ready", zap.Duration("limit", limit))
	err := m.Await(ctx, limit)
	if ctx.Err() != nil {
		return
	}
	if err != nil {
		log.Warn("the server is not ready in time; probing it anyway", zap.Duration("waited", time.Since(since)))
	} else {
		log.Info("the server is ready", zap.Duration("waited", time.Since(since)))
	}
	if i == 0 {
		r.fit(ctx, j)
	}
	m.Waiting.Store(false)
	r.Observers.describe(j)
}
