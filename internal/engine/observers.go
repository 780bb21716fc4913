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
	"github.com/llm-prober/prober/internal/report"
	"github.com/llm-prober/prober/internal/status"
	"github.com/llm-prober/prober/internal/telemetry"
	"github.com/llm-prober/prober/internal/usage"
)

// Observers are the page, the metrics and the log: everything that shows results and targets. They are safe for
// concurrent use.
type Observers struct {
	Board   *status.Board
	Metrics *telemetry.Recorder
	Live    bool // the log is a terminal: it shows each probe as a short line, and fields only at debug

	log      *zap.Logger
	draining atomic.Bool // see [Runner.SetDraining]

	mu        sync.Mutex                // guards all below
	described map[string]description    // by target: the description that was shown last
	rejected  map[string]usage.Problems // by rejected target: the problems that were shown last
}

// NewObservers returns observers of no target. Invalid settings of the OTLP export are an error, except for a sidecar,
// which goes on without the export.
func NewObservers(ctx context.Context, c *config.Config, build telemetry.Build, log *zap.Logger) (*Observers, error) {
	links := status.Links{External: c.ExternalURL, Grafana: c.GrafanaURL}
	o := &Observers{
		Board:     status.NewBoard(time.Now(), build.Version, c.Vantage, links),
		log:       log,
		described: map[string]description{},
	}
	var err error
	o.Metrics, err = telemetry.New(ctx, telemetry.Options{
		Build: build, GenAI: c.GenAISemconv, Labels: c.LabelNames, Vantage: c.Vantage, ExternalURL: c.ExternalURL,
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

// Export sends what was measured over OTLP a last time, within limit. It only logs if the collector does not take it.
func (o *Observers) Export(ctx context.Context, limit time.Duration) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
	defer cancel()
	if err := o.Metrics.Shutdown(ctx); err != nil {
		o.log.Debug("last OTLP export failed", zap.Error(err)) // OnError has warned already
	}
}

// RecorderFor describes the targets of a job to the observers, and returns the recorder of its results.
func (o *Observers) RecorderFor(j *Job) probe.Recorder {
	o.describe(j)
	return jobRecorder{observers: o, job: j}
}

// A jobRecorder shows the results of one job to the observers.
type jobRecorder struct {
	observers *Observers
	job       *Job
}

// Record shows a result. It drops canceled probes, of which it only notes that the prober itself failed, and
// connections that are refused during a drain, because the server has been told to stop as well. The last results of a
// target as it was before a reload are only logged if they are not what its series are of.
func (to jobRecorder) Record(r *probe.Result) {
	o := to.observers
	defer to.job.failures.survive("recording a result")
	to.job.failures.noteResult(r)
	if r.Outcome == probe.Canceled || r.Outcome == probe.Connect && o.draining.Load() {
		return
	}
	o.describe(to.job)
	if !to.job.isLate(r.Target) {
		o.Metrics.Record(r)
		o.Board.Record(r)
	}
	o.logResult(r)
}

// Skipped counts a slot without a probe.
func (to jobRecorder) Skipped(target string, reason probe.Skip) {
	o := to.observers
	defer to.job.failures.survive("noting a skipped slot")
	if reason == probe.SkipWaiting {
		o.describe(to.job) // the notes say why
	}
	o.Metrics.Skipped(target, reason)
	o.Board.Skipped(target, string(reason))
}

// logResult writes a line with the fields of a result: successes at debug, failures at warn. On a terminal it writes a
// short line at info or warn, and the fields at debug. No line has the prompt or the answer.
func (o *Observers) logResult(r *probe.Result) {
	level, lineLevel := zapcore.DebugLevel, zapcore.InfoLevel
	if r.Outcome != probe.OK {
		level, lineLevel = zapcore.WarnLevel, zapcore.WarnLevel
	}
	if o.Live {
		o.log.Log(lineLevel, lineOf(r))
		level = zapcore.DebugLevel
	}
	o.log.Log(level, "probe", fieldsOf(r)...)
}

// lineOf returns a result as a person watches it on a terminal, which shows it as it is.
func lineOf(r *probe.Result) string {
	line := fmt.Sprintf("%s %s after %s", r.Target, r.Outcome, format.Duration(r.Elapsed))
	if ttft, ok := r.TTFT(); ok {
		line += ", TTFT " + format.Duration(ttft)
	}
	if tpot, ok := r.TPOT(); ok {
		line += ", TPOT " + format.Duration(tpot)
	}
	if r.Outcome != probe.OK {
		line += fmt.Sprintf(": %v", r.Err)
	}
	return format.Clean(line)
}

// fieldsOf returns a result as fields of the log.
func fieldsOf(r *probe.Result) []zap.Field {
	fields := []zap.Field{
		zap.String("target", r.Target),
		zap.String("outcome", string(r.Outcome)),
		zap.Uint64("round", r.Round),
		zap.Duration("elapsed", r.Elapsed),
		zap.Int("token_frames", len(r.Timeline.Frames)),
		zap.String("trace_id", r.TraceID),
	}
	if ttft, ok := r.TTFT(); ok {
		fields = append(fields, zap.Duration("ttft", ttft))
	}
	if tpot, ok := r.TPOT(); ok {
		fields = append(fields, zap.Duration("tpot", tpot))
	}
	if r.Outcome != probe.OK {
		fields = append(fields, zap.Error(r.Err), zap.Int("http_status", r.Status))
	}
	for _, w := range r.Warnings {
		fields = append(fields, zap.String("warning", w.Text))
	}
	return fields
}

// forget ends the series of a target that is no longer probed. The page forgets it as well, unless the target is still
// configured and was rejected.
func (o *Observers) forget(target string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.described, target)
	o.Metrics.Remove(target)
	if o.rejected[target] == nil {
		o.Board.Remove(target)
	}
}

// reject shows which targets of the configuration cannot be probed, and logs those whose problems are new. It forgets
// targets that were rejected before and are now left out.
func (o *Observers) reject(targets []config.Rejected, isProbed func(target string) bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	before := o.rejected
	o.rejected = map[string]usage.Problems{}
	var described []probe.Description
	for _, t := range targets {
		described = append(described, probe.Description{Name: t.Name, Labels: t.Labels})
		o.rejected[t.Name] = t.Problems
		o.Board.RejectTarget(t.Name, t.Labels, t.Problems)
		if !slices.Equal(t.Problems, before[t.Name]) {
			o.logRejected(t)
		}
	}
	o.Metrics.SetRejectedTargets(described)
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

// A description is what the observers were shown of a target.
type description struct {
	probe.Description // InFlight and Stuck are nil: functions cannot be compared
	member            *probe.Member
	changes           string // a note on what the server was before, and since when; empty if it has not changed
}

// serverOf returns the type and the version of the server, as far as they are known.
func (d description) serverOf() string { return strings.TrimSpace(d.Server + " " + d.Version) }

// change logs if a target's server has another type, version or model than before. It returns a note on the latest
// change; empty if there was none. Another URL is another server.
func (o *Observers) change(before, now description) (note string) {
	if before.URL != now.URL {
		return ""
	}
	changed := func(what, from, to string) {
		if from == "" || to == "" || from == to {
			return
		}
		o.log.Info("the server's "+what+" has changed", zap.String("target", now.Name),
			zap.String("before", from), zap.String("now", to))
		note = fmt.Sprintf("%s since %s UTC, before: %s", to, time.Now().UTC().Format("2006-01-02 15:04"), from)
	}
	changed("type or version", before.serverOf(), now.serverOf())
	changed("model", before.Model, now.Model)
	return cmp.Or(note, before.changes)
}

// describe shows the targets of j whose descriptions have changed.
func (o *Observers) describe(j *Job) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if j.ended.Load() {
		return
	}
	for i, t := range j.Targets {
		before := o.described[t.Name]
		now := o.descriptionOf(j, i, before)
		if now.member == before.member && reflect.DeepEqual(now, before) {
			continue
		}
		o.described[t.Name] = now
		d := now.Description
		d.InFlight, d.Stuck = now.member.InFlight, now.member.Stuck
		o.Metrics.Set(d)
		o.Board.Set(d)
	}
}

// reconfigure shows the targets of a job that goes on as they are in next, which would probe in the same way.
func (o *Observers) reconfigure(j, next *Job) {
	o.mu.Lock()
	j.shown = next.shown
	o.mu.Unlock()
	o.describe(j)
}

// descriptionOf returns the present description of member i of j. It logs what is new and worth knowing. The lock is
// held.
func (o *Observers) descriptionOf(j *Job, i int, before description) description {
	t, member := j.shown[i], j.Members[i]
	known := member.Knowledge()
	state := report.TargetState{
		Lengths: j.Lengths(t), Server: known, Length: j.Length(i),
		Disabled: member.Disabled.Load(), Skipping: member.Skipping(),
	}
	d := probe.Description{
		Name: t.Name, Group: t.Group, Workload: t.Workload, URL: t.URL, Prompt: t.Prompt,
		Model: known.Model, API: t.API,
		Server: known.Type.Name, Version: known.Version, Abilities: known.Abilities(), Notes: state.Notes(),
		PromptTokens: t.PromptTokens, MaxTokens: t.MaxTokens, TokensPerDay: j.TokensPerDay(t, 0),
		Interval: j.Plan.Interval, StallLimit: t.StallTimeout, Objectives: t.Objectives, Labels: t.Labels, Places: t.Places,
		Disabled: state.Disabled,
	}
	if d.Disabled {
		d.TokensPerDay = 0
	}
	if known.Dialect != nil {
		d.API = known.Dialect.Name
	}
	o.logEnabled(before, d)
	misfit := state.Lengths.Misfit(known.Limits)
	if misfit != "" && !slices.Contains(before.Notes, misfit) {
		o.log.Warn(misfit, zap.String("target", t.Name))
	}
	if known.LeavesOpen && !slices.Contains(before.Notes, report.LeavesOpen) {
		o.log.Warn("the server "+report.LeavesOpen, zap.String("target", t.Name))
	}
	now := description{Description: d, member: member}
	now.changes = o.change(before, now)
	if now.changes != "" {
		now.Notes = append(now.Notes, now.changes)
	}
	return now
}

// logEnabled logs that a target was disabled or enabled by a reload.
func (o *Observers) logEnabled(before description, now probe.Description) {
	switch {
	case before.member == nil || before.Disabled == now.Disabled:
	case now.Disabled:
		o.log.Info("target is disabled: it is no longer probed", zap.String("target", now.Name))
	default:
		o.log.Info("target is enabled: it is probed again", zap.String("target", now.Name))
	}
}
