// Package engine owns the running targets. A configuration comes in; results go out to the observers. The engine makes
// a job of each group of targets, runs the jobs, and replaces them when the configuration changes, or the addresses
// behind the names of replicas. It knows nothing about HTTP serving. Start reading at [Assemble], which makes jobs, and
// at [Runner.Apply], which runs them.
package engine

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"github.com/llm-prober/prober/internal/config"
	"github.com/llm-prober/prober/internal/files"
	"github.com/llm-prober/prober/internal/length"
	"github.com/llm-prober/prober/internal/observe"
	"github.com/llm-prober/prober/internal/probe"
	"github.com/llm-prober/prober/internal/prompt"
	"github.com/llm-prober/prober/internal/report"
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
// into the User-Agent. What the book says of how servers count is not asked again.
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
			j = &Job{
				Plan:       schedule.Plan{Interval: t.Interval(), Pattern: schedule.Pattern(t.Arrival), Name: t.Group},
				Prompts:    prompts,
				meanPrompt: prompts.Mean(),
				log:        zap.NewNop(),
				failures:   observe.Failures{Log: zap.NewNop()},
			}
			byGroup[t.Group] = j
			jobs = append(jobs, j)
		}
		target, err := probeTarget(t, f, dial, version)
		if err != nil {
			return nil, fmt.Errorf("target %s: %w", t.Name, err)
		}
		j.Targets = append(j.Targets, t)
		j.Members = append(j.Members, probe.NewMember(target, t.Model, t.MaxInFlight))
		j.hashes = append(j.hashes, f.Hashes(t)...)
	}
	for _, j := range jobs {
		j.Length = length.New(length.Options{
			Prompts: j.Prompts, Members: j.Members, Kinds: kindsOf(j.Targets), Every: j.Plan.Interval, Events: j.noteLength,
		}, book)
	}
	return jobs, nil
}

// probeTarget returns what is asked for t, with the files that t names.
func probeTarget(t config.Target, f *files.Files, dial probe.Dial, version string) (probe.Target, error) {
	security, err := f.TLS(t)
	if err != nil {
		return probe.Target{}, err
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
		target.Dialect, err = wire.Lookup(t.API)
		if err != nil {
			return probe.Target{}, err
		}
	}
	if t.Server != wire.Auto {
		target.Server, err = wire.LookupServer(t.Server)
		if err != nil {
			return probe.Target{}, err
		}
	}
	return target, nil
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

// Lengths returns the lengths of the prompts and answers of t, which is a target of j.
func (j *Job) Lengths(t config.Target) report.Lengths {
	return report.Lengths{Prompt: t.PromptTokens, Longest: j.Prompts.Longest(), Answer: t.MaxTokens}
}

// TokensPerDay returns how many tokens t costs a day if a probe takes so long. Skipped slots cost nothing; if took is
// 0, it is not known, and no slot is assumed to be skipped. Prompts of a data set are assumed to have one token per
// word.
func (j *Job) TokensPerDay(t config.Target, took time.Duration) int {
	perProbe := float64(cmp.Or(j.meanPrompt, j.Prompts.Mean()) + t.MaxTokens)
	perDay := int(math.Round(t.QPS * 86400 * probedShare(t, took) * perProbe))
	if t.TokenBudgetPerDay > 0 {
		return min(perDay, t.TokenBudgetPerDay)
	}
	return perDay
}

// probedShare returns the share of the slots that are probed if a probe takes so long. The other slots are skipped,
// because too many probes are in flight.
func probedShare(t config.Target, took time.Duration) float64 {
	return min(1, float64(t.MaxInFlight)/math.Ceil(float64(took)/float64(t.Interval())))
}
