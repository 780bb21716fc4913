package daemon

import (
	"context"
	"fmt"
	"maps"
	"net/http"

	"go.uber.org/zap"

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
	if err != nil {
		d.loaded(err)
		consequence := "keeping the current configuration"
		if d.Refused != nil {
			consequence = "probing is disabled until the configuration is fixed"
		}
		d.Log.Error("reload failed; "+consequence, zap.Error(err))
		return fmt.Errorf("configuration rejected, %s: %w", d.consequence(), err)
	}
	d.logWarnings(next)
	if changed := d.Config.NeedRestart(next); len(changed) > 0 {
		d.Log.Warn("changed settings that take effect only with a restart", zap.Strings("settings", changed))
	}
	d.Config = next
	d.ready(func() { d.Refused = nil })
	d.loaded(nil)
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

// reloadHandler answers when the reload is done, or will not be because stopping is closed. Problems name places and
// hints, never secrets.
func reloadHandler(requests chan<- chan<- error, stopping <-chan struct{}) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		done := make(chan error, 1)
		select {
		case requests <- done:
		case <-stopping:
			http.Error(w, "not reloaded: the prober is stopping", http.StatusServiceUnavailable)
			return
		case <-r.Context().Done():
			return
		}
		if err := <-done; err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		fmt.Fprintln(w, "reloaded")
	}
}
