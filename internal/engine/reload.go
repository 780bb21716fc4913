package engine

import (
	"context"
	"maps"
	"reflect"
	"slices"
	"time"

	"go.uber.org/zap"

	"github.com/llm-prober/prober/internal/config"
	"github.com/llm-prober/prober/internal/length"
	"github.com/llm-prober/prober/internal/observe"
	"github.com/llm-prober/prober/internal/probe"
)

// replace makes jobs the running set. A job that is the same as a running one is dropped in favor of that, which goes
// on with its series, phase and calibration. A changed job inherits what was learned about its servers, and begins when
// the probes of its targets have ended. Targets that are left out are forgotten.
func (r *Runner) replace(jobs []*Job) {
	r.mu.Lock()
	defer r.mu.Unlock()
	before := r.jobs // in the end, those that do not go on
	r.jobs = nil
	var changed []*Job
	for _, j := range jobs {
		i := slices.IndexFunc(before, func(old *Job) bool { return old.same(j) })
		if i < 0 {
			changed = append(changed, j)
			continue
		}
		before[i].setEnabled(j.Targets)
		before[i].recorder.Reconfigure(j.Targets)
		r.jobs = append(r.jobs, before[i])
		before = slices.Delete(before, i, i+1)
	}
	for _, old := range before {
		old.recorder.End()
		old.stop()
		r.running.Go(func() { r.finish(old) })
	}
	r.ending = append(r.ending, before...)
	r.dropResults(jobs)
	for _, j := range changed {
		r.jobs = append(r.jobs, j)
		r.begin(j)
	}
	groups := make([]*length.Questions, len(r.jobs))
	for i, j := range r.jobs {
		groups[i] = j.Length
	}
	r.book.Keep(groups)
	r.Observers.Reject(r.config.Rejected, r.isProbed)
	r.dropBudgets()
}

// begin starts a job as soon as all ending jobs that share a target with it have ended. The job inherits from all
// ending jobs. The lock is held.
func (r *Runner) begin(j *Job) {
	starts, stop := context.WithCancel(r.starts)
	j.stop, j.done = stop, make(chan struct{})
	j.log = r.Log.With(zap.String("group", j.Targets[0].Group))
	j.failures = observe.Failures{Log: j.log, Metrics: r.Observers.Metrics}
	if r.config.Vantage != "" { // so that probers of several vantages do not start in the same millisecond
		j.Plan.Name += " from " + r.config.Vantage
	}
	for i, m := range j.Members {
		m.Draining.Store(r.Draining())
		m.Waiting.Store(j.Targets[i].WaitForReady > 0)
	}
	shared := slices.DeleteFunc(slices.Clone(r.ending), func(old *Job) bool {
		return !slices.ContainsFunc(j.Targets, func(t config.Target) bool { return old.has(t.Name) })
	})
	for _, old := range slices.Concat(r.ending, shared) { // those of the same targets last: they count most
		j.Inherit(old)
	}
	j.setEnabled(j.Targets)
	r.budgets.AssignTo(j)
	j.recorder = j.RecorderFor(r.Observers)
	group := j.Group(j.recorder)
	r.running.Go(func() {
		defer close(j.done)
		for _, old := range shared {
			<-old.done
		}
		r.probe(starts, j, group)
	})
}

// finish waits for the end of a job, and makes the observers forget the targets that no other job probes.
func (r *Runner) finish(old *Job) {
	<-old.done
	old.Close()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ending = slices.DeleteFunc(r.ending, func(j *Job) bool { return j == old })
	for _, t := range old.Targets {
		if !r.isProbed(t.Name) {
			r.Observers.Forget(t.Name)
		}
	}
}

// dropResults drops further results of ending jobs, as far as their targets are asked something else by jobs. The lock
// is held.
func (r *Runner) dropResults(jobs []*Job) {
	for _, old := range r.ending {
		for i, t := range old.Targets {
			for _, j := range jobs {
				k := j.Place(t.Name)
				if k >= 0 && !old.measuresAs(i, j, k) {
					old.recorder.DropResults(t.Name)
				}
			}
		}
	}
}

// dropBudgets drops the budgets of targets that are gone and have spent nothing today. Others are kept, because a
// target that comes back on the same day must not spend its budget twice. The lock is held.
func (r *Runner) dropBudgets() {
	now := time.Now()
	maps.DeleteFunc(r.budgets, func(target string, spent *probe.Budget) bool {
		return spent.IsUnused(now) && !r.isProbed(target)
	})
}

// isProbed reports whether a target is probed. The lock is held.
func (r *Runner) isProbed(target string) bool {
	return slices.ContainsFunc(r.jobs, func(j *Job) bool { return j.has(target) })
}

// same reports whether o probes the same targets in the same way, with files of the same contents.
func (j *Job) same(o *Job) bool {
	return reflect.DeepEqual(probed(j.Targets), probed(o.Targets)) && slices.Equal(j.hashes, o.hashes)
}

// probed returns a copy of targets without the settings that no probe depends on. A target that is disabled or enabled
// stays the same, unless its server is waited for: then it begins anew, with waiting.
func probed(targets []config.Target) []config.Target {
	targets = slices.Clone(targets)
	for i := range targets {
		targets[i].Labels, targets[i].Objectives, targets[i].GivenObjectives, targets[i].Places = nil, nil, nil, nil
		targets[i].Refusals = ""
		if targets[i].WaitForReady == 0 {
			targets[i].Enabled = false
		}
	}
	return targets
}

// measuresAs reports whether member i of j measures what member k of o measures: results of either may stand in the
// same series. What only decides when a probe starts and ends, or what is made of it, does not matter.
func (j *Job) measuresAs(i int, o *Job, k int) bool {
	what := func(t config.Target) config.Target {
		t = probed([]config.Target{t})[0]
		t.QPS, t.Arrival, t.MaxInFlight = 0, "", 0
		t.Timeout, t.StallTimeout, t.BackoffLimit, t.WaitForReady = 0, 0, 0, 0
		t.TokenBudgetPerDay, t.Enabled = 0, false
		if t.APIKeyFile != "" { // a new key in the same file belongs to the same client
			t.APIKey = config.Secret{}
		}
		return t
	}
	mine, others := j.Prompts.Dataset, o.Prompts.Dataset // equal files have the same data set, see [files.Files.DataSet]
	sameSet := len(mine) == len(others) && (len(mine) == 0 || &mine[0] == &others[0])
	return sameSet && reflect.DeepEqual(what(j.Targets[i]), what(o.Targets[k]))
}

// setEnabled disables and enables the members of j as targets say, which are those of j. A probe in flight goes on.
// Servers are restarted while their target is disabled, so that one which is to be waited for is not ready any more.
func (j *Job) setEnabled(targets []config.Target) {
	for i, t := range targets {
		j.Members[i].Disabled.Store(!t.Enabled)
		if !t.Enabled && t.WaitForReady > 0 {
			j.Members[i].Waiting.Store(true)
		}
	}
}

// Inherit takes over what the members of an earlier job know of their servers, also if they asked with other
// credentials: a key that is rotated makes no other server. Addresses of one name share nothing: while they are
// upgraded one by one, what one of them shows is wrong for another, and to ask each what it is costs little.
func (j *Job) Inherit(old *Job) {
	for i, t := range j.Targets {
		var like *probe.Member // asks the same server; if possible that of the same name, else of the same client
		likeness := 0
		sameClient := false
		for k, other := range old.Targets {
			if !reflect.DeepEqual(other.Destination(), t.Destination()) {
				continue
			}
			rank := 1
			isSameClient := reflect.DeepEqual(other.Identity(), t.Identity())
			if isSameClient {
				rank++
			}
			if other.Name == t.Name {
				rank += 2
			}
			if rank > likeness {
				like, likeness, sameClient = old.Members[k], rank, isSameClient
			}
		}
		if like != nil {
			j.Members[i].Inherit(like, sameClient)
		}
	}
}

// Budgets are the token budgets of targets, by name. What a target has spent today stays spent, whatever changes about
// it.
type Budgets map[string]*probe.Budget

// AssignTo makes each member of j spend the budget of its name.
func (b Budgets) AssignTo(j *Job) {
	for i, t := range j.Targets {
		if b[t.Name] == nil {
			b[t.Name] = new(probe.Budget)
		}
		j.Members[i].Budget = b[t.Name]
	}
}
