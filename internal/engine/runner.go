package engine

import (
	"context"
	"maps"
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

// How many groups may have their prompts counted at a time, and how long another waits for
// them. While it is counted, a prompt of 21,000 tokens takes half a MB of memory.
const (
	fitsAtOnce = 32
	fitWait    = 30 * time.Second
)

// A Runner runs the jobs of the configuration that it was given last. Its methods are called
// by one goroutine, but for Drain and Draining.
type Runner struct {
	RunnerOptions

	config  *config.Config // nil before the first
	assets  *Assets        // of config
	owned   *ownedTargets
	targets []config.Target // that are probed

	starts, probes context.Context // when no more probes begin, and when those under way are dropped
	stop, drop     context.CancelFunc
	running        sync.WaitGroup
	fits           *semaphore.Weighted // of fitsAtOnce

	mu      sync.Mutex // guards all below
	jobs    []*runningJob
	ending  []*runningJob // that were stopped, and have probes under way
	budgets Budgets
}

// RunnerOptions are what a runner needs beside a configuration.
type RunnerOptions struct {
	Observers *Observers
	Log       *zap.Logger
	Version   string           // ours
	Dial      probe.Dial       // how targets are reached; nil: over the network
	Lookup    discovery.Lookup // of the addresses behind names; nil: the system's
}

// A runningJob is one job under way.
type runningJob struct {
	*Job

	group *probe.Group
	stop  context.CancelFunc // no more probes of it begin
	done  chan struct{}      // closed when none is under way any more
}

// NewRunner returns a runner without jobs. When ctx is done, no more probes begin.
func NewRunner(ctx context.Context, o RunnerOptions) *Runner {
	r := &Runner{
		RunnerOptions: o, owned: newOwnedTargets(o.Lookup, o.Log),
		fits: semaphore.NewWeighted(fitsAtOnce), budgets: Budgets{},
	}
	r.starts, r.stop = context.WithCancel(ctx)
	r.probes, r.drop = context.WithCancel(context.WithoutCancel(ctx))
	return r
}

// Apply makes r run the jobs of c, and ends draining. An error changes nothing.
func (r *Runner) Apply(ctx context.Context, c *config.Config, assets *Assets) error {
	targets := r.find(ctx, c)
	jobs, err := Assemble(targets, assets, r.Dial, r.Version)
	if err != nil {
		return err
	}
	if r.config == nil {
		for _, j := range jobs {
			j.logCost(r.Log)
		}
	}
	r.config, r.assets, r.targets = c, assets, targets
	r.owned.names.Keep(hostsOf(c.Targets))
	r.Observers.mu.Lock()
	r.Observers.objectives = c.Objectives
	r.Observers.mu.Unlock()
	if r.Draining() {
		r.Drain()
		r.Log.Info("no longer draining: the configuration was reloaded")
	}
	r.replace(jobs)
	return nil
}

// find looks up the hosts of c and returns the targets that it means at present.
func (r *Runner) find(ctx context.Context, c *config.Config) []config.Target {
	r.Observers.Metrics.Add(telemetry.LookupFailures, float64(r.owned.refresh(ctx, c.Targets)))
	return r.owned.of(c)
}

// LookUp looks up the hosts of dns+ URLs, and makes r run the jobs of the addresses that
// there are now. It reads no file.
func (r *Runner) LookUp(ctx context.Context) {
	if len(hostsOf(r.config.Targets)) == 0 || r.Draining() {
		return
	}
	targets := r.find(ctx, r.config)
	if reflect.DeepEqual(targets, r.targets) {
		return
	}
	jobs, err := Assemble(targets, r.assets, r.Dial, r.Version)
	if err != nil {
		r.Log.Error("the new addresses cannot be probed; keeping the previous ones", zap.Error(err))
		return
	}
	r.Log.Info("addresses changed", zap.Int("targets", len(targets)), zap.Int("before", len(r.targets)))
	r.targets = targets
	r.replace(jobs)
}

// Targets is how many targets are probed.
func (r *Runner) Targets() int { return len(r.targets) }

// logCost logs what probing each target of j takes.
func (j *Job) logCost(log *zap.Logger) {
	for _, t := range j.Targets {
		log.Info("target",
			zap.String("target", t.Name), zap.String("group", t.Group), zap.String("url", t.URL),
			zap.Float64("qps", t.QPS), zap.String("prompt", t.Prompt),
			zap.Int("prompt_tokens", t.PromptTokens), zap.Int("max_tokens", t.MaxTokens),
			zap.Int("tokens_per_day", j.TokensPerDay(t, 0)))
	}
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

// replace makes jobs those that run. An unchanged job goes on with its series, phase and
// calibration. A changed one inherits the learned capabilities, and begins when the probes of
// the one before have ended. Targets that are left out are forgotten.
func (r *Runner) replace(jobs []*Job) {
	r.mu.Lock()
	defer r.mu.Unlock()
	before, changed := r.jobs, []*Job(nil)
	r.jobs = nil
	for _, j := range jobs {
		i := slices.IndexFunc(before, func(old *runningJob) bool { return old.same(j) })
		if i < 0 {
			changed = append(changed, j)
			continue
		}
		r.Observers.describe(before[i].Job)
		r.jobs = append(r.jobs, before[i])
		before = slices.Delete(before, i, i+1)
	}
	for _, old := range before {
		old.ended.Store(true)
		old.stop()
		r.running.Go(func() { r.forget(old) })
	}
	r.ending = append(r.ending, before...)
	for _, j := range changed {
		r.jobs = append(r.jobs, r.begin(j, slices.Clone(r.ending)))
	}
	now := time.Now() // a target that comes back on the same day has spent what it spent
	maps.DeleteFunc(r.budgets, func(target string, spent *probe.Budget) bool { return spent.Unspent(now) && !r.runs(target) })
}

// runs reports whether a target is probed. The lock is held.
func (r *Runner) runs(target string) bool {
	return slices.ContainsFunc(r.jobs, func(j *runningJob) bool { return j.has(target) })
}

// begin starts a job when those before it that share a target have ended; it inherits
// from all of them. The lock is held.
func (r *Runner) begin(j *Job, before []*runningJob) *runningJob {
	starts, stop := context.WithCancel(r.starts)
	run := &runningJob{Job: j, stop: stop, done: make(chan struct{})}
	for i, m := range j.Members {
		m.Draining.Store(r.Draining())
		if j.Targets[i].WaitForReady > 0 {
			m.Waiting.Store(true)
		}
	}
	for _, named := range []bool{false, true} { // what was learnt under the same name last: it is what counts
		for _, old := range before {
			if old.sharesTarget(j) == named {
				j.Inherit(old.Job)
			}
		}
	}
	r.budgets.Give(j)
	run.group = j.Group(r.Observers.Attend(j))
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
			r.Observers.forget(t.Name)
		}
	}
}

// Drain makes every target's slots be skipped from now on, or ends that if they are
// skipped already, and reports which.
func (r *Runner) Drain() (draining bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	draining = !r.Draining()
	r.Observers.draining.Store(draining)
	for _, j := range r.jobs {
		for _, m := range j.Members {
			m.Draining.Store(draining)
		}
		r.Observers.describe(j.Job)
	}
	return draining
}

// Draining reports whether slots are skipped because of [Runner.Drain].
func (r *Runner) Draining() bool { return r.Observers.draining.Load() }
