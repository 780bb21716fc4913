package main

import (
	"fmt"
	"net/http"
	"time"

	"go.uber.org/zap"

	"github.com/llm-prober/prober/internal/config"
)

// reload makes the crew work by the configuration as it is now. A configuration
// that is wrong changes nothing.
func (i *instance) reload(c *crew) error {
	next, err := i.load()
	var jobs []*job
	if err == nil {
		jobs, err = assemble(next, i.dial, i.build)
	}
	c.observers.recorder.Reloaded(time.Now(), err == nil)
	if err != nil {
		i.log.Error("reload: all stays as it was", zap.Error(err))
		return err
	}
	i.warn(next)
	c.observers.promise(objectives(next))
	c.replace(jobs)
	i.config = next
	i.log.Info("reloaded", zap.Int("targets", len(next.Targets)))
	return nil
}

// warn tells what a reload cannot change.
func (i *instance) warn(next *config.Config) {
	for _, warning := range next.Warnings {
		i.log.Warn("configuration", zap.String("doubt", warning))
	}
	now := i.config
	if next.ListenAddress != now.ListenAddress || next.WebConfigFile != now.WebConfigFile ||
		next.LogLevel != now.LogLevel || next.LogFormat != now.LogFormat || next.GenAISemconv != now.GenAISemconv {
		i.log.Warn("listen address, web configuration, log and conventions change with a restart only")
	}
}

// A reloading is somebody's wish for a reload.
type reloading struct{ done chan error }

// reloadHandler answers when the reload is done. Problems name places and hints,
// never secrets.
func reloadHandler(wishes chan<- reloading) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		wish := reloading{done: make(chan error, 1)}
		select {
		case wishes <- wish:
		case <-r.Context().Done():
			return
		}
		if err := <-wish.done; err != nil {
			http.Error(w, "not reloaded, all stays as it was: "+err.Error(), http.StatusInternalServerError)
			return
		}
		fmt.Fprintln(w, "reloaded")
	}
}
