package daemon

import (
	"context"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"time"

	"github.com/prometheus/exporter-toolkit/web"
	"go.uber.org/zap"
	"go.yaml.in/yaml/v4"

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
	scrapes, _ := zap.NewStdLogAt(d.Log, zap.WarnLevel) // the error is of levels that do not exist
	scrapes.SetPrefix("scrape failed: ")
	mux.Handle("/metrics", d.observers.Metrics.Handler(scrapes))
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

// PageURL returns the URL at which somebody on this machine finds what is served on an address.
func PageURL(address, webConfig string) string {
	host, port, _ := net.SplitHostPort(address) // a listener's, or validated
	ip, err := netip.ParseAddr(host)
	isEveryAddress := host == "" || err == nil && ip.IsUnspecified()
	if isEveryAddress {
		host = "127.0.0.1"
	}
	u := url.URL{Scheme: "http", Host: net.JoinHostPort(host, port), Path: "/"}
	c := readWebConfig(webConfig)
	if c.TLSConfig.IsEnabled() {
		u.Scheme = "https"
	}
	return u.String()
}

// isOpen reports whether a valid web configuration file protects nothing: it has neither TLS nor users. It is false for
// no file, which nobody takes for a protection.
func isOpen(path string) bool {
	c := readWebConfig(path)
	return path != "" && !c.TLSConfig.IsEnabled() && len(c.Users) == 0
}

// readWebConfig reads a web configuration file that was validated. Without a file there is neither TLS nor a login.
func readWebConfig(path string) (c web.Config) {
	data, _ := os.ReadFile(path)
	_ = yaml.Unmarshal(data, &c)
	return c
}
