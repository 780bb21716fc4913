package engine

import (
	"context"
	"reflect"
	"slices"
	"sync"
	"time"

	"go.uber.org/zap"
	"golang.org/x/sync/semaphore"

	"github.com/llm-prober/prober/internal/config"
	"github.com/llm-prober/prober/internal/discovery"
	"github.com/llm-prober/prober/internal/probe"
	"github.com/llm-prober/prober/internal/telemetry"
)

// How many groups may have their prompts counted at a time, and how long another
// waits for them. While it is counted, a prompt of 21,000 tokens takes half a MB:
// a thousand at once would be the most that the prober ever needs.
const (
	fitsAtOnce = 32
	fitWait    = 30 * time.Second
)

// A Runner runs jobs: those of the configuration that it was given last, for the
// addresses that there are. Its methods are called by one goroutine, but for Drain.
type Runner struct {
	observers *Observers
	log       *zap.Logger
	dial      probe.Dial
	version   string

	config  *config.Config
	assets  *Assets         // of config
	owned   *OwnedTargets   // finds targets
	targets []config.Target // that are probed; nil before any is

	starts, probes context.Context // when no more probes begin, and when those under way are dropped
	stop, drop     context.CancelFunc
	running        sync.WaitGroup
	fits           *semaphore.Weighted // of fitsAtOnce

	mu      sync.Mutex // guards all below
	jobs    []*runningJob
	ending  []*runningJob // that were stopped, and have probes under way
	budgets Budgets
}

// A runningJob is one job under way.
type runningJob struct {
	*Job

	group *probe.Group
	stop  context.CancelFunc // no more probes of it begin
	done  chan struct{}      // closed when none is under way any more
}

// RunnerOptions are what a runner needs beside a configuration.
type RunnerOptions struct {
	Observers *Observers
	Log       *zap.Logger
	Version   string           // ours
	Dial      probe.Dial       // how targets are reached; nil: over the network
	Lookup    discovery.Lookup // of the addresses behind names; nil: the system's
}

// NewRunner returns a runner without jobs. When ctx is done, no more probes begin.
func NewRunner(ctx context.Context, o RunnerOptions) *Runner {
	r := &Runner{
		observers: o.Observers, log: o.Log, dial: o.Dial, version: o.Version,
		owned: newOwnedTargets(o.Lookup, o.Log), fits: semaphore.NewWeighted(fitsAtOnce), budgets: Budgets{},
	}
	r.starts, r.stop = context.WithCancel(ctx)
	r.probes, r.drop = context.WithCancel(context.WithoutCancel(ctx))
	return r
}

// Apply makes r run the jobs of c, and ends draining. An error changes nothing.
func (r *Runner) Apply(ctx context.Context, c *config.Config, assets *Assets) error {
	r.observers.recorder.Update(telemetry.LookupFailures, float64(r.owned.refresh(ctx, c.Targets)))
	targets := r.owned.of(c)
	jobs, err := Assemble(targets, assets, r.dial, r.version)
	if err != nil {
		return err
	}
	if r.targets == nil {
		for _, j := range jobs {
			j.logCost(r.log)
		}
	}
	r.config, r.assets, r.targets = c, assets, targets
	r.owned.names.Keep(hostsOf(c.Targets))
	r.observers.promise(c.Objectives)
	r.resume()
	r.replace(jobs)
	return nil
}

// logCost logs what probing each target of j takes.
func (j *Job) logCost(log *zap.Logger) {
	for _, t := range j.Targets {
		log.Info("target",
			zap.String("target", t.Name), zap.String("group", t.Group), zap.String("url", t.URL),
			zap.Float64("qps", t.QPS), zap.String("prompt", t.Prompt),
			zap.Int("prompt_tokens", t.PromptTokens), zap.Int("max_tokens", t.MaxTokens),
			zap.Int("tokens_per_day", j.TokensPerDay(t)))
	}
}

// LookUp looks up all hosts of dns+ URLs, and makes r run the jobs of the addresses that
// there are now. It reads no file.
func (r *Runner) LookUp(ctx context.Context) {
	if len(hostsOf(r.config.Targets)) == 0 || r.observers.draining.Load() {
		return
	}
	r.observers.recorder.Update(telemetry.LookupFailures, float64(r.owned.refresh(ctx, r.config.Targets)))
	now, before := r.owned.of(r.config), len(r.targets)
	if reflect.DeepEqual(now, r.targets) {
		return
	}
	jobs, err := Assemble(now, r.assets, r.dial, r.version)
	if err != nil {
		r.log.Error("the new addresses cannot be probed, keeping the previous ones", zap.Error(err))
		return
	}
	r.targets = now
	r.replace(jobs)
	r.log.Info("addresses changed", zap.Int("targets", len(now)), zap.Int("before", before))
}

// Stop ends all probing: no more probes begin, and those that are still under way after
// limit are dropped. It returns when none is.
func (r *Runner) Stop(limit time.Duration) {
	r.stop()
	dropping := time.AfterFunc(limit, r.drop)
	r.running.Wait()
	dropping.Stop()
	r.drop()
	for _, j := range r.jobs {
		j.Close()
	}
}

// replace makes jobs those that run. A job of which nothing changed goes on: its
// series, its phase and its calibration stay. One that changed takes over what its
// servers taught, and begins when the probes of the one before have ended. Targets that
// are left out are forgotten.
func (r *Runner) replace(jobs []*Job) {
	r.mu.Lock()
	before := r.jobs
	r.jobs = nil
	var changed []*Job
	for _, j := range jobs {
		i := slices.IndexFunc(before, func(old *runningJob) bool { return old.same(j) })
		if i < 0 {
			changed = append(changed, j)
			continue
		}
		r.jobs = append(r.jobs, before[i])
		before = slices.Delete(before, i, i+1)
	}
	kept := slices.Clone(r.jobs)
	for _, old := range before {
		old.ended.Store(true)
		old.stop()
	}
	r.ending = append(r.ending, before...)
	for _, j := range changed {
		r.jobs = append(r.jobs, r.begin(j, slices.Clone(r.ending)))
	}
	r.budgets.forget(time.Now(), r.runs)
	r.mu.Unlock()
	for _, j := range kept {
		r.observers.describe(j.Job)
	}
	for _, old := range before {
		r.running.Go(func() { r.forget(old) })
	}
}

// runs reports whether a target is probed. The lock is held.
func (r *Runner) runs(target string) bool {
	return slices.ContainsFunc(r.jobs, func(j *runningJob) bool { return j.has(target) })
}

// begin starts a job when all before have ended that probe the same targets; it inherits
// from all of them. The lock is held.
func (r *Runner) begin(j *Job, before []*runningJob) *runningJob {
	starts, stop := context.WithCancel(r.starts)
	run := &runningJob{Job: j, stop: stop, done: make(chan struct{})}
	for i, t := range j.Targets {
		if t.WaitForReady > 0 {
			j.Members[i].Hold()
		}
	}
	j.drain(r.observers.draining.Load())
	for _, named := range []bool{false, true} { // what was learnt under the same name last: it is what counts
		for _, old := range before {
			if old.sharesTarget(j) == named {
				j.Inherit(old.Job)
			}
		}
	}
	r.budgets.Give(j)
	run.group = j.Group(r.observers.Attend(j))
	r.running.Go(func() {
		defer close(run.done)
		for _, old := range before {
			if old.sharesTarget(j) {
				<-old.done
			}
		}
		r.probe(starts, run)
	})
	return run
}

// forget waits for the end of a job that was stopped, and makes the observers
// forget those of its targets that are not probed any more.
func (r *Runner) forget(old *runningJob) {
	<-old.done
	old.Close()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ending = slices.DeleteFunc(r.ending, func(j *runningJob) bool { return j == old })
	for _, t := range old.Targets {
		if !r.runs(t.Name) {
			r.observers.forget(t.Name)
		}
	}
}

// Drain makes every target's slots be skipped from now on, or ends that if they are
// skipped already, and reports which. It is safe for concurrent use.
func (r *Runner) Drain() (draining bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	draining = !r.observers.draining.Load()
	r.setDraining(draining)
	return draining
}

// Draining reports whether slots are skipped because of [Runner.Drain].
func (r *Runner) Draining() bool { return r.observers.draining.Load() }

// resume ends draining, if there is any.
func (r *Runner) resume() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.observers.draining.Load() {
		r.setDraining(false)
		r.log.Info("no longer draining: the configuration was reloaded")
	}
}

// setDraining is called with the lock held.
func (r *Runner) setDraining(on bool) {
	r.observers.draining.Store(on)
	for _, j := range r.jobs {
		j.drain(on)
		r.observers.describe(j.Job)
	}
}

// drain makes no member be asked any more, or ends that.
func (j *Job) drain(on bool) {
	for _, m := range j.Members {
		m.Drain(on)
	}
}

// Targets is how many targets are probed.
func (r *Runner) Targets() int { return len(r.targets) }
