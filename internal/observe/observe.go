// Package observe shows what probes measured, and what is known of their targets: on the status page, in the metrics
// and in the log. Results and targets come in from the engine.
//
// Start reading at [Recorder.Record], through which each result goes, then at [Recorder.Describe] in description.go,
// which shows what has changed about the targets. log.go writes the line of a result, panics.go those of panics.
package observe

import (
	"context"
	"slices"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/llm-prober/prober/internal/config"
	"github.com/llm-prober/prober/internal/length"
	"github.com/llm-prober/prober/internal/probe"
	"github.com/llm-prober/prober/internal/report"
	"github.com/llm-prober/prober/internal/status"
	"github.com/llm-prober/prober/internal/telemetry"
	"github.com/llm-prober/prober/internal/usage"
)

// Observers are the page, the metrics and the log. They are safe for concurrent use.
type Observers struct {
	Board   *status.Board
	Metrics *telemetry.Recorder
	Live    bool // the log is a terminal, see [Observers.logResult]; it is set before the first result

	log       *zap.Logger
	logProbes string // see [config.Config.LogProbes]; empty: notable

	mu        sync.Mutex                     // guards all below
	described map[probe.PromptID]description // what was shown last
	rejected  map[string]usage.Problems      // by rejected target: the problems that were shown last
}

// New returns observers of no target. Invalid settings of the OTLP export are an error, except for a sidecar, which
// goes on without the export.
func New(ctx context.Context, c *config.Config, build telemetry.Build, log *zap.Logger) (*Observers, error) {
	links := status.Links{External: c.ExternalURL, Grafana: c.GrafanaURL}
	o := &Observers{
		Board:     status.NewBoard(time.Now(), build.Version, c.Vantage, links),
		log:       log,
		logProbes: c.LogProbes,
		described: map[probe.PromptID]description{},
	}
	for _, warning := range telemetry.EnvironmentWarnings() {
		log.Warn("configuration", zap.String("warning", warning))
	}
	var err error
	o.Metrics, err = telemetry.New(ctx, telemetry.Options{
		Build:       build,
		GenAI:       c.GenAISemconv == config.GenAI141,
		Labels:      c.LabelNames,
		Vantage:     c.Vantage,
		ExternalURL: c.ExternalURL,
		OnError:     func(err error) { o.log.Warn("OTLP export failed", zap.Error(err)) },
	})
	if err != nil {
		if !c.Sidecar() {
			return nil, err
		}
		o.Metrics.Add(telemetry.ExportFailures, 1) // there are metrics all the same, only without the export
		o.log.Error("OTLP export is off: its settings are invalid", zap.Error(err))
	}
	return o, nil
}

// Shutdown sends what was measured over OTLP a last time, within limit, even if ctx is done. It only logs if the
// collector does not take it.
func (o *Observers) Shutdown(ctx context.Context, limit time.Duration) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
	defer cancel()
	err := o.Metrics.Shutdown(ctx)
	if err != nil {
		o.log.Debug("last OTLP export failed", zap.Error(err)) // OnError has warned already
	}
}

// Forget ends the series of a prompt that a target is no longer asked. The page forgets it as well, unless the target
// is still configured and was rejected.
func (o *Observers) Forget(target, prompt string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.described, probe.PromptID{Target: target, Prompt: prompt})
	o.Metrics.Remove(target, prompt)
	if o.rejected[target] == nil {
		o.Board.Remove(target, prompt)
	}
}

// Reject shows which targets of the configuration cannot be probed, and logs those whose problems are new. The page
// forgets targets that were rejected before and are neither rejected nor probed now.
func (o *Observers) Reject(targets []config.Rejected, isProbed func(target string) bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	before := o.rejected
	o.rejected = map[string]usage.Problems{}
	var described []probe.Description
	for _, t := range targets {
		described = append(described, probe.Description{Name: t.Name, Labels: t.Labels})
		o.rejected[t.Name] = t.Problems
		o.Board.RejectTarget(t.Name, t.Labels, t.Problems)
		if slices.Equal(t.Problems, before[t.Name]) {
			continue
		}
		for _, p := range t.Problems {
			o.log.Error("target rejected: it is not probed", zap.String("target", t.Name),
				zap.String("place", p.Place), zap.String("problem", p.Text), zap.String("hint", p.Hint))
		}
	}
	o.Metrics.SetRejectedTargets(described)
	for name := range before {
		if o.rejected[name] != nil {
			continue
		}
		o.log.Info("target is no longer rejected", zap.String("target", name))
		if !isProbed(name) {
			o.Board.RemoveTarget(name)
		}
	}
}

// A Target is what the observers must know of a prompt of a target that is probed.
type Target struct {
	Config       config.Target // with this prompt alone: see [config.Target.OfPrompt]
	Title        string        // of the prompt: see [config.Target.Title]
	Further      bool          // it is not the first prompt of the target
	Member       *probe.Member
	Lengths      report.Lengths
	TokensPerDay int                    // that the prompt costs
	Length       func() length.Snapshot // of its prompts now; called with the lock of the observers held
}

func (t Target) prompt() string { return t.Config.Prompts[0].Name }

func (t Target) id() probe.PromptID { return probe.PromptID{Target: t.Config.Name, Prompt: t.prompt()} }

// A Recorder shows the targets of one group and their results. It is a [probe.Recorder].
type Recorder struct {
	observers *Observers
	panics    PanicLog

	// The lock of the observers guards all below.
	targets []Target                // one for each prompt of each target
	ended   bool                    // it describes no targets any more; it still records results
	dropped map[probe.PromptID]bool // whose results are only logged
}

// NewRecorder shows targets of a group, and returns the recorder of their results. Panics of the prober itself, in
// probes and while it records, go to panics.
func (o *Observers) NewRecorder(targets []Target, panics PanicLog) *Recorder {
	r := &Recorder{observers: o, panics: panics, targets: targets, dropped: map[probe.PromptID]bool{}}
	r.Describe()
	return r
}

// Record shows a result. Canceled probes leave no trace, and neither do probes that failed because their server was
// taken out of service, see [Recorder.isTakenOut]. A panic of the prober itself is logged and counted in any case.
func (r *Recorder) Record(result *probe.Result) {
	defer r.panics.Recover("recording a result")
	if result.Stack != nil {
		target := zap.String("target", result.Target)
		r.panics.Note("panic while probing; please report it", result.Err.Error(), result.Stack, target)
	}
	if result.Outcome == probe.Canceled || r.isTakenOut(result) {
		return
	}
	r.Describe()
	o := r.observers
	o.mu.Lock()
	id := result.ID()
	isDropped := r.dropped[id]
	version := o.described[id].target.Version
	name := result.Target
	for _, t := range r.targets {
		if t.id() == id {
			name = t.Title
		}
	}
	o.mu.Unlock()
	var notable []string
	if !isDropped {
		o.Metrics.Record(result)
		notable = o.Board.Record(result)
	}
	o.logResult(result, name, version, notable)
}

// Skipped counts a slot without a probe.
func (r *Recorder) Skipped(target, prompt string, reason probe.Skip) {
	defer r.panics.Recover("noting a skipped slot")
	if reason == probe.SkipWaiting {
		r.Describe() // the notes say why
	}
	r.observers.Metrics.Skipped(target, prompt, reason)
	r.observers.Board.Skipped(target, prompt, string(reason))
}

// Reconfigure shows the targets with other settings on which no probe depends. The order of the targets is the same,
// and that of their prompts.
func (r *Recorder) Reconfigure(targets []config.Target) {
	r.observers.mu.Lock()
	shown := r.targets
	for _, t := range targets {
		for prompt := range t.Prompts {
			shown[0].Config = t.OfPrompt(prompt)
			shown = shown[1:]
		}
	}
	r.observers.mu.Unlock()
	r.Describe()
}

// DropResults says that another recorder records something else for a prompt now. Further results of r do not belong in
// the prompt's series, and are only logged.
func (r *Recorder) DropResults(target, prompt string) {
	r.observers.mu.Lock()
	defer r.observers.mu.Unlock()
	r.dropped[probe.PromptID{Target: target, Prompt: prompt}] = true
}

// End says that r shows no targets any more: another recorder may show them. The last results are still recorded.
func (r *Recorder) End() {
	r.observers.mu.Lock()
	defer r.observers.mu.Unlock()
	r.ended = true
}

// isTakenOut reports whether a probe failed because its server was taken out of service on purpose: its address is no
// longer among those of its host, or it refuses connections during a drain, when it has been told to stop as well.
func (r *Recorder) isTakenOut(result *probe.Result) bool {
	r.observers.mu.Lock()
	defer r.observers.mu.Unlock()
	i := slices.IndexFunc(r.targets, func(t Target) bool { return t.Config.Name == result.Target })
	if i < 0 {
		return false
	}
	member := r.targets[i].Member
	hasLeft := member.Missing.Load() && result.Outcome.AsIfEnded()
	isStopping := member.Draining.Load() && result.Outcome == probe.Connect
	return hasLeft || isStopping
}
