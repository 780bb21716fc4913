// Package engine owns the running targets. A configuration comes in; results go out to the page, the metrics and the
// log. The engine reads the files that the configuration names, looks up addresses, makes a job of each group of
// targets, makes prompts as long as configured, runs the jobs, and replaces them when configuration or addresses
// change. It knows nothing about HTTP serving. Start reading at [Runner.Apply], which runs jobs, and [Assemble], which
// makes them.
package engine

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"reflect"
	"slices"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"github.com/llm-prober/prober/internal/config"
	"github.com/llm-prober/prober/internal/probe"
	"github.com/llm-prober/prober/internal/prompt"
	"github.com/llm-prober/prober/internal/schedule"
	"github.com/llm-prober/prober/internal/wire"
)

// A Job is one group of targets, ready to be probed.
type Job struct {
	Targets []config.Target // of the members, in their order
	Members []*probe.Member
	Plan    schedule.Plan
	Prompts prompt.Options

	meanPrompt int // tokens, see [prompt.Options.Mean]: to compute it again takes long for a data set

	writer *prompt.Writer
	length *length
	heard  atomic.Bool   // a probe was answered since [Job.FitAhead] was called last
	files  []fingerprint // the hashes of the targets' files
	ended  atomic.Bool   // it was stopped: its targets are not described any more
	log    *zap.Logger   // for what is found out about the prompts' length

	stop context.CancelFunc // no more probes of it begin; nil until a [Runner] begins it
	done chan struct{}      // closed when none is under way any more
}

// Assemble makes a job of each group, in the order of the targets. A nil dial is the network; version is for the
// User-Agent.
func Assemble(targets []config.Target, files *Files, dial probe.Dial, version string) ([]*Job, error) {
	var jobs []*Job
	byGroup := map[string]*Job{}
	seed := rand.Uint64() // no two runs ask the same
	for _, t := range targets {
		j := byGroup[t.Group]
		if j == nil {
			prompts, err := promptOptions(t, files, seed)
			if err != nil {
				return nil, fmt.Errorf("target %s: %w", t.Name, err)
			}
			j = newJob(t, prompts)
			byGroup[t.Group] = j
			jobs = append(jobs, j)
		}
		if err := j.add(t, files, dial, version); err != nil {
			return nil, fmt.Errorf("target %s: %w", t.Name, err)
		}
	}
	return jobs, nil
}

// newJob returns a job for the group of t, without members.
func newJob(t config.Target, prompts prompt.Options) *Job {
	return &Job{
		Plan:       schedule.Plan{Interval: Interval(t), Arrival: schedule.Arrival(t.Arrival), Name: t.Group},
		Prompts:    prompts,
		meanPrompt: prompts.Mean(),
		writer:     prompt.NewWriter(prompts),
		length:     newLength(),
		log:        zap.NewNop(),
	}
}

// Interval returns the time between two probes of t.
func Interval(t config.Target) time.Duration {
	return time.Duration(float64(time.Second) / t.QPS)
}

// add makes t a member of j.
func (j *Job) add(t config.Target, files *Files, dial probe.Dial, version string) error {
	security, err := files.tlsOf(t)
	if err != nil {
		return err
	}
	target := probe.Target{
		Name: t.Name, Group: t.Group, Prompt: t.Prompt, URL: t.URL, Path: t.Path,
		Key: t.APIKey.Reveal(), Header: http.Header{},
		Agent: "prober/" + version + " (synthetic monitoring; +https://github.com/llm-prober/prober)",
		Transport: probe.NewTransport(probe.Route{
			Dial: dial, To: t.Address, TLS: security, Reuse: t.Connection == "reuse", HTTP2: t.HTTPVersion == "2",
			UserTimestamps: t.Timestamps == "user",
		}),
		Timeout: t.Timeout, Stall: t.StallTimeout,
		Backoff: t.BackoffLimit, DayLimit: t.TokenBudgetPerDay,
		Version: t.APIVersion, Priority: t.Priority, Session: t.SessionHeader,
	}
	for name, value := range t.Headers {
		target.Header.Set(name, value.Reveal())
	}
	if t.API != wire.Auto {
		if target.Dialect, err = wire.Lookup(t.API); err != nil {
			return err
		}
	}
	if t.Server != wire.Auto {
		if target.Server, err = wire.LookupServer(t.Server); err != nil {
			return err
		}
	}
	j.files = append(j.files, files.hashesOf(t)...)
	j.Targets = append(j.Targets, t)
	j.Members = append(j.Members, probe.NewMember(target, t.Model, t.MaxInFlight))
	return nil
}

// Group returns the members of j as a group that is asked round by round. Their results go to a recorder.
func (j *Job) Group(to probe.Recorder) *probe.Group {
	return &probe.Group{
		Members: j.Members, Interval: j.Plan.Interval, Output: j.Targets[0].MaxTokens,
		Recorder: to, Ask: j.question, Fit: j.fit,
	}
}

// Insist makes every probe of j be sent at once, even if a server asked for a pause: who sends a probe by hand wants to
// see its answer.
func (j *Job) Insist() {
	for _, m := range j.Members {
		m.Insist()
	}
}

// Close closes idle connections.
func (j *Job) Close() {
	for _, m := range j.Members {
		m.Close()
	}
}

// has reports whether a target is a member of j.
func (j *Job) has(target string) bool {
	return slices.ContainsFunc(j.Targets, func(t config.Target) bool { return t.Name == target })
}

// same reports whether o has the same targets with the same settings, and whether the files that they name hold the
// same.
func (j *Job) same(o *Job) bool {
	return reflect.DeepEqual(j.Targets, o.Targets) && slices.Equal(j.files, o.files)
}

// Inherit takes over the capabilities of servers that an earlier job learned of as the same client. A member of the
// same name comes first.
func (j *Job) Inherit(old *Job) {
	for i, t := range j.Targets {
		from := -1
		for k, before := range old.Targets {
			if reflect.DeepEqual(t.Identity(), before.Identity()) && (from < 0 || before.Name == t.Name) {
				from = k
			}
		}
		if from >= 0 {
			j.Members[i].Inherit(old.Members[from])
		}
	}
}

// Budgets are the token budgets of targets, by name: what was spent today stays spent, whatever changes about a target.
type Budgets map[string]*probe.Budget

// Give gives each member of j the budget of its name.
func (b Budgets) Give(j *Job) {
	for i, t := range j.Targets {
		if b[t.Name] == nil {
			b[t.Name] = new(probe.Budget)
		}
		j.Members[i].Budget = b[t.Name]
	}
}
