// Package engine owns the running targets: it makes jobs of them, makes their prompts as long as asked, runs them, and
// replaces them when configuration or addresses change. It reads the files that the configuration names, and knows nothing
// about HTTP serving.
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

	meanPrompt int // tokens of Prompts, see [prompt.Options.Mean]: to count them again takes long for a data set

	writer *prompt.Writer
	length *length
	heard  atomic.Bool   // a probe was answered since the length of prompts was looked after
	files  []fingerprint // the hashes of the targets' files
	ended  atomic.Bool   // it was stopped: its targets are not described any more
	log    *zap.Logger   // of what is found out about the prompts' length

	stop context.CancelFunc // no more probes of it begin; nil until a [Runner] begins it
	done chan struct{}      // closed when none is under way any more
}

// Assemble makes a job of each group, in the order of the targets. A nil dial is the network; version is for the
// User-Agent.
func Assemble(targets []config.Target, files *Files, dial probe.Dial, version string) ([]*Job, error) {
	var jobs []*Job
	seed := rand.Uint64() // no two runs ask the same
	for _, t := range targets {
		i := slices.IndexFunc(jobs, func(j *Job) bool { return j.Plan.Name == t.Group })
		if i < 0 {
			prompts, err := promptOptions(t, files, seed)
			if err != nil {
				return nil, fmt.Errorf("target %s: %w", t.Name, err)
			}
			plan := schedule.Plan{Interval: Interval(t), Arrival: schedule.Arrival(t.Arrival), Name: t.Group}
			i, jobs = len(jobs), append(jobs, &Job{
				Plan: plan, Prompts: prompts, meanPrompt: prompts.Mean(), writer: prompt.NewWriter(prompts),
				length: newLength(), log: zap.NewNop(),
			})
		}
		if err := jobs[i].add(t, files, dial, version); err != nil {
			return nil, fmt.Errorf("target %s: %w", t.Name, err)
		}
	}
	return jobs, nil
}

// Interval is the time between two probes of t.
func Interval(t config.Target) time.Duration {
	return time.Duration(float64(time.Second) / t.QPS)
}

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
			UserStamps: t.Timestamps == "user",
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

// Group is the members of j as they are asked round by round, with what takes the results.
func (j *Job) Group(to probe.Recorder) *probe.Group {
	return &probe.Group{
		Members: j.Members, Interval: j.Plan.Interval, Output: j.Targets[0].MaxTokens,
		Recorder: to, Ask: j.question, Fit: j.fit,
	}
}

// Insist makes every probe of j be sent at once, also after a server asked for a pause: who sends one by hand wants
// to see its answer.
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

func (j *Job) has(target string) bool {
	return slices.ContainsFunc(j.Targets, func(t config.Target) bool { return t.Name == target })
}

// same reports whether o has the same configuration of the same targets, and the same in the files that they name.
func (j *Job) same(o *Job) bool {
	return reflect.DeepEqual(j.Targets, o.Targets) && slices.Equal(j.files, o.files)
}

// Inherit takes over what servers taught an earlier job that was the same client, preferably under the same name.
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

// Budgets are what targets spend, by name: what is spent of a day stays spent, whatever else changes about a target.
type Budgets map[string]*probe.Budget

// Give gives the targets of j their budgets.
func (b Budgets) Give(j *Job) {
	for i, t := range j.Targets {
		if b[t.Name] == nil {
			b[t.Name] = new(probe.Budget)
		}
		j.Members[i].Budget = b[t.Name]
	}
}
