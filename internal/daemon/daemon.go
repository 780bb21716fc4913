// Package daemon runs a prober until it is asked to stop. It serves HTTP, reloads the configuration when its files
// change, reports whether it is ready, and stops in order: no new probes, then the running ones, then the last export,
// then HTTP. What comes in is a configuration and a listener; what goes out are the page, /metrics and the log.
//
// Start reading at [Daemon.Run] in daemon.go. Before it, load.go has read the configuration; reload.go does so again
// while the prober runs. serve.go is the HTTP server, weblog.go its log, and web_config.go the file with its TLS and
// its users. drain.go holds probes back while the servers stop, and drain_request.go is the client that asks for that.
package daemon

import (
	"context"
	"errors"
	"net"
	"os"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/llm-prober/prober/internal/config"
	"github.com/llm-prober/prober/internal/engine"
	"github.com/llm-prober/prober/internal/files"
	"github.com/llm-prober/prober/internal/observe"
	"github.com/llm-prober/prober/internal/probe"
	"github.com/llm-prober/prober/internal/telemetry"
)

// A Daemon is a prober at work: what `prober run` and `prober demo` start.
type Daemon struct {
	// These are replaced by a reload.
	Config  *config.Config
	Files   *files.Files // from which Config was read
	Refused error        // why a sidecar probes nothing; nil: its configuration is valid

	Listener net.Listener  // of the HTTP server; Run closes it
	Grace    time.Duration // how long running probes may go on when the prober stops
	Flush    time.Duration // how long the last export over OTLP may take after that
	Log      *zap.Logger
	Live     bool // see [observe.Observers]
	Build    telemetry.Build

	Simulated bool // all servers are, see [status.Board]

	Load    func(*files.Files) (*config.Config, error) // the configuration as it is now; nil: it cannot be reloaded
	Hangups <-chan os.Signal                           // each one reloads; nil for none
	Dial    probe.Dial                                 // how targets are reached; nil: over the network
	Lookup  engine.Lookup                              // of the addresses behind names; nil: the system's

	observers *observe.Observers
	runner    *engine.Runner

	unprotected bool // the web configuration file protects nothing any more, and the log says so

	// Requests for a drain come at any time. All other fields belong to the goroutine of Run.
	mu         sync.Mutex // guards the fields below, writes of Refused, and the publishing of readiness
	stopping   bool
	drainEnds  time.Time   // when the last drain ends by itself
	drainTimer *time.Timer // fires then
}

// Run probes and serves until ctx is done, then ends in this order: no new probes; the running ones end, or are
// dropped; what was measured is exported; HTTP is closed last, so that a last scrape still sees all of it.
func (d *Daemon) Run(ctx context.Context) error {
	err := d.begin(ctx)
	if err != nil {
		return errors.Join(err, d.Listener.Close())
	}
	requests := make(chan chan<- reloadResult)
	server, failed := d.serve(ctx, requests)
	d.Log.Info("status page", zap.String("url", PageURL(d.Listener.Addr().String(), d.Config.WebConfigFile)))
	d.mu.Lock()
	d.publishReadiness()
	d.mu.Unlock()

	err = d.work(ctx, requests, failed)
	d.mu.Lock()
	d.stopping = true
	d.drainTimer.Stop()
	d.publishReadiness()
	d.mu.Unlock()
	d.runner.Stop(d.Grace)
	d.observers.Shutdown(ctx, d.Flush)
	err = errors.Join(err, closeServer(server))
	if err != nil {
		return err
	}
	d.Log.Info("stopped")
	return nil
}

// RunBeside runs d and a server that d probes. The server is stopped after d, so that it answers the last probes.
func (d *Daemon) RunBeside(ctx context.Context, serve func(context.Context) error) error {
	served, stop := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan error, 1)
	go func() { ended <- serve(served) }()
	err := d.Run(ctx)
	stop()
	return errors.Join(err, <-ended)
}

// begin makes the observers and the runner, and starts probing.
func (d *Daemon) begin(ctx context.Context) error {
	d.Log.Info("starting", zap.String("version", d.Build.Version), zap.String("revision", d.Build.Revision),
		zap.Stringer("address", d.Listener.Addr()), zap.String("vantage", d.Config.Vantage),
		zap.Int("targets", len(d.Config.Targets)))
	d.logWarnings(d.Config)
	observers, err := observe.New(ctx, d.Config, d.Build, d.Log)
	if err != nil {
		return err
	}
	d.observers = observers
	d.observers.Live = d.Live
	d.observers.Board.Simulated = d.Simulated
	if d.Refused != nil {
		_ = d.reject(d.Refused) // logged
	} else {
		d.showLoaded()
	}
	d.runner = engine.NewRunner(ctx, engine.RunnerOptions{
		Observers: d.observers, Log: d.Log, Version: d.Build.Version, Dial: d.Dial, Lookup: d.Lookup,
	})
	d.drainTimer = time.AfterFunc(drainLimit, d.expireDrain)
	d.drainTimer.Stop() // until somebody drains
	defer d.Files.Release()
	return d.runner.Apply(ctx, d.Config, d.Files)
}

// work reloads, looks up names and asks sources of targets until ctx is done, or until serving failed: then it returns
// that error.
func (d *Daemon) work(ctx context.Context, requests <-chan chan<- reloadResult, failed <-chan error) error {
	checkFiles := time.Tick(d.Config.ReloadInterval) // nil if the interval is 0: files are not watched
	lookUpNames := time.Tick(d.Config.DNSInterval)
	for {
		var askSources <-chan time.Time // nil without sources
		at, hasSources := d.runner.NextList()
		if hasSources {
			askSources = time.After(time.Until(at))
		}
		select {
		case <-ctx.Done():
			d.Log.Info("stopping", zap.Duration("drain", d.Grace))
			return nil
		case err := <-failed:
			d.Log.Error("HTTP server failed", zap.Error(err))
			return err
		case done := <-requests:
			done <- d.reload(ctx)
		case <-d.Hangups:
			_ = d.reload(ctx) // logged
		case <-checkFiles:
			d.warnIfUnprotected()
			d.reloadIfChanged(ctx)
		case <-lookUpNames:
			d.runner.LookUp(ctx)
		case <-askSources:
			d.runner.AskSources(ctx)
		}
	}
}

// publishReadiness shows on the page and on /-/ready whether the prober is ready. The lock must be held.
func (d *Daemon) publishReadiness() {
	d.observers.Board.SetReady(d.Refused == nil && !d.stopping && !d.runner.Draining())
}
