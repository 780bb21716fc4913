package main

import (
	"time"

	"go.uber.org/zap"

	"github.com/llm-prober/prober/internal/config"
	"github.com/llm-prober/prober/internal/probe"
	"github.com/llm-prober/prober/internal/report"
	"github.com/llm-prober/prober/internal/schedule"
	"github.com/llm-prober/prober/internal/status"
	"github.com/llm-prober/prober/internal/telemetry"
)

// attend makes the observers see what j does.
func (o *observers) attend(j *job, c *config.Config) {
	o.describe(j, c)
	j.group.Record = func(r *probe.Result) {
		defer o.survive(r)
		o.describe(j, c)
		o.recorder.Record(r)
		o.board.Record(r)
		o.log.Record(r)
	}
	j.group.Skipped = func(target string, reason probe.Skip) {
		o.recorder.Skipped(target, reason)
		o.board.Skipped(target, string(reason))
	}
}

// survive logs a panic of an observer, which must not end the probing of all.
func (o *observers) survive(r *probe.Result) {
	if p := recover(); p != nil {
		o.log.log.Error("record a result, please report it", zap.String("target", r.Target), zap.Any("panic", p), zap.Stack("stack"))
	}
}

// describe tells the observers what is known of each target of j by now.
func (o *observers) describe(j *job, c *config.Config) {
	for i, m := range j.group.Members {
		t, known := j.targets[i], m.Lessons()
		api, model := t.API, known.Model
		if known.Dialect != nil {
			api = known.Dialect.Name()
		}
		o.recorder.Set(telemetry.Target{
			Name: t.Name, Model: model, Prompt: t.Prompt, Group: t.Group, API: api, URL: t.URL,
			Interval: j.plan.Interval, Objectives: objectives(c), InFlight: m.InFlight,
		})
		notes := known.Notes()
		if i == 0 {
			notes = append(notes, j.lengthNotes(t)...)
		}
		o.board.Set(status.Target{
			Name: t.Name, Model: model, Prompt: t.Prompt, Group: t.Group, API: api, URL: t.URL,
			PromptTokens: t.PromptTokens, MaxTokens: t.MaxTokens, TokensPerDay: tokensPerDay(t),
			Interval: j.plan.Interval, Objectives: objectives(c), InFlight: m.InFlight,
			Notes: notes, Hint: report.Hint,
		})
	}
}

// schedule is the job's plan with what it starts.
func (j *job) schedule(do func(n uint64, due time.Time)) schedule.Job {
	return schedule.Job{Plan: j.plan, Do: do, Late: func(uint64) { j.group.Late() }}
}
