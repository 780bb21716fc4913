// Package engine owns the running targets. A configuration comes in; results go out to the page, the metrics and the
// log. The engine looks up addresses, makes a job of each group of
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

	"go.uber.org/zap"

	"github.com/llm-prober/prober/internal/config"
	"github.com/llm-prober/prober/internal/files"
	"github.com/llm-prober/prober/internal/length"
	"github.com/llm-prober/prober/internal/observe"
	"github.com/llm-prober/prober/internal/probe"
	"github.com/llm-prober/prober/internal/prompt"
	"github.com/llm-prober/prober/internal/schedule"
	"github.com/llm-prober/prober/internal/wire"
)

// A Job is one group of targets, ready to be probed.
type Job struct {
	Targets []config.Target // one for each of Members, in the same order
	Members []*probe.Member
	Plan    schedule.Plan
	Prompts prompt.Options

	meanPrompt int // tokens: [prompt.Options.Mean], which takes long to compute for a data set

	Length *length.Questions // what the members are asked
	next   atomic.Uint64     // the first round that [Job.Ask] has not asked

	hashes []files.Hash // of the files that the targets name
	log    *zap.Logger  // gets what is found out about the length of the prompts

	failures observe.Failures  // of the prober itself, while it works for this job
	recorder *observe.Recorder // shows the targets and their results; nil until a [Runner] begins the job

	stop context.CancelFunc // lets no more probes begin; nil until a [Runner] begins the job
	done chan struct{}      // closed when the job has been stopped and its last probe has ended
}

// Assemble makes a job of each group, in the order of the targets. A nil dial connects over the network; version goes
// into the User-Agent.
// What the book says of how servers count need not be asked.
func Assemble(
	targets []config.Target, f *files.Files, book *length.Book, dial probe.Dial, version string,
) ([]*Job, error) {
	var jobs []*Job
	byGroup := map[string]*Job{}
	seed := rand.Uint64() // so that no two runs send the same prompts
	for _, t := range targets {
		j := byGroup[t.Group]
		if j == nil {
			prompts, err := promptOptions(t, f, seed)
			if err != nil {
				return nil, fmt.Errorf("target %s: %w", t.Name, err)
			}
			j = newJob(t, prompts)
			byGroup[t.Group] = j
			jobs = append(jobs, j)
		}
		if err := j.add(t, f, dial, version); err != nil {
			return nil, fmt.Errorf("target %s: %w", t.Name, err)
		}
	}
	for _, j := range jobs {
		j.Length = length.New(length.Options{
			Prompts: j.Prompts, Members: j.Members, Servers: kindsOf(j.Targets), Every: j.Plan.Interval, Events: j.noteLength,
		}, book)
	}
	return jobs, nil
}

// newJob returns a job for the group of t, without members.
func newJob(t config.Target, prompts prompt.Options) *Job {
	return &Job{
		Plan:       schedule.Plan{Interval: t.Interval(), Pattern: schedule.Pattern(t.Arrival), Name: t.Group},
		Prompts:    prompts,
		meanPrompt: prompts.Mean(),
		log:        zap.NewNop(),
		failures:   observe.Failures{Log: zap.NewNop()},
	}
}

// add makes t a member of j.
func (j *Job) add(t config.Target, f *files.Files, dial probe.Dial, version string) error {
	security, err := f.TLS(t)
	if err != nil {
		return err
	}
	target := probe.Target{
		Name: t.Name, Group: t.Group, Prompt: t.Prompt, URL: t.URL, Path: t.Path,
		Key: t.APIKey.Reveal(), Header: http.Header{},
		Agent: "prober/" + version + " (synthetic monitoring; +https://github.com/llm-prober/prober)",
		Transport: probe.NewTransport(probe.Route{
			Dial: dial, To: t.Address, TLS: security, ServerName: t.NameForTLS(),
			Reuse: t.Connection == "reuse", HTTP2: t.HTTPVersion == "2", UserTimestamps: t.Timestamps == "user",
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
	j.hashes = append(j.hashes, f.Hashes(t)...)
	j.Targets = append(j.Targets, t)
	j.Members = append(j.Members, probe.NewMember(target, t.Model, t.MaxInFlight))
	return nil
}

// Group returns a group of the members of j, which is asked round by round. Its results go to a recorder.
func (j *Job) Group(to probe.Recorder) *probe.Group {
	return &probe.Group{Members: j.Members, Interval: j.Plan.Interval, Questions: j.Length, Recorder: to}
}

// RecorderFor shows the targets of j to observers, and returns the recorder of its results.
func (j *Job) RecorderFor(o *observe.Observers) *observe.Recorder {
	var targets []observe.Target
	for i, t := range j.Targets {
		targets = append(targets, observe.Target{
			Config: t, Member: j.Members[i], Lengths: j.Lengths(t), TokensPerDay: j.TokensPerDay(t, 0),
			Length: func() length.Snapshot { return j.Length.Snapshot(i) },
		})
	}
	return o.NewRecorder(targets, j.failures)
}

// IgnorePauses makes every probe of j be sent at once, whatever pause a server asked for.
func (j *Job) IgnorePauses() {
	for _, m := range j.Members {
		m.IgnorePauses()
	}
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

// Close closes idle connections.
func (j *Job) Close() {
	for _, m := range j.Members {
		m.Close()
	}
}

// Place returns which member of j a target is; -1 if it is none.
func (j *Job) Place(target string) int {
	return slices.IndexFunc(j.Targets, func(t config.Target) bool { return t.Name == target })
}

// has reports whether a target is a member of j.
func (j *Job) has(target string) bool { return j.Place(target) >= 0 }

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

// Inherit takes over what the members of an earlier job know of their servers, also if they asked with other
// credentials: a key that is rotated makes no other server. Addresses of one name share nothing: while they are upgraded
// one by one, what one of them shows is wrong for another, and to ask each what it is costs little.
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

// Give gives each member of j the budget of its name.
func (b Budgets) Give(j *Job) {
	for i, t := range j.Targets {
		if b[t.Name] == nil {
			b[t.Name] = new(probe.Budget)
		}
		j.Members[i].Budget = b[t.Name]
	}
}
