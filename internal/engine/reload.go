package engine

import (
	"context"
	"maps"
	"slices"
	"time"

	"go.uber.org/zap"

	"github.com/llm-prober/prober/internal/config"
	"github.com/llm-prober/prober/internal/length"
	"github.com/llm-prober/prober/internal/observe"
	"github.com/llm-prober/prober/internal/probe"
)

// replace makes jobs the running set. If a running job is the same as one of them, it goes on in its place, with its
// series, phase and calibration. The other running jobs end. A changed job inherits what they know of its servers, and
// begins when the last probes of its targets have ended. Targets that are left out are forgotten.
func (r *Runner) replace(jobs []*Job) {
	r.mu.Lock()
	defer r.mu.Unlock()

	left := r.jobs // of the running jobs; in the end, those that do not go on
	r.jobs = nil
	var changed []*Job
	for _, j := range jobs {
		i := slices.IndexFunc(left, func(old *Job) bool { return old.isSameAs(j) })
		if i < 0 {
			changed = append(changed, j)
			continue
		}
		same := left[i]
		left = slices.Delete(left, i, i+1)
		for k, t := range j.Targets { // disabled or enabled; a probe in flight goes on
			same.Members[k].Disabled.Store(!t.Enabled)
		}
		same.recorder.Reconfigure(j.Targets)
		r.jobs = append(r.jobs, same)
	}
	for _, old := range left {
		old.recorder.End()
		old.stop()
		r.running.Go(func() { r.finish(old) })
	}
	r.ending = append(r.ending, left...)
	r.dropResults(jobs)

	for _, j := range changed {
		r.jobs = append(r.jobs, j)
		r.begin(j)
	}

	var prompts []*length.Questions
	for _, j := range r.jobs {
		prompts = append(prompts, j.Length.Prompts...)
	}
	r.book.Keep(prompts)
	r.Observers.Reject(slices.Concat(r.config.Rejected, r.present.listing.rejected), r.isProbed)
	r.dropBudgets()
}

// begin starts a job as soon as the ending jobs that share a target with it have ended. The job inherits from all
// ending jobs. The lock is held.
func (r *Runner) begin(j *Job) {
	starts, stop := context.WithCancel(r.starts)
	j.stop, j.done = stop, make(chan struct{})
	j.log = r.Log.With(zap.String("group", j.Targets[0].Group))
	j.panics = observe.PanicLog{Log: j.log, Metrics: r.Observers.Metrics}
	if r.config.Vantage != "" { // so that probers of several vantages do not start in the same millisecond
		j.Plan.Name += " from " + r.config.Vantage
	}

	var others, sharing []*Job // ending jobs without and with a target of j
	for _, old := range r.ending {
		if slices.ContainsFunc(j.Targets, func(t config.Target) bool { return old.has(t.Name) }) {
			sharing = append(sharing, old)
		} else {
			others = append(others, old)
		}
	}
	for i, m := range j.Members {
		m.Waiting.Store(j.Targets[i].WaitForReady > 0)
	}
	for _, old := range slices.Concat(others, sharing) { // in this order: what the last one knows replaces the rest
		j.Inherit(old)
	}
	for i, t := range j.Targets {
		m := j.Members[i]
		m.Draining.Store(r.Draining())
		m.Disabled.Store(!t.Enabled)
		if !t.Enabled { // servers are restarted meanwhile: one that was ready need not be once it is enabled again
			m.Waiting.Store(t.WaitForReady > 0)
		}
	}
	r.budgets.AssignTo(j)

	j.recorder = j.RecorderFor(r.Observers)
	group := j.Group(j.recorder)
	r.running.Go(func() {
		defer close(j.done)
		for _, old := range sharing {
			<-old.done
		}
		r.runJob(starts, j, group)
	})
}

// finish waits for the end of a job, and makes the observers forget the prompts of targets that no other job asks.
func (r *Runner) finish(old *Job) {
	<-old.done
	old.Close()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ending = slices.DeleteFunc(r.ending, func(j *Job) bool { return j == old })
	for _, t := range old.Targets {
		for _, p := range t.Prompts {
			isAsked := slices.ContainsFunc(r.jobs, func(j *Job) bool { return j.has(t.Name) && j.PromptIndex(p.Name) >= 0 })
			if !isAsked {
				r.Observers.Forget(t.Name, p.Name)
			}
		}
	}
}

// dropResults drops further results of the ending jobs for each prompt of a target that measures something else in
// jobs, because they would get into its series. The lock is held.
func (r *Runner) dropResults(jobs []*Job) {
	for _, old := range r.ending {
		for _, t := range old.Targets {
			for _, j := range jobs {
				if j.has(t.Name) {
					old.dropResults(t, j)
				}
			}
		}
	}
}

// dropResults drops further results of an ending job for each prompt of t that measures something else in another job.
func (j *Job) dropResults(t config.Target, other *Job) {
	for i, p := range t.Prompts {
		index := other.PromptIndex(p.Name)
		if index >= 0 && !sameSeries(t.Name, j, i, other, index) {
			j.recorder.DropResults(t.Name, p.Name)
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
