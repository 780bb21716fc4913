// Package engine owns the running targets. A configuration comes in; results go out to the observers. The engine makes
// a job of each group of targets, runs the jobs, and replaces them when the configuration changes, or the addresses
// behind the names of replicas. It knows nothing about HTTP serving.
//
// Start reading at [Assemble], which makes jobs, and go on with [Runner.Apply], which runs them. Commands that end use
// the jobs without a runner: see [Job.Once].
package engine

import (
	"context"
	"math"
	"slices"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"github.com/llm-prober/prober/internal/config"
	"github.com/llm-prober/prober/internal/files"
	"github.com/llm-prober/prober/internal/length"
	"github.com/llm-prober/prober/internal/observe"
	"github.com/llm-prober/prober/internal/probe"
	"github.com/llm-prober/prober/internal/report"
	"github.com/llm-prober/prober/internal/schedule"
)

// A Job is one group of targets, ready to be probed.
type Job struct {
	Targets []config.Target // as assembled: a reload that changes nothing that is probed leaves them as they are
	Members []*probe.Member // one for each of Targets, in the same order
	Plan    schedule.Plan
	Length  *length.Rotation // what the members are asked: a prompt for each of their config.Target.Prompts

	meanTokens []int        // of each prompt: [prompt.Options.Mean], which takes long to compute for a data set
	hashes     []files.Hash // of the files that the targets name

	next atomic.Uint64 // the first round that [Job.Ask] has not asked

	// What follows is set when a [Runner] begins the job. Until then, log and panics write nothing.
	log      *zap.Logger
	panics   observe.PanicLog   // of the prober itself, while it works for this job
	recorder *observe.Recorder  // shows the targets and their results
	stop     context.CancelFunc // lets no more probes begin
	done     chan struct{}      // closed when the job has been stopped and its last probe has ended
}

// Group returns a group of the members of j, which is asked round by round. Its results go to a recorder.
func (j *Job) Group(to probe.Recorder) *probe.Group {
	return &probe.Group{Members: j.Members, Interval: j.Plan.Interval, Questions: j.Length, Recorder: to}
}

// RecorderFor shows the targets of j to observers, and returns the recorder of its results.
func (j *Job) RecorderFor(o *observe.Observers) *observe.Recorder {
	var targets []observe.Target
	for i, t := range j.Targets {
		for p, q := range j.Length.Prompts {
			targets = append(targets, observe.Target{
				Config: t.OfPrompt(p), Title: t.Title(p), Further: p > 0, Member: j.Members[i],
				Lengths: j.Lengths(t, p), TokensPerDay: j.TokensPerDayOf(t, p, 0),
				Length: func() length.Snapshot { return q.Snapshot(i) },
			})
		}
	}
	return o.NewRecorder(targets, j.panics)
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

// Index returns the index of a target in Targets; -1 if it is none of them.
func (j *Job) Index(target string) int {
	return slices.IndexFunc(j.Targets, func(t config.Target) bool { return t.Name == target })
}

// PromptIndex returns the index of the prompt of a name; -1 if j asks no such prompt.
func (j *Job) PromptIndex(name string) int {
	return slices.IndexFunc(j.Length.Prompts, func(q *length.Questions) bool { return q.Name == name })
}

// has reports whether a target is one of j.
func (j *Job) has(target string) bool { return j.Index(target) >= 0 }

// Lengths returns the lengths of a prompt of t, which is a target of j, and of its answers.
func (j *Job) Lengths(t config.Target, prompt int) report.Lengths {
	asked := t.Prompts[prompt]
	longest := j.Length.Prompts[prompt].Prompts.Longest()
	return report.Lengths{Prompt: asked.Tokens, Longest: longest, Answer: asked.MaxTokens}
}

// TokensPerProbe returns the mean number of tokens of a probe of t: of prompt and answer, over all prompts by their
// shares. Prompts of a data set are assumed to have one token per word.
func (j *Job) TokensPerProbe(t config.Target) float64 {
	return t.MeanOfPrompts(func(i int) float64 { return float64(j.meanTokens[i] + t.Prompts[i].MaxTokens) })
}

// TokensPerDay returns how many tokens t costs a day if its probes take as long as took on average. The slots that are
// due meanwhile are skipped, once as many probes are in flight as t allows, and cost nothing. If took is 0, it is not
// known, and no slot is assumed to be skipped.
func (j *Job) TokensPerDay(t config.Target, took time.Duration) int {
	_, probedShare := schedule.Overlap(took, t.Interval(), t.MaxInFlight)
	slots := t.QPS * (24 * time.Hour).Seconds()
	perDay := int(math.Round(slots * probedShare * j.TokensPerProbe(t)))
	if t.TokenBudgetPerDay > 0 {
		return min(perDay, t.TokenBudgetPerDay)
	}
	return perDay
}

// TokensPerDayOf returns the part of [Job.TokensPerDay] that one prompt of t takes.
func (j *Job) TokensPerDayOf(t config.Target, prompt int, took time.Duration) int {
	ofPrompt := t.RateOf(prompt) * float64(j.meanTokens[prompt]+t.Prompts[prompt].MaxTokens)
	return int(math.Round(float64(j.TokensPerDay(t, took)) * ofPrompt / (t.QPS * j.TokensPerProbe(t))))
}

// noteLength logs what happens to the length of one of the prompts of j.
func (j *Job) noteLength(prompt string, e length.Event) {
	target := zap.String("target", j.Targets[e.Member].Name)
	log := j.log.With(target, zap.String("prompt", prompt))
	switch e.Kind {
	case length.EventKnown:
		if e.Method == length.ByEstimate {
			log.Warn("the server does not count the tokens of prompts: their length is estimated, at one token per word")
			return
		}
		log.Info("the length of the prompts is known",
			zap.String("known_by", string(e.Method)), zap.Int("calibration_requests", e.Requests), zap.Int("tokens_off", e.Off))
	case length.EventContradiction:
		log.Info("the server counts the prompts otherwise than expected: they are calibrated again",
			zap.Int("counted", e.Tokens), zap.Int("asked", e.Asked), zap.String("before_by", string(e.Method)))
	case length.EventWait:
		log.Info("slots are skipped until the length of the prompts is known", zap.Error(e.Err))
	case length.EventLongWait:
		log.Warn("slots are still skipped: the length of the prompts is not known yet", zap.Error(e.Err))
	case length.EventPanic:
		j.panics.Note("panic while "+e.Doing+"; please report it", e.Err.Error(), e.Stack, target)
	}
}
