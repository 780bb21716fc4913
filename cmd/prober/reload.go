package main

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"time"

	"go.uber.org/zap"

	"github.com/llm-prober/prober/internal/config"
	"github.com/llm-prober/prober/internal/status"
	"github.com/llm-prober/prober/internal/telemetry"
)

// reload makes the crew work by the configuration as it is now, and ends draining. A
// configuration that is wrong changes nothing.
func (i *instance) reload(ctx context.Context, c *crew) error {
	i.files = i.files.anew()
	defer i.files.settle()
	next, err := i.load(i.files)
	var targets []config.Target
	var jobs []*job
	if err == nil {
		c.observers.recorder.Update(telemetry.LookupFailures, float64(i.lookUp(ctx, next)))
		targets = i.roster(next)
		jobs, err = assemble(targets, i.files, i.dial, i.build)
	}
	c.observers.recorder.Reloaded(time.Now(), err == nil)
	if err != nil {
		i.files.reject()
		c.observers.board.SetRejected(i.rejection(err))
		i.log.Error("configuration rejected, "+i.consequence(), zap.Error(err))
		return fmt.Errorf("configuration rejected, %s: %w", i.consequence(), err)
	}
	i.warn(next)
	c.observers.promise(objectives(next))
	i.refused = nil
	c.observers.ready(func(s *standing) { s.idle = false })
	c.observers.board.SetRejected(nil)
	i.config, i.parsed, i.probed = next, i.files, targets
	i.names.Keep(hostsOf(next.Targets))
	c.resume()
	c.replace(jobs)
	i.log.Info("reloaded", zap.Int("targets", len(i.probed)))
	return nil
}

// consequence is what the prober does while its configuration is rejected.
func (i *instance) consequence() string {
	if i.refused != nil {
		return "nothing is probed until it is right"
	}
	return "keeping the previous one"
}

// rejection is what the page says about a configuration that was rejected now.
func (i *instance) rejection(err error) *status.Rejection {
	return &status.Rejection{At: time.Now(), Consequence: i.consequence(), Problem: err.Error()}
}

// lookAtFiles reloads when files hold something else than was read from them, and
// did so at the last look already. One that is being written, or is away while it
// is replaced, has not changed yet. A configuration that is wrong is read once.
func (i *instance) lookAtFiles(ctx context.Context, c *crew) {
	if i.load == nil {
		return
	}
	now := i.files.now()
	settled := maps.Equal(now, i.seen)
	i.seen = now
	if changed := i.files.differs(now); settled && len(changed) > 0 {
		i.log.Info("files changed", zap.Strings("files", changed))
		_ = i.reload(ctx, c) // logged
	}
}

// warn tells what a reload cannot change.
func (i *instance) warn(next *config.Config) {
	for _, warning := range next.Warnings {
		i.log.Warn("configuration", zap.String("doubt", warning))
	}
	now := i.config
	if next.ListenAddress != now.ListenAddress || next.WebConfigFile != now.WebConfigFile ||
		next.LogLevel != now.LogLevel || next.LogFormat != now.LogFormat || next.GenAISemconv != now.GenAISemconv || next.DrainEndpoint != now.DrainEndpoint ||
		next.ReloadInterval != now.ReloadInterval || next.DNSInterval != now.DNSInterval {
		i.log.Warn("listen address, web configuration, log, conventions, drain endpoint and intervals change with a restart only")
	}
}

// A reloading is somebody's wish for a reload.
type reloading struct{ done chan error }

// reloadHandler answers when the reload is done, or will not be because stopping is
// closed. Problems name places and hints, never secrets.
func reloadHandler(wishes chan<- reloading, stopping <-chan struct{}) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		wish := reloading{done: make(chan error, 1)}
		select {
		case wishes <- wish:
		case <-stopping:
			http.Error(w, "not reloaded: the prober is about to end", http.StatusServiceUnavailable)
			return
		case <-r.Context().Done():
			return
		}
		if err := <-wish.done; err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		fmt.Fprintln(w, "reloaded")
	}
}
