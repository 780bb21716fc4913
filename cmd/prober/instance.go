package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/prometheus/exporter-toolkit/web"
	"go.uber.org/zap"

	"github.com/llm-prober/prober/internal/config"
	"github.com/llm-prober/prober/internal/discovery"
	"github.com/llm-prober/prober/internal/probe"
	"github.com/llm-prober/prober/internal/report"
	"github.com/llm-prober/prober/internal/status"
	"github.com/llm-prober/prober/internal/telemetry"
)

// An instance is a prober at work: what `prober run` and `prober demo` start.
type instance struct {
	config   *config.Config
	listener net.Listener  // where it is served; closed by run
	dial     probe.Dial    // how targets are reached; nil: over the network
	drain    time.Duration // how long running probes may take to end when it is told to stop
	flush    time.Duration // how long the last export over OTLP may take after that
	log      *zap.Logger
	build    telemetry.Build

	refused error                                        // why a sidecar probes nothing; nil: its configuration is right
	load    func(files *reading) (*config.Config, error) // the configuration as it is now; nil: it cannot be reloaded
	files   *reading                                     // what was read last; nil: nothing that could change
	hangups <-chan os.Signal                             // each one reloads; nil for none
	lookup  discovery.Lookup                             // of the addresses behind names; nil: the system's

	names  *discovery.Directory
	blanks map[string]blank // of hosts that are not as they should be
	parsed *reading         // what config was made of: files, unless these were refused
	probed []config.Target  // what the crew works on; nil before it does
	owned  int              // how many of all targets were last said to be the shard's
	seen   map[string]sum   // what the files held at the last look
}

// run probes and serves until ctx is done, then ends in this order: no new
// probes; the running ones end, or are dropped; what was measured is exported;
// HTTP is closed last, so that a last scrape still sees all of it.
func (i *instance) run(ctx context.Context) error {
	i.names, i.parsed = discovery.New(i.lookup), i.files
	unknown := i.lookUp(ctx, i.config)
	i.probed = i.roster(i.config)
	jobs, err := assemble(i.probed, i.files, i.dial, i.build)
	i.files.settle()
	if err != nil {
		return errors.Join(err, i.listener.Close())
	}
	for _, j := range jobs {
		for _, t := range j.targets {
			i.log.Info("target", j.cost(t)...)
		}
	}
	o, err := i.observe(ctx)
	if err != nil {
		return errors.Join(err, i.listener.Close())
	}
	o.recorder.Update(telemetry.LookupFailures, float64(unknown))
	starts, stop := context.WithCancel(ctx)
	defer stop()
	probes, drop := context.WithCancel(context.WithoutCancel(ctx))
	defer drop()
	c := &crew{observers: o, log: i.log, starts: starts, probes: probes, fits: make(turns, fitsAtOnce), budgets: budgets{}}
	wishes := make(chan reloading)
	server, failed := i.serve(ctx, o, wishes, c.drain)
	i.log.Info("status page", zap.String("url", pageURL(i.listener.Addr().String(), i.config.WebConfigFile)))
	c.replace(jobs)
	o.ready(func(s *standing) { s.idle = i.refused != nil })

	err = i.work(ctx, c, wishes, failed)
	stop()
	o.ready(func(s *standing) { s.stopping = true })
	dropping := time.AfterFunc(i.drain, drop)
	c.running.Wait()
	dropping.Stop()
	c.close()
	i.export(ctx, o)
	return errors.Join(err, i.close(server))
}

// work reloads when somebody wishes so or a file changed, and looks up names,
// until ctx is done or serving failed, which is the error.
func (i *instance) work(ctx context.Context, c *crew, wishes <-chan reloading, failed <-chan error) error {
	files, stop := ticks(i.config.ReloadInterval)
	defer stop()
	names, stop := ticks(i.config.DNSInterval)
	defer stop()
	for {
		select {
		case <-ctx.Done():
			i.log.Info("stopping", zap.Duration("drain", i.drain))
			return nil
		case err := <-failed:
			i.log.Error("serve", zap.Error(err))
			return err
		case wish := <-wishes:
			wish.done <- i.reload(ctx, c)
		case <-i.hangups:
			_ = i.reload(ctx, c) // logged
		case <-files:
			i.lookAtFiles(ctx, c)
		case <-names:
			i.lookAtNames(ctx, c)
		}
	}
}

// ticks come at an interval, and never if it is 0.
func ticks(interval time.Duration) (c <-chan time.Time, stop func()) {
	if interval == 0 {
		return nil, func() {}
	}
	ticker := time.NewTicker(interval)
	return ticker.C, ticker.Stop
}

// serve starts to serve the page, the metrics and the rest; when ctx is done there
// are no more reloads. The channel gets the error with which serving ended before it should.
func (i *instance) serve(ctx context.Context, o *observers, wishes chan<- reloading, drain func() bool) (*http.Server, <-chan error) {
	mux := http.NewServeMux()
	o.board.Register(mux)
	if i.load != nil {
		mux.HandleFunc("POST /-/reload", reloadHandler(wishes, ctx.Done()))
		mux.HandleFunc("PUT /-/reload", reloadHandler(wishes, ctx.Done()))
	}
	if i.config.DrainEndpoint {
		mux.HandleFunc("POST /-/drain", i.drainHandler(drain))
	}
	mux.Handle("/metrics", o.metrics.Handler(func(err error) { i.log.Warn("scrape", zap.Error(err)) }))
	server := newServer(mux, i.log)
	failed := make(chan error, 1)
	go func() {
		flags := &web.FlagConfig{WebConfigFile: &i.config.WebConfigFile}
		if err := web.Serve(i.listener, server, flags, slog.New(slog.DiscardHandler)); !errors.Is(err, http.ErrServerClosed) {
			failed <- fmt.Errorf("serve %s: %w", i.listener.Addr(), err)
		}
	}()
	return server, failed
}

// How long a client may take for the header of its request, for a body, which
// nothing wants, and for the answer.
const (
	headerLimit = 10 * time.Second
	bodyLimit   = 10 * time.Second
	writeLimit  = 2 * time.Minute
)

// newServer refuses what a page of another origin makes a browser POST, and bounds
// what a client may cost that never ends its request, says nothing, or does not
// read the answer: a scrape that nobody reads holds all metrics in memory.
func newServer(mux *http.ServeMux, log *zap.Logger) *http.Server {
	complaints, _ := zap.NewStdLogAt(log, zap.DebugLevel) // of clients that break off; the error is of levels that do not exist
	return &http.Server{
		ErrorLog:          complaints,
		Handler:           http.NewCrossOriginProtection().Handler(bounded(mux)),
		ReadHeaderTimeout: headerLimit,
		WriteTimeout:      writeLimit,
		IdleTimeout:       5 * time.Minute,
		MaxHeaderBytes:    64 << 10,
	}
}

// bounded bounds the time for the body of a request, if there is one: the server
// waits for its end. It is no time of the whole request, of which a reload may
// need more.
func bounded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Body != http.NoBody {
			_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(bodyLimit)) // every server of ours can
		}
		next.ServeHTTP(w, r)
	})
}

// close ends the HTTP server when the requests under way have been answered.
func (i *instance) close(server *http.Server) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if err := server.Shutdown(ctx); err != nil {
		return errors.Join(server.Close())
	}
	return nil
}

// observers are everything that looks at results.
type observers struct {
	board    *status.Board
	metrics  *telemetry.Prometheus
	otlp     *telemetry.OTLP // nil: off
	recorder telemetry.Recorder
	log      probeLog

	mu        sync.Mutex // guards all below
	standing  standing
	promises  []probe.Objective
	described map[string]description    // by target, what describe told last
	stamps    map[string]probe.Stamping // by target, what stamped told last
}

// observe makes the observers.
func (i *instance) observe(ctx context.Context) (*observers, error) {
	o := &observers{
		board:   status.NewBoard(time.Now(), i.build.Version, report.Hint),
		metrics: telemetry.NewPrometheus(i.build),
		log:     probeLog{i.log},

		promises:  objectives(i.config),
		described: map[string]description{},
		stamps:    map[string]probe.Stamping{},
	}
	var err error
	o.otlp, err = telemetry.NewOTLP(ctx, telemetry.OTLPOptions{
		Build: i.build, GenAI: i.config.GenAISemconv,
		OnError: func(err error) {
			o.metrics.Update(telemetry.ExportFailures, 1)
			i.log.Warn("export over OTLP", zap.Error(err))
		},
	})
	switch {
	case err != nil && i.config.DrainEndpoint: // see idle
		o.metrics.Update(telemetry.ExportFailures, 1)
		i.log.Error("nothing is exported over OTLP", zap.Error(err))
	case err != nil:
		return nil, err
	}
	o.recorder = telemetry.Join(o.metrics)
	if o.otlp != nil {
		trustThePublic()
		o.recorder = telemetry.Join(o.metrics, o.otlp)
	}
	o.recorder.Reloaded(time.Now(), i.refused == nil)
	if i.refused != nil {
		o.board.SetRejected(i.rejection(i.refused))
	}
	return o, nil
}

// export sends what was measured over OTLP a last time. A collector that does not
// take it is no failure of ours.
func (i *instance) export(ctx context.Context, o *observers) {
	if o.otlp == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), i.flush)
	defer cancel()
	if err := o.otlp.Shutdown(ctx); err != nil {
		i.log.Debug("last export over OTLP", zap.Error(err)) // warned of when it failed
	}
}
