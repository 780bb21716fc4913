package main

import (
	"reflect"

	"go.uber.org/zap"

	"github.com/llm-prober/prober/internal/config"
	"github.com/llm-prober/prober/internal/probe"
	"github.com/llm-prober/prober/internal/report"
	"github.com/llm-prober/prober/internal/status"
	"github.com/llm-prober/prober/internal/telemetry"
)

// attend makes the observers see what j does.
func (o *observers) attend(j *job) {
	o.describe(j)
	j.group.Record = func(r *probe.Result) {
		defer o.survive(r)
		if r.Outcome == probe.Connect && o.drains() {
			return // it was asked as its server was told to stop
		}
		o.describe(j)
		o.recorder.Record(r)
		o.board.Record(r)
		o.log.Record(r)
		o.stamped(r)
	}
	j.group.Skipped = func(target string, reason probe.Skip) {
		o.recorder.Skipped(target, reason)
		o.board.Skipped(target, string(reason))
	}
}

// A standing is why the prober is not ready.
type standing struct {
	idle     bool // its configuration was refused at the start
	draining bool // the servers are about to stop: see [crew.drain]
	stopping bool
}

// ready changes the standing, and says whether the prober is ready by now.
func (o *observers) ready(change func(*standing)) {
	o.mu.Lock()
	defer o.mu.Unlock()
	change(&o.standing)
	o.board.SetReady(o.standing == standing{})
}

// drains reports whether the servers are about to stop.
func (o *observers) drains() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.standing.draining
}

// stamped logs who stamps the token frames of a target, where that is news.
func (o *observers) stamped(r *probe.Result) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if r.Stamp == "" || r.Stamp == o.stamps[r.Target] {
		return
	}
	o.stamps[r.Target] = r.Stamp
	fields := []zap.Field{zap.String("target", r.Target), zap.String("stamp", string(r.Stamp))}
	if r.Stamp == probe.ByUser {
		fields = append(fields, zap.String("hint", "by the prober itself: this system or connection gives no kernel time stamps; "+
			"were the prober late, it could not be told from a late server"))
	}
	o.log.log.Info("token frames are stamped", fields...)
}

// survive logs a panic of an observer, which must not end the probing of all.
func (o *observers) survive(r *probe.Result) {
	if p := recover(); p != nil {
		o.log.log.Error("record a result, please report it", zap.String("target", r.Target), zap.Any("panic", p), zap.Stack("stack"))
	}
}

// A description is what the observers know of a target: what it was configured
// with, and what its server has taught.
type description struct {
	member   *probe.Member
	target   config.Target
	promises []probe.Objective

	api, model, server, version string
	abilities                   []probe.Ability
	notes                       []string
	misfit                      string // what of its prompts does not fit the server's context; empty if all does
}

// description is what there is to say of member i by now.
func (j *job) description(i int, promises []probe.Objective) description {
	t, known := j.targets[i], j.group.Members[i].Capabilities()
	d := description{
		member: j.group.Members[i], target: t, promises: promises,
		api: t.API, model: known.Model, server: known.Server.Name, version: known.Version,
		abilities: known.Abilities(), notes: known.Notes(),
	}
	if known.Dialect != nil {
		d.api = known.Dialect.Name()
	}
	if d.misfit = j.misfit(t, known.Context); d.misfit != "" {
		d.notes = append(d.notes, d.misfit)
	}
	switch reason, _ := j.group.Members[i].Held(); {
	case reason == probe.SkipDraining:
		d.notes = append(d.notes, "its server is about to stop: no more probes begin")
	case reason == probe.SkipWaiting:
		d.notes = append(d.notes, "the server is not ready yet: its probes begin when it is")
	case i == 0:
		d.notes = append(d.notes, j.lengthNotes(t)...)
	}
	return d
}

// promise makes the objectives those of all targets that are described from now
// on.
func (o *observers) promise(promises []probe.Objective) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.promises = promises
}

// describe tells the observers what is known of each target of j, where that is
// news.
func (o *observers) describe(j *job) {
	if j.ended.Load() {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	for i, t := range j.targets {
		d := j.description(i, o.promises)
		before := o.described[t.Name]
		if d.member == before.member && reflect.DeepEqual(d, before) {
			continue
		}
		if d.misfit != "" && d.misfit != before.misfit {
			o.log.log.Warn(d.misfit, zap.String("target", t.Name))
		}
		o.described[t.Name] = d
		inFlight := j.group.Members[i].InFlight
		o.recorder.Set(telemetry.Target{
			Name: t.Name, Model: d.model, Prompt: t.Prompt, Group: t.Group, API: d.api, URL: t.URL,
			Server: d.server, Abilities: d.abilities,
			Interval: j.plan.Interval, Objectives: d.promises, InFlight: inFlight,
		})
		o.board.Set(status.Target{
			Name: t.Name, Model: d.model, Prompt: t.Prompt, Group: t.Group, API: d.api, URL: t.URL,
			Server: d.server, Version: d.version, Abilities: d.abilities,
			PromptTokens: t.PromptTokens, MaxTokens: t.MaxTokens, TokensPerDay: j.tokensPerDay(t),
			Interval: j.plan.Interval, Objectives: d.promises, InFlight: inFlight,
			Notes: d.notes, Hint: report.Hint,
		})
	}
}

// forget makes the observers forget a target.
func (o *observers) forget(target string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.described, target)
	delete(o.stamps, target)
	o.recorder.Remove(target)
	o.board.Remove(target)
}
