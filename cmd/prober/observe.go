package main

import (
	"slices"

	"go.uber.org/zap"

	"github.com/llm-prober/prober/internal/config"
	"github.com/llm-prober/prober/internal/probe"
	"github.com/llm-prober/prober/internal/report"
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

// learnt is what a server has taught, as observers show it.
type learnt struct {
	api, model string
	notes      []string
}

// learnt is what the server of member i has taught by now.
func (j *job) learnt(i int) learnt {
	t, known := j.targets[i], j.group.Members[i].Lessons()
	l := learnt{api: t.API, model: known.Model, notes: known.Notes()}
	if known.Dialect != nil {
		l.api = known.Dialect.Name()
	}
	if i == 0 {
		l.notes = append(l.notes, j.lengthNotes(t)...)
	}
	return l
}

// describe tells the observers what is known of each target of j, where that is
// news.
func (o *observers) describe(j *job, c *config.Config) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for i, t := range j.targets {
		now, before := j.learnt(i), o.described[t.Name]
		if before != nil && before.api == now.api && before.model == now.model && slices.Equal(before.notes, now.notes) {
			continue
		}
		o.described[t.Name] = &now
		inFlight, promises := j.group.Members[i].InFlight, objectives(c)
		o.recorder.Set(telemetry.Target{
			Name: t.Name, Model: now.model, Prompt: t.Prompt, Group: t.Group, API: now.api, URL: t.URL,
			Interval: j.plan.Interval, Objectives: promises, InFlight: inFlight,
		})
		o.board.Set(status.Target{
			Name: t.Name, Model: now.model, Prompt: t.Prompt, Group: t.Group, API: now.api, URL: t.URL,
			PromptTokens: t.PromptTokens, MaxTokens: t.MaxTokens, TokensPerDay: tokensPerDay(t),
			Interval: j.plan.Interval, Objectives: promises, InFlight: inFlight,
			Notes: now.notes, Hint: report.Hint,
		})
	}
}
