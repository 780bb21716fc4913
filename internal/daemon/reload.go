package daemon

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"time"

	"go.uber.org/zap"

	"github.com/llm-prober/prober/internal/config"
	"github.com/llm-prober/prober/internal/status"
)

// A reloadResult is what a reload changed.
type reloadResult struct {
	err      error             // why nothing has changed; nil: the configuration is in force
	rejected []config.Rejected // its targets that are not probed
}

// reloadHandler serves POST /-/reload. It hands the request to the goroutine of Run, and answers when the reload is
// done, or as soon as stopping is closed.
func reloadHandler(requests chan<- chan<- reloadResult, stopping <-chan struct{}) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		done := make(chan reloadResult, 1)
		select {
		case requests <- done:
		case <-stopping:
			http.Error(w, "not reloaded: the prober is stopping", http.StatusServiceUnavailable)
			return
		case <-r.Context().Done():
			return
		}
		result := <-done
		if result.err != nil {
			http.Error(w, result.err.Error(), http.StatusInternalServerError)
			return
		}
		fmt.Fprintln(w, "reloaded")
		for _, t := range result.rejected {
			fmt.Fprintf(w, "target %s is rejected: %v\n", t.Name, t.Problems)
		}
	}
}

// reloadIfChanged reloads if the content of a file of the configuration has changed since it was read.
func (d *Daemon) reloadIfChanged(ctx context.Context) {
	if d.Load == nil {
		return
	}
	changed := d.Files.Changed()
	if len(changed) > 0 {
		d.Log.Info("files changed", zap.Strings("files", changed))
		_ = d.reload(ctx) // logged
	}
}

// reload loads the configuration again and applies it. A configuration that is refused as a whole changes nothing. A
// drain goes on, because a Secret may be rotated, or a file may change, while the pod ends.
func (d *Daemon) reload(ctx context.Context) reloadResult {
	d.Files = d.Files.Next()
	defer d.Files.Release()
	next, err := d.Load(d.Files)
	if err == nil {
		err = d.runner.Apply(ctx, next, d.Files)
	}
	if err != nil {
		return reloadResult{err: d.reject(err)}
	}
	d.logWarnings(next)
	changed := d.Config.NeedRestart(next)
	if len(changed) > 0 {
		d.Log.Warn("changed settings that take effect only with a restart", zap.Strings("settings", changed))
	}
	if !slices.Equal(d.Config.LabelNames, next.LabelNames) {
		d.Log.Warn("the names of labels have changed: restart the prober, so that its metrics have them",
			zap.Strings("before", d.Config.LabelNames), zap.Strings("now", next.LabelNames))
	}
	d.Config = next
	d.mu.Lock()
	d.Refused = nil
	d.publishReadiness()
	d.mu.Unlock()
	d.showLoaded()
	d.Log.Info("reloaded", zap.Int("targets", d.runner.Targets()), zap.Int("rejected", len(next.Rejected)))
	return reloadResult{rejected: next.Rejected}
}

// logWarnings logs what is legal in a configuration and probably not meant.
func (d *Daemon) logWarnings(c *config.Config) {
	for _, warning := range c.Warnings {
		d.Log.Warn("configuration", zap.String("warning", warning))
	}
}

// showLoaded shows on /metrics and the page that the configuration was loaded.
func (d *Daemon) showLoaded() {
	d.observers.Metrics.Reloaded(time.Now(), true)
	d.observers.Board.SetRejection(nil)
}

// reject logs why the whole configuration was rejected, and shows it on /metrics and the page. It returns why, with the
// consequence.
func (d *Daemon) reject(why error) error {
	consequence := "keeping the previous one"
	if d.Refused != nil {
		consequence = "probing is disabled until it is fixed"
	}
	d.observers.Metrics.Reloaded(time.Now(), false)
	d.observers.Board.SetRejection(&status.Rejection{At: time.Now(), Consequence: consequence, Problem: why.Error()})
	text := "configuration rejected, " + consequence
	d.Log.Error(text, zap.Error(why))
	return fmt.Errorf("%s: %w", text, why)
}
