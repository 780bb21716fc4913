package engine

import (
	"context"
	"net/netip"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"
	"golang.org/x/sync/semaphore"

	"github.com/llm-prober/prober/internal/config"
	"github.com/llm-prober/prober/internal/files"
	"github.com/llm-prober/prober/internal/length"
	"github.com/llm-prober/prober/internal/observe"
	"github.com/llm-prober/prober/internal/probe"
	"github.com/llm-prober/prober/internal/schedule"
	"github.com/llm-prober/prober/internal/telemetry"
)

const (
	// countsAtOnce is how many groups may have their prompts counted at the same time. A prompt of 21,000 tokens takes
	// half a MB of memory meanwhile.
	countsAtOnce = 32

	// countWait is how long a group waits for its turn, and how long its own counting may then take.
	countWait = 30 * time.Second
)

// A Runner runs the jobs of a configuration. Its methods are called by one goroutine, except for SetDraining and
// Draining, which any goroutine may call.
type Runner struct {
	RunnerOptions

	config  *config.Config  // in force; nil before the first Apply
	files   *files.Files    // that config names
	names   directory       // addresses of the hosts of dns+ URLs
	targets []config.Target // probed now: those of config in our shard, one for each address; nil before the first Apply

	starts   context.Context // when it is done, no more probes begin
	stop     context.CancelFunc
	probes   context.Context // when it is done, probes under way are canceled
	drop     context.CancelFunc
	running  sync.WaitGroup
	draining atomic.Bool         // see SetDraining
	book     *length.Book        // what is known of the length of prompts
	counts   *semaphore.Weighted // limits the groups whose prompts are counted to countsAtOnce

	mu      sync.Mutex // guards all below
	jobs    []*Job
	ending  []*Job // stopped jobs with probes under way
	budgets Budgets
}

// RunnerOptions are what a runner needs beside a configuration.
type RunnerOptions struct {
	Observers *observe.Observers
	Log       *zap.Logger
	Version   string     // of the prober, for the User-Agent
	Dial      probe.Dial // connects to targets; nil: over the network
	Lookup    Lookup     // finds the addresses behind names; nil: by the system's name servers
}

// NewRunner returns a runner without jobs. When ctx is done, no more probes begin.
func NewRunner(ctx context.Context, o RunnerOptions) *Runner {
	r := &Runner{
		RunnerOptions: o,
		names:         directory{},
		book:          length.NewBook(),
		counts:        semaphore.NewWeighted(countsAtOnce),
		budgets:       Budgets{},
	}
	if r.Lookup == nil {
		r.Lookup = systemLookup
	}
	r.starts, r.stop = context.WithCancel(ctx)
	r.probes, r.drop = context.WithCancel(context.WithoutCancel(ctx))
	return r
}

// Apply makes r run the jobs of c, with the files that c names. A drain goes on. If there is an error, nothing changes.
func (r *Runner) Apply(ctx context.Context, c *config.Config, f *files.Files) error {
	names := r.lookUpHosts(ctx, c)
	all := expand(c.Targets, names)
	targets := share(all, c.Shard)
	jobs, err := Assemble(targets, f, r.book, r.Dial, r.Version)
	if err != nil {
		return err
	}
	if r.config == nil {
		r.logTargets(jobs)
	}
	f.Keep()
	r.config, r.files = c, f
	r.run(names, targets, len(all), jobs)
	return nil
}

// LookUp looks up the hosts of dns+ URLs again and makes r run the jobs of their present addresses. It reads no file.
func (r *Runner) LookUp(ctx context.Context) {
	if len(hostsOf(r.config.Targets)) == 0 || r.Draining() {
		return
	}
	names := r.lookUpHosts(ctx, r.config)
	all := expand(r.config.Targets, names)
	targets := share(all, r.config.Shard)
	if reflect.DeepEqual(targets, r.targets) {
		r.names = names
		r.markMissing()
		return
	}
	jobs, err := Assemble(targets, r.files, r.book, r.Dial, r.Version)
	if err != nil {
		r.Log.Error("the new addresses cannot be probed; keeping the previous ones", zap.Error(err))
		return
	}
	r.Log.Info("addresses changed", zap.Int("targets", len(targets)), zap.Int("before", len(r.targets)))
	r.run(names, targets, len(all), jobs)
}

// lookUpHosts looks up the hosts of dns+ URLs. It logs what has changed, and counts failures.
func (r *Runner) lookUpHosts(ctx context.Context, c *config.Config) directory {
	names := r.names.next(ctx, r.Lookup, hostsOf(c.Targets), r.probesFail)
	if ctx.Err() == nil { // else the prober is stopping
		names.logChanges(r.names, r.Log)
		r.Observers.Metrics.Add(telemetry.LookupFailures, float64(names.failed()))
	}
	return names
}

// probesFail reports whether the last probe of each target at an address of a host failed as if its server had ended.
func (r *Runner) probesFail(host string, a netip.Addr) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	fail := false
	for _, j := range r.jobs {
		for i, t := range j.Targets {
			if !t.EachAddress || t.Host() != host || t.Address != a.String() {
				continue
			}
			if !j.Members[i].Failing() {
				return false
			}
			fail = true
		}
	}
	return fail
}

// markMissing tells the members whether the last lookup lacked their address.
func (r *Runner) markMissing() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, j := range r.jobs {
		for i, t := range j.Targets {
			j.Members[i].Missing.Store(t.EachAddress && r.names.isMissing(t.Host(), t.Address))
		}
	}
}

// run makes jobs the running set: those of targets, which are our share of all targets.
func (r *Runner) run(names directory, targets []config.Target, all int, jobs []*Job) {
	isLogged := r.targets != nil && len(targets) == len(r.targets)
	if shard := r.config.Shard; shard.Of > 0 && !isLogged {
		r.Log.Info("shard", zap.Stringer("shard", shard), zap.Int("owns", len(targets)), zap.Int("of", all))
	}
	r.names, r.targets = names, targets
	r.replace(jobs)
	r.markMissing()
}

// logTargets writes a line for each target of jobs.
func (r *Runner) logTargets(jobs []*Job) {
	for _, j := range jobs {
		for _, t := range j.Targets {
			if !t.Enabled {
				r.Log.Info("target is disabled: it is not probed", zap.String("target", t.Name))
				continue
			}
			r.Log.Info("target",
				zap.String("target", t.Name), zap.String("group", t.Group), zap.String("url", t.URL),
				zap.Float64("qps", t.QPS), zap.String("prompt", t.Prompt),
				zap.Int("prompt_tokens", t.PromptTokens), zap.Int("max_tokens", t.MaxTokens),
				zap.Int("tokens_per_day", j.TokensPerDay(t, 0)))
		}
	}
}

// probe probes one job as planned until starts is done. A member whose server is not ready yet joins later.
func (r *Runner) probe(starts context.Context, j *Job, group *probe.Group) {
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
		Late: func(uint64) { group.Late() },
	})
}

// prepare makes the prompts of j exact before the first slot, by some of its members. It waits while too many other
// groups do the same. A server that hangs delays the first slot by twice countWait at most; the slots then try again.
func (r *Runner) prepare(ctx context.Context, j *Job, members []int) {
	defer j.failures.Survive("writing prompts")
	wait, cancel := context.WithTimeout(ctx, countWait)
	defer cancel()
	if r.counts.Acquire(wait, 1) == nil {
		defer r.counts.Release(1)
	}
	limited, stop := context.WithTimeout(ctx, countWait)
	defer stop()
	j.Length.Prepare(limited, members)
}

// identifyEvery is how often a server is asked for its type, version and model.
const identifyEvery = 24 * time.Hour

// betweenRounds does what would delay the next round: it makes the next prompt exact, if a server has answered since
// the last time, and asks the servers once a day what they are.
func (r *Runner) betweenRounds(ctx context.Context, j *Job) {
	defer j.failures.Survive("writing prompts")
	limited, stop := context.WithTimeout(ctx, countWait)
	defer stop()
	j.Length.Ahead(limited)
	var identifying sync.WaitGroup
	for _, i := range j.Length.Active() {
		identifying.Go(func() {
			defer j.failures.Survive("asking what a server is")
			m := j.Members[i]
			known := m.Knowledge()
			if known.Answered && known.Suffices() { // else the next probe asks, or an answer after a failure makes m ask
				_, _ = m.Identify(limited, identifyEvery)
			}
		})
	}
	identifying.Wait()
	j.recorder.Describe()
}

// awaitReady waits for the server of member i of j, and then lets it be probed like the others.
func (r *Runner) awaitReady(ctx context.Context, j *Job, i int) {
	defer j.failures.Survive("waiting for a server")
	m, since := j.Members[i], time.Now()
	limit := j.Targets[i].WaitForReady
	log := r.Log.With(zap.String("target", m.Name()))
	log.Info("waiting for the server to be ready", zap.Duration("limit", limit))
	err := m.Await(ctx, limit)
	waited := zap.Duration("waited", time.Since(since))
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

// SetDraining begins or ends a drain, during which every slot is skipped. It reports whether anything changed.
func (r *Runner) SetDraining(draining bool) (changed bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.Draining() == draining {
		return false
	}
	r.draining.Store(draining)
	for _, j := range slices.Concat(r.jobs, r.ending) {
		for _, m := range j.Members {
			m.Draining.Store(draining)
		}
		j.recorder.Describe()
	}
	return true
}

// Draining reports whether every slot is skipped because of [Runner.SetDraining].
func (r *Runner) Draining() bool { return r.draining.Load() }

// Stop ends all probing. No more probes begin. It waits for those under way, cancels them after limit, and leaves
// behind what has not ended five seconds later.
func (r *Runner) Stop(limit time.Duration) {
	const patience = 5 * time.Second
	r.stop()
	defer r.drop()
	defer time.AfterFunc(limit, r.drop).Stop()
	ended := make(chan struct{})
	go func() {
		r.running.Wait()
		close(ended)
	}()
	select {
	case <-ended:
	case <-time.After(limit + patience):
		r.Log.Error("some probes did not end and are left behind")
	}
	for _, j := range r.jobs {
		j.Close()
	}
}

// Targets returns how many targets are probed.
func (r *Runner) Targets() int { return len(r.targets) }
