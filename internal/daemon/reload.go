package daemon

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"time"

	"go.uber.org/zap"

	"github.com/llm-prober/prober/internal/config"
	"github.com/llm-prober/prober/internal/engine"
)

// reload makes the prober work by the configuration as it is now, and ends draining. A configuration that is wrong
// changes nothing.
func (d *Daemon) reload(ctx context.Context) error {
	d.Files = d.Files.refresh()
	assets := engine.NewAssets(d.Files.Read)
	next, err := d.Load(assets)
	if err == nil {
		err = d.runner.Apply(ctx, next, assets)
	}
	assets.Release()
	d.observers.Metrics.Reloaded(time.Now(), err == nil)
	if err != nil {
		d.observers.Board.SetRejected(d.rejection(err))
		consequence := "keeping the current configuration"
		if d.Refused != nil {
			consequence = "probing is disabled until the configuration is fixed"
		}
		d.Log.Error("reload failed; "+consequence, zap.Error(err))
		return fmt.Errorf("configuration rejected, %s: %w", d.consequence(), err)
	}
	d.warn(next)
	d.Config, d.Refused = next, nil
	d.observers.Board.SetRejected(nil)
	d.ready(func() { d.idle = false })
	d.Log.Info("reloaded", zap.Int("targets", d.runner.Targets()))
	return nil
}

// watchFiles reloads when files hold something else than was read from them, and did so at the last look already. One
// that is being written, or is away while it is replaced, has not changed yet. A configuration that is wrong is read
// once.
func (d *Daemon) watchFiles(ctx context.Context) {
	if d.Load == nil {
		return
	}
	now := d.Files.now()
	settled := maps.Equal(now, d.seen)
	d.seen = now
	if changed := d.Files.differs(now); settled && len(changed) > 0 {
		d.Log.Info("files changed", zap.Strings("files", changed))
		_ = d.reload(ctx) // logged
	}
}

// warn tells what a reload cannot change.
func (d *Daemon) warn(next *config.Config) {
	d.logWarnings(next)
	if changed := d.Config.NeedRestart(next); len(changed) > 0 {
		d.Log.Warn("changed settings that take effect only with a restart", zap.Strings("settings", changed))
	}
}

// A reloadRequest asks for a reload, and gets its error.
type reloadRequest struct{ done chan error }

// reloadHandler answers when the reload is done, or will not be because stopping is closed. Problems name places and
// hints, never secrets.
func reloadHandler(requests chan<- reloadRequest, stopping <-chan struct{}) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		request := reloadRequest{done: make(chan error, 1)}
		select {
		case requests <- request:
		case <-stopping:
			http.Error(w, "not reloaded: the prober is stopping", http.StatusServiceUnavailable)
			return
		case <-r.Context().Done():
			return
		}
		if err := <-request.done; err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		fmt.Fprintln(w, "reloaded")
	}
}
