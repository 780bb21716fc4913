package daemon

import (
	"context"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"net/http"
	"time"

	"github.com/prometheus/exporter-toolkit/web"
	"go.uber.org/zap"

	"github.com/llm-prober/prober/internal/telemetry"
)

// serve starts to serve HTTP. Once ctx is done, requests for a reload are refused. The channel gets an error if serving
// ends before the server is closed.
func (d *Daemon) serve(ctx context.Context, requests chan<- chan<- reloadResult) (*http.Server, <-chan error) {
	mux := http.NewServeMux()
	d.observers.Board.Register(mux)
	if d.Load != nil {
		mux.HandleFunc("POST /-/reload", reloadHandler(requests, ctx.Done()))
		mux.HandleFunc("PUT /-/reload", reloadHandler(requests, ctx.Done()))
	}
	if d.Config.DrainEndpoint {
		mux.HandleFunc("POST /-/drain", d.beginDrain)
		mux.HandleFunc("DELETE /-/drain", d.endDrain)
	}
	scrapeLog, _ := zap.NewStdLogAt(d.Log, zap.WarnLevel) // fails only for a level that does not exist
	scrapeLog.SetPrefix("scrape failed: ")
	mux.Handle("/metrics", d.observers.Metrics.Handler(scrapeLog))
	server := newServer(mux, newServerLog(d.Log, func() { d.observers.Metrics.Add(telemetry.InternalErrors, 1) }))
	failed := make(chan error, 1)
	toolkit := slog.New(toolkitLog{oncePerMinute(d.Log)})
	flags := &web.FlagConfig{WebConfigFile: &d.Config.WebConfigFile}
	go func() {
		err := web.Serve(d.Listener, server, flags, toolkit)
		if !errors.Is(err, http.ErrServerClosed) {
			failed <- fmt.Errorf("serve %s: %w", d.Listener.Addr(), err)
		}
	}()
	return server, failed
}

// How long a client may take to send the header and the body of its request, and to read the answer. No request needs a
// body.
const (
	headerLimit = 10 * time.Second
	bodyLimit   = 10 * time.Second
	writeLimit  = 2 * time.Minute
)

// newServer returns a server that refuses requests which a page of another origin makes a browser POST. It drops
// clients that send nothing, never end their request, or do not read the answer: an unread scrape holds all metrics in
// memory.
func newServer(mux *http.ServeMux, log *log.Logger) *http.Server {
	// The server waits for the end of a body. The time for a whole request is not bounded: a reload may take longer.
	bounded := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Body != http.NoBody {
			_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(bodyLimit)) // net/http supports it
		}
		mux.ServeHTTP(w, r)
	})
	return &http.Server{
		ErrorLog:          log,
		Handler:           http.NewCrossOriginProtection().Handler(bounded),
		ReadHeaderTimeout: headerLimit,
		WriteTimeout:      writeLimit,
		IdleTimeout:       5 * time.Minute,
		MaxHeaderBytes:    64 << 10,
	}
}

// closeServer waits a second for the answers under way, then closes the server.
func closeServer(server *http.Server) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if server.Shutdown(ctx) != nil {
		return server.Close()
	}
	return nil
}
