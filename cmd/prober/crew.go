package main

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/llm-prober/prober/internal/config"
	"github.com/llm-prober/prober/internal/probe"
	"github.com/llm-prober/prober/internal/schedule"
)

// How many groups may have their prompts counted at a time, and how long another
// waits for them. While it is counted, a prompt of 21,000 tokens takes half a MB:
// a thousand at once would be the most that the prober ever needs.
const (
	fitsAtOnce  = 32
	fitPatience = 30 * time.Second
)

// A crew is all jobs under way. Its methods are called by one goroutine, but for
// what a job's end does, and drain.
type crew struct {
	observers *observers
	log       *zap.Logger

	starts, probes context.Context // when no more probes begin, and when those under way are dropped
	running        sync.WaitGroup
	fits           turns // of fitsAtOnce

	mu      sync.Mutex // guards all below
	works   []*work
	ending  []*work // that were stopped, and have probes under way
	drains  bool    // the servers are about to stop: nothing is asked any more
	budgets budgets
}

// A work is one job under way.
type work struct {
	job  *job
	stop context.CancelFunc // no more probes of it begin
	done chan struct{}      // closed when none is under way any more
}

// replace makes jobs what the crew works on. A job of which nothing changed goes
// on: its series, its phase and its calibration stay. One that changed takes over
// what its servers taught, and begins when the probes of the one before have
// ended. Targets that are left out are forgotten.
func (c *crew) replace(jobs []*job) {
	c.mu.Lock()
	before := c.works
	c.works = nil
	var idle []*job
	for _, j := range jobs {
		i := slices.IndexFunc(before, func(w *work) bool { return w.job.same(j) })
		if i < 0 {
			idle = append(idle, j)
			continue
		}
		c.works = append(c.works, before[i])
		before = slices.Delete(before, i, i+1)
	}
	kept := slices.Clone(c.works)
	for _, w := range before {
		w.job.ended.Store(true)
		w.stop()
	}
	c.ending = append(c.ending, before...)
	for _, j := range idle {
		c.works = append(c.works, c.begin(j, slices.Clone(c.ending)))
	}
	c.budgets.forget(time.Now(), func(target string) bool {
		return slices.ContainsFunc(c.works, func(w *work) bool { return w.job.has(target) })
	})
	c.mu.Unlock()
	for _, w := range kept {
		c.observers.describe(w.job)
	}
	for _, w := range before {
		c.running.Go(func() { c.forget(w) })
	}
}

// drain makes every target's slots be skipped from now on, or ends that if they are
// skipped already, and reports which.
func (c *crew) drain() (draining bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.setDraining(!c.drains)
	return c.drains
}

// resume ends draining, if there is any.
func (c *crew) resume() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.drains {
		c.setDraining(false)
		c.log.Info("no longer draining: the configuration was reloaded")
	}
}

// setDraining is called with the lock held.
func (c *crew) setDraining(on bool) {
	c.drains = on
	c.observers.ready(func(s *standing) { s.draining = on })
	for _, w := range c.works {
		w.job.drain(on)
		c.observers.describe(w.job)
	}
}

// begin starts a job when all works have ended, from which it inherits. The lock
// is held.
func (c *crew) begin(j *job, before []*work) *work {
	starts, stop := context.WithCancel(c.starts)
	w := &work{job: j, stop: stop, done: make(chan struct{})}
	j.hold()
	j.drain(c.drains)
	for _, named := range []bool{false, true} { // what was learnt under the same name last: it is what counts
		for _, old := range before {
			if shares(old.job, j) == named {
				j.inherit(old.job)
			}
		}
	}
	c.budgets.give(j)
	c.observers.attend(j)
	c.running.Go(func() {
		defer close(w.done)
		for _, old := range before {
			if shares(old.job, j) {
				<-old.done
			}
		}
		c.probe(starts, w.job)
	})
	return w
}

// shares reports whether two jobs probe a target of the same name.
func shares(a, b *job) bool {
	return slices.ContainsFunc(a.targets, func(t config.Target) bool { return b.has(t.Name) })
}

// probe probes one job as planned until starts is done. Members whose servers
// are waited for join when these are ready.
func (c *crew) probe(starts context.Context, j *job) {
	var joining sync.WaitGroup
	defer joining.Wait()
	for i, m := range j.group.Members {
		if m.Waits() {
			joining.Go(func() { c.admit(starts, j, i) })
		}
	}
	if _, held := j.group.Members[0].Held(); !held {
		c.fit(starts, j)
	}
	c.observers.describe(j)
	work := schedule.Job{
		Plan: j.plan,
		Do: func(n uint64, due time.Time) {
			j.group.Round(starts, c.probes, n, due)
			first := j.group.Members[0]
			if _, held := first.Held(); held || first.Resting(time.Now()) {
				return
			}
			c.surviving(j, func() {
				if !j.reached.Load() { // it was not there when it was to be asked
					_ = c.fitInTurn(starts, j)
				}
				j.fitAhead(starts, n+1)
			})
		},
		Late: func(uint64) { j.group.Late() },
	}
	work.Run(starts, j.plan.Epoch(time.Now()))
}

// fit makes the prompts of j exact, where its first server helps with that.
func (c *crew) fit(ctx context.Context, j *job) {
	var err error
	c.surviving(j, func() { err = c.fitInTurn(ctx, j) })
	group, because := zap.String("group", j.plan.Name), zap.NamedError("because", err)
	switch {
	case err == nil || ctx.Err() != nil:
	case errors.Is(err, probe.ErrTooLong):
		c.log.Warn("the server refuses to count the tokens of the prompt", group, because)
	default:
		c.log.Info("prompt length is calibrated by the usage of the first probes", group, because)
	}
}

// surviving calls f, which makes prompts of j, and logs a panic of ours: it must
// not end the probing of all others.
func (c *crew) surviving(j *job, f func()) {
	defer func() {
		if p := recover(); p != nil {
			c.log.Error("the prober panicked while it made prompts of the right length, please report it",
				zap.String("group", j.plan.Name), zap.Any("panic", p), zap.Stack("stack"))
		}
	}()
	f()
}

// fitInTurn is [job.fit] in turn, if there is anything to find out. A server that
// does not answer takes no turn.
func (c *crew) fitInTurn(ctx context.Context, j *job) error {
	if _, known := j.writer.Off(); known {
		return nil
	}
	if err := j.group.Members[0].Prepare(ctx); err != nil {
		return err
	}
	defer c.fits.take(ctx, fitPatience)()
	return j.fit(ctx)
}

// admit waits for the server of member i of j, and makes it a member like the
// others.
func (c *crew) admit(ctx context.Context, j *job, i int) {
	m, since := j.group.Members[i], time.Now()
	log, limit := c.log.With(zap.String("target", m.Name())), j.targets[i].WaitForReady
	log.Info("waiting for the server to be ready", zap.Duration("limit", limit))
	err := m.Await(ctx, limit)
	if ctx.Err() != nil {
		return
	}
	if err != nil {
		log.Warn("the server is not ready and is probed all the same", zap.Duration("waited", time.Since(since)))
	} else {
		log.Info("the server is ready", zap.Duration("waited", time.Since(since)))
	}
	if i == 0 {
		c.fit(ctx, j)
	}
	m.Admit()
	c.observers.describe(j)
}

// forget waits for the end of a work that was stopped, and makes the observers
// forget those of its targets that nobody probes any more.
func (c *crew) forget(w *work) {
	<-w.done
	w.job.close()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ending = slices.DeleteFunc(c.ending, func(o *work) bool { return o == w })
	for _, t := range w.job.targets {
		if !slices.ContainsFunc(c.works, func(w *work) bool { return w.job.has(t.Name) }) {
			c.observers.forget(t.Name)
		}
	}
}

// close closes the connections that the jobs kept.
func (c *crew) close() {
	for _, w := range c.works {
		w.job.close()
	}
}
