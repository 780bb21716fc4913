package engine

import (
	"cmp"
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/llm-prober/prober/internal/config"
	"github.com/llm-prober/prober/internal/format"
	"github.com/llm-prober/prober/internal/probe"
	"github.com/llm-prober/prober/internal/status"
	"github.com/llm-prober/prober/internal/telemetry"
	"github.com/llm-prober/prober/internal/usage"
)

// Observers are everything that looks at results. They are safe for concurrent use.
type Observers struct {
	Board   *status.Board
	Metrics *telemetry.Recorder
	Live    bool // the log is a terminal: each probe is a short line of it, and its fields are for debug

	log      *zap.Logger
	draining atomic.Bool // see [Runner.SetDraining]

	mu         sync.Mutex // guards all below
	objectives []probe.Objective
	described  map[string]description    // by target, what describe told last
	rejected   map[string]usage.Problems // by target, what reject told last
}

// NewObservers returns observers of no target. That nothing can be exported does not end a sidecar.
func NewObservers(ctx context.Context, c *config.Config, build telemetry.Build, log *zap.Logger) (*Observers, error) {
	o := &Observers{
		Board: status.NewBoard(time.Now(), build.Version),
		log:   log, objectives: c.Objectives,
		described: map[string]description{},
	}
	var err error
	o.Metrics, err = telemetry.New(ctx, telemetry.Options{
		Build: build, GenAI: c.GenAISemconv,
		OnError: func(err error) { o.log.Warn("OTLP export failed", zap.Error(err)) },
	})
	if err != nil && !c.Sidecar() {
		return nil, err
	} else if err != nil {
		o.Metrics.Add(telemetry.ExportFailures, 1)
		o.log.Error("OTLP export is off: its settings are invalid", zap.Error(err))
	}
	return o, nil
}

// Export sends what was measured over OTLP a last time, within limit. That a collector does not take it is no error.
func (o *Observers) Export(ctx context.Context, limit time.Duration) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
	defer cancel()
	if err := o.Metrics.Shutdown(ctx); err != nil {
		o.log.Debug("last OTLP export failed", zap.Error(err)) // warned of when it failed
	}
}

// Attend describes the targets of j to the observers, and returns what shows them its results.
func (o *Observers) Attend(j *Job) probe.Recorder {
	o.describe(j)
	return attended{o, j}
}

type attended struct {
	*Observers
	job *Job
}

func (a attended) Record(r *probe.Result) {
	defer survive(a.log, "recording a result", a.job)
	if r.Outcome == probe.Canceled || r.Outcome == probe.Connect && a.draining.Load() { // asked as its server was told to stop
		return
	}
	a.describe(a.job)
	a.Metrics.Record(r)
	a.Board.Record(r)
	a.logResult(r)
}

func (a attended) Skipped(target string, reason probe.Skip) {
	defer survive(a.log, "noting a skipped slot", a.job)
	if reason == probe.SkipWaiting {
		a.describe(a.job) // which says why
	}
	a.Metrics.Skipped(target, reason)
	a.Board.Skipped(target, string(reason))
}

// logResult writes a line a result: successes at debug, failures at warn. Neither prompt nor answer is in them.
func (o *Observers) logResult(r *probe.Result) {
	level, fields := zapcore.DebugLevel, []zap.Field{
		zap.String("target", r.Target), zap.String("outcome", string(r.Outcome)),
		zap.Uint64("round", r.Round), zap.Duration("elapsed", r.Elapsed),
		zap.Int("token_frames", len(r.Tokens)), zap.String("trace_id", r.TraceID),
	}
	line, shown := fmt.Sprintf("%s %s after %s", r.Target, r.Outcome, format.Duration(r.Elapsed)), zapcore.InfoLevel
	if ttft, seen := r.TTFT(); seen {
		fields = append(fields, zap.Duration("ttft", ttft))
		line += ", TTFT " + format.Duration(ttft)
	}
	if tpot, known := r.TPOT(); known {
		fields = append(fields, zap.Duration("tpot", tpot))
		line += ", TPOT " + format.Duration(tpot)
	}
	if r.Outcome != probe.OK {
		level, shown = zapcore.WarnLevel, zapcore.WarnLevel
		fields = append(fields, zap.Error(r.Err), zap.Int("http_status", r.Status))
		line += fmt.Sprintf(": %v", r.Err)
	}
	for _, w := range r.Warnings {
		fields = append(fields, zap.String("warning", w.Error()))
	}
	if o.Live {
		o.log.Log(shown, line)
		level = zapcore.DebugLevel
	}
	o.log.Log(level, "probe", fields...)
}

// forget ends the series of a target that is probed no more. The page forgets it too, unless it is still configured
// and was only rejected.
func (o *Observers) forget(target string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.described, target)
	o.Metrics.Remove(target)
	if o.rejected[target] == nil {
		o.Board.Remove(target)
	}
}

// reject tells the observers which targets of the configuration cannot be probed, and logs what is new about them. Of
// those that it told before, all others are forgotten that are not probed.
func (o *Observers) reject(targets []config.Rejected, isProbed func(target string) bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	before := o.rejected
	o.rejected = map[string]usage.Problems{}
	var names []string
	for _, t := range targets {
		names = append(names, t.Name)
		o.rejected[t.Name] = t.Problems
		o.Board.RejectTarget(t.Name, t.Problems)
		if !slices.Equal(t.Problems, before[t.Name]) {
			o.logRejected(t)
		}
	}
	o.Metrics.SetRejectedTargets(names)
	for name := range before {
		if o.rejected[name] != nil {
			continue
		}
		o.log.Info("target is no longer rejected", zap.String("target", name))
		if !isProbed(name) {
			o.Board.Remove(name)
		}
	}
}

// logRejected writes a line for each problem of a target that cannot be probed.
func (o *Observers) logRejected(t config.Rejected) {
	for _, p := range t.Problems {
		o.log.Error("target rejected: it is not probed", zap.String("target", t.Name),
			zap.String("place", p.Place), zap.String("problem", p.Text), zap.String("hint", p.Hint))
	}
}

// A description is what the observers were told about a target.
type description struct {
	probe.Description // InFlight is nil: functions cannot be compared
	member            *probe.Member
	changes           string // a note on what the server was before, and until when; empty if it has not changed
}

// change notes and logs that a target's server has another type, version or model than before.
func (o *Observers) change(before, now description) (note string) {
	server := func(d description) string {
		return strings.TrimSpace(d.Server + " " + d.Version)
	}
	changed := func(what, from, to string) {
		if from == "" || to == "" || from == to || before.URL != now.URL {
			return
		}
		o.log.Info("the server's "+what+" has changed", zap.String("target", now.Name),
			zap.String("before", from), zap.String("now", to))
		note = fmt.Sprintf("%s since %s UTC, before: %s", to, time.Now().UTC().Format("2006-01-02 15:04"), from)
	}
	changed("type or version", server(before), server(now))
	changed("model", before.Model, now.Model)
	return cmp.Or(note, before.changes)
}

// describe tells the observers about each target of j that has changed.
func (o *Observers) describe(j *Job) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if j.ended.Load() {
		return
	}
	for i, t := range j.Targets {
		member, before := j.Members[i], o.described[t.Name]
		known := member.Capabilities()
		d := probe.Description{
			Name: t.Name, Group: t.Group, Model: known.Model, API: t.API, URL: t.URL, Prompt: t.Prompt,
			Server: known.Server.Name, Version: known.Version, Abilities: known.Abilities(), Notes: Notes(known),
			PromptTokens: t.PromptTokens, MaxTokens: t.MaxTokens, TokensPerDay: j.TokensPerDay(t, 0),
			Interval: j.Plan.Interval, Objectives: o.objectives,
		}
		if known.Dialect != nil {
			d.API = known.Dialect.Name
		}
		if misfit := j.Misfit(t, known.Limits); misfit != "" {
			d.Notes = append(d.Notes, misfit)
			if !slices.Contains(before.Notes, misfit) {
				o.log.Warn(misfit, zap.String("target", t.Name))
			}
		}
		if state := j.state(i); state != "" {
			d.Notes = append(d.Notes, state)
		}
		now := description{Description: d, member: member}
		now.changes = o.change(before, now)
		if now.changes != "" {
			now.Notes = append(now.Notes, now.changes)
		}
		if member == before.member && reflect.DeepEqual(now, before) {
			continue
		}
		o.described[t.Name] = now
		d.InFlight = member.InFlight
		o.Metrics.Set(d)
		o.Board.Set(d)
	}
}

// state is a note on whether member i is probed, and with prompts of the right length; empty if there is nothing to say.
func (j *Job) state(i int) string {
	switch j.Members[i].Skipping() {
	case probe.SkipDraining:
		return "draining (/-/drain): no probes start"
	case probe.SkipWaiting:
		return "the server is not ready yet: probes start when it is"
	}
	return j.LengthNote(i)
}
