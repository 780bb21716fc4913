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
	"github.com/llm-prober/prober/internal/telemetry"
)

// A Runner runs the jobs of a configuration. Its methods are called by one goroutine, except for SetDraining and
// Draining, which any goroutine may call.
type Runner struct {
	RunnerOptions

	book   *length.Book        // what is known of the length of prompts
	fetch  fetch               // asks sources for their lists
	counts *semaphore.Weighted // limits the groups whose prompts are counted before their first slot to countsAtOnce

	starts       context.Context // when it is done, no more probes begin
	stopStarts   context.CancelFunc
	probes       context.Context // when it is done, probes under way are canceled
	cancelProbes context.CancelFunc
	running      sync.WaitGroup // for each job, until it has ended

	// Only the goroutine that calls the methods uses these.
	config  *config.Config // in force; nil before the first Apply
	files   *files.Files   // that config names
	names   directory      // addresses of the hosts of dns+ URLs
	lists   lists          // of the sources of targets
	present inventory      // what config, names and lists come to; its targets are nil before the first Apply

	draining atomic.Bool // every slot is skipped; changed with mu held

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
		lists:         lists{},
		fetch:         newFetcher(o.Dial, o.Version).fetch,
		book:          length.NewBook(),
		counts:        semaphore.NewWeighted(countsAtOnce),
		budgets:       Budgets{},
	}
	if r.Lookup == nil {
		r.Lookup = systemLookup
	}
	r.starts, r.stopStarts = context.WithCancel(ctx)
	r.probes, r.cancelProbes = context.WithCancel(context.WithoutCancel(ctx))
	return r
}

// Apply makes r run the jobs of c, with the files that c names. All hosts of dns+ URLs are looked up, and all sources
// of targets are asked. A drain goes on. If there is an error, nothing changes.
func (r *Runner) Apply(ctx context.Context, c *config.Config, f *files.Files) error {
	names := r.lookUpHosts(ctx, c)
	found := r.askSources(ctx, c, always)
	next := takeInventory(c, names, found)
	jobs, err := Assemble(next.targets, f, r.book, r.Dial, r.Version)
	if err != nil {
		return err
	}
	if r.config == nil {
		r.logTargets(jobs)
	}
	f.Keep()
	r.config, r.files = c, f
	r.names, r.lists = names, found
	r.adopt(next, jobs)
	return nil
}

// LookUp looks up the hosts of dns+ URLs again and makes r run the jobs of their present addresses. It reads no file. A
// configuration has been applied before.
func (r *Runner) LookUp(ctx context.Context) {
	if len(hostsOf(r.config.Targets)) == 0 || r.Draining() {
		return
	}
	r.update(r.lookUpHosts(ctx, r.config), r.lists)
}

// NextList returns when the next source of targets is to be asked by [Runner.AskSources]; ok is false if there is none.
func (r *Runner) NextList() (at time.Time, ok bool) { return r.lists.nextDue() }

// AskSources asks the sources of targets that are due for their lists, and makes r run the jobs of their present
// targets. It reads no file. A configuration has been applied before.
func (r *Runner) AskSources(ctx context.Context) {
	now := time.Now()
	r.update(r.names, r.askSources(ctx, r.config, func(l list) bool { return !l.due.After(now) }))
}

// update makes r run the jobs of what names and lists come to.
func (r *Runner) update(names directory, found lists) {
	next := takeInventory(r.config, names, found)
	if reflect.DeepEqual(next, r.present) {
		r.names, r.lists = names, found
		r.markMissing()
		r.showFailedSources()
		return
	}
	jobs, err := Assemble(next.targets, r.files, r.book, r.Dial, r.Version)
	if err != nil {
		r.lists = found // asked again when they are due
		r.Log.Error("the new addresses cannot be probed; keeping the previous ones", zap.Error(err))
		return
	}
	r.names, r.lists = names, found
	if !reflect.DeepEqual(next.targets, r.present.targets) {
		r.Log.Info("addresses changed",
			zap.Int("targets", len(next.targets)), zap.Int("before", len(r.present.targets)))
	}
	r.adopt(next, jobs)
}

// adopt makes jobs, which are those of an inventory, the running set.
func (r *Runner) adopt(next inventory, jobs []*Job) {
	r.logShard(len(next.targets), next.all)
	next.listing.logChanges(r.present.listing, r.Log)
	r.present = next
	r.replace(jobs)
	r.markMissing()
	r.showFailedSources()
	dropped := 0
	for _, n := range next.listing.dropped {
		dropped += n
	}
	r.Observers.Metrics.SetListed(len(next.listing.targets), dropped)
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

// askSources asks the sources of targets that are due. It logs what has changed, and counts failures.
func (r *Runner) askSources(ctx context.Context, c *config.Config, isDue func(list) bool) lists {
	failures := atomic.Int64{}
	ask := func(ctx context.Context, s config.HTTPSD) ([]listed, error) {
		targets, err := r.fetch(ctx, s)
		if err != nil {
			failures.Add(1)
		}
		return targets, err
	}
	found := r.lists.next(ctx, ask, c.HTTPSD, isDue)
	if ctx.Err() == nil { // else the prober is stopping
		found.logChanges(r.lists, c.HTTPSD, r.Log)
		r.Observers.Metrics.Add(telemetry.SourceFailures, float64(failures.Load()))
	}
	return found
}

// showFailedSources shows on the page which sources of targets do not answer.
func (r *Runner) showFailedSources() {
	r.Observers.Board.SetFailedSources(r.lists.failed(r.config.HTTPSD))
}

// probesFail reports whether an address of a host is probed, and the last probe of each target there failed as if its
// server had ended.
func (r *Runner) probesFail(host string, a netip.Addr) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	isProbed := false
	for _, j := range r.jobs {
		for i, t := range j.Targets {
			isThere := t.EachAddress && t.Host() == host && t.Address == a.String()
			if isThere && !j.Members[i].Failing() {
				return false
			}
			isProbed = isProbed || isThere
		}
	}
	return isProbed
}

// markMissing lets the members know whether the last lookup lacked their address.
func (r *Runner) markMissing() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, j := range r.jobs {
		for i, t := range j.Targets {
			j.Members[i].Missing.Store(t.EachAddress && r.names.isMissing(t.Host(), t.Address))
		}
	}
}

// logShard logs how many of all targets are in our shard, if that is not what was logged last.
func (r *Runner) logShard(owns, all int) {
	isLogged := r.present.targets != nil && owns == len(r.present.targets)
	shard := r.config.Shard
	if shard.Of > 0 && !isLogged {
		r.Log.Info("shard", zap.Stringer("shard", shard), zap.Int("owns", owns), zap.Int("of", all))
	}
}

func (r *Runner) logTargets(jobs []*Job) {
	for _, j := range jobs {
		for _, t := range j.Targets {
			if !t.Enabled {
				r.Log.Info("target is disabled: it is not probed", zap.String("target", t.Name))
				continue
			}
			for i, p := range t.Prompts {
				r.Log.Info("target",
					zap.String("target", t.Name), zap.String("group", t.Group), zap.String("url", t.URL),
					zap.Float64("qps", t.RateOf(i)), zap.String("prompt", p.Name),
					zap.Int("prompt_tokens", p.Tokens), zap.Int("max_tokens", p.MaxTokens),
					zap.Int("tokens_per_day", j.TokensPerDayOf(t, i, 0)))
			}
		}
	}
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
	r.stopStarts()
	defer r.cancelProbes()
	defer time.AfterFunc(limit, r.cancelProbes).Stop()
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
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, j := range r.jobs {
		j.Close()
	}
}

// Targets returns how many targets are probed.
func (r *Runner) Targets() int { return len(r.present.targets) }
