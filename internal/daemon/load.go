package daemon

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/prometheus/exporter-toolkit/web"
	"go.uber.org/zap"

	"github.com/llm-prober/prober/internal/config"
	"github.com/llm-prober/prober/internal/files"
	"github.com/llm-prober/prober/internal/usage"
)

// Load loads a configuration by [config.Load], and checks what is in the files that it names. A target
// with an invalid file is rejected like a target with an invalid setting.
func Load(o config.Options, f *files.Files) (*config.Config, error) {
	o.ReadFile = f.Read
	c, err := config.Load(o)
	if err != nil {
		return nil, err
	}
	problems := checkWebConfig(c.WebConfigFile)
	if problems != nil {
		return nil, problems
	}
	c.Reject(f.Check(c.Targets))
	if c.MustRefuse(o.Finite) {
		return nil, c.Problems()
	}
	return c, nil
}

// checkWebConfig returns what is wrong with a web configuration file; nil for none. One without TLS and users is valid
// for the exporter-toolkit, and protects nothing.
func checkWebConfig(path string) usage.Problems {
	problem := usage.Problem{Place: fmt.Sprintf("PROBER_WEB_CONFIG_FILE=%q", path)}
	err := web.Validate(path)
	switch {
	case err != nil:
		problem.Text = strings.Join(strings.Fields(err.Error()), " ")
		problem.Hint = "see the web configuration of the Prometheus exporter-toolkit"
	case isOpen(path):
		problem.Text = "has neither TLS nor users: everybody who reaches the port could read the page and the metrics"
		problem.Hint = "add tls_server_config or basic_auth_users to it, or leave the setting out"
	default:
		return nil
	}
	return usage.Problems{problem}
}

// LoadIdle returns what a sidecar runs with if its configuration is invalid: no targets, and every valid setting of the
// prober itself. If the sidecar ended instead, its pod would not be ready, and a typing error would take the server
// beside it out of rotation. ok is false if wrong is not a problem of the configuration, or if the prober is not a
// sidecar.
func LoadIdle(wrong error, environ, flags map[string]string) (c *config.Config, ok bool) {
	if _, refused := errors.AsType[usage.Problems](wrong); !refused {
		return nil, false
	}
	c, ok = LoadWithoutTargets(environ, flags)
	return c, ok && c.Sidecar()
}

// LoadWithoutTargets returns a configuration with the settings of the prober itself and no targets. A setting that is
// invalid has its default; but if LISTEN_ADDRESS or WEB_CONFIG_FILE is invalid, the prober listens on loopback only. ok
// is false if DRAIN_ENDPOINT is invalid: then nobody knows whether this is a sidecar.
func LoadWithoutTargets(environ, flags map[string]string) (c *config.Config, ok bool) {
	c, invalid := config.LoadWithoutTargets(config.Options{Environ: environ, Overrides: flags})
	if checkWebConfig(c.WebConfigFile) != nil {
		c.WebConfigFile = ""
		invalid = append(invalid, "WEB_CONFIG_FILE")
	}
	if slices.Contains(invalid, "LISTEN_ADDRESS") || slices.Contains(invalid, "WEB_CONFIG_FILE") {
		c.ListenAddress = "127.0.0.1:9464"
	}
	return c, !slices.Contains(invalid, "DRAIN_ENDPOINT")
}

// A reloadResult is what a reload changed.
type reloadResult struct {
	err      error             // why nothing has changed; nil: the configuration is in force
	rejected []config.Rejected // its targets that are not probed
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
	d.noteLoaded()
	d.Log.Info("reloaded", zap.Int("targets", d.runner.Targets()), zap.Int("rejected", len(next.Rejected)))
	return reloadResult{rejected: next.Rejected}
}

// reloadHandler serves POST /-/reload. It answers when the reload is done, or as soon as stopping is closed.
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
