package main

import (
	"reflect"

	"go.uber.org/zap"

	"github.com/llm-prober/prober/internal/probe"
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

// A description is what the observers were told about a target.
type description struct {
	probe.Description // InFlight is nil: functions cannot be compared
	member            *probe.Member
	misfit            string // the warning that its prompts do not fit the server's context; empty if they do
}

// description describes member i as it is now.
func (j *job) description(i int, promises []probe.Objective) description {
	t, member := j.targets[i], j.group.Members[i]
	known := member.Capabilities()
	d := description{member: member, misfit: j.misfit(t, known.Context), Description: probe.Description{
		Name: t.Name, Group: t.Group, Model: known.Model, API: t.API, URL: t.URL, Prompt: t.Prompt,
		Server: known.Server.Name, Version: known.Version, Abilities: known.Abilities(), Notes: known.Notes(),
		PromptTokens: t.PromptTokens, MaxTokens: t.MaxTokens, TokensPerDay: j.tokensPerDay(t),
		Interval: j.plan.Interval, Objectives: promises,
	}}
	if known.Dialect != nil {
		d.API = known.Dialect.Name()
	}
	if d.misfit != "" {
		d.Notes = append(d.Notes, d.misfit)
	}
	switch reason, _ := member.Held(); {
	case reason == probe.SkipDraining:
		d.Notes = append(d.Notes, "the server is about to stop: no more probes start")
	case reason == probe.SkipWaiting:
		d.Notes = append(d.Notes, "the server is not ready yet: probes start when it is")
	case i == 0:
		d.Notes = append(d.Notes, j.lengthNotes(t)...)
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

// describe tells the observers about each target of j that has changed.
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
		d.InFlight = d.member.InFlight
		o.recorder.Set(d.Description)
		o.board.Set(d.Description)
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
