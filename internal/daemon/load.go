package daemon

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/prometheus/exporter-toolkit/web"

	"github.com/llm-prober/prober/internal/config"
	"github.com/llm-prober/prober/internal/engine"
)

// Load is [config.Load] with a check of the files whose format is not the configuration's
// own. They are read through assets, and so is everything that o names.
func Load(o config.Options, assets *engine.Assets) (*config.Config, error) {
	o.ReadFile = assets.Read
	c, err := config.Load(o)
	if err != nil {
		return nil, err
	}
	if err := web.Validate(c.WebConfigFile); err != nil {
		return nil, config.Problems{{
			Place: fmt.Sprintf("PROBER_WEB_CONFIG_FILE=%q", c.WebConfigFile), Text: strings.Join(strings.Fields(err.Error()), " "),
			Hint: "see the web configuration of the Prometheus exporter-toolkit",
		}}
	}
	if err := assets.Validate(c.Targets); err != nil {
		return nil, err
	}
	return c, nil
}

// Idle is what a sidecar works by whose configuration is wrong: no targets, and
// every setting of the prober itself that is right. A prober that ends makes its pod
// start it again, and while it does, the kubelet counts the pod as not ready: the
// server beside it would be out of rotation for a typing error of ours. ok is false
// if wrong is something else, or for a prober that is no sidecar: it ends.
func Idle(wrong error, environ, flags map[string]string) (c *config.Config, ok bool) {
	if _, refused := errors.AsType[config.Problems](wrong); !refused {
		return nil, false
	}
	c, ok = WithoutTargets(environ, flags)
	return c, ok && c.DrainEndpoint
}

// WithoutTargets is a configuration of those settings of the prober itself that are
// right, each by itself. Where it was to be served and to whom is one of them: while
// that is wrong, it is served on loopback alone. ok is false if it cannot be told
// whether this is a sidecar.
func WithoutTargets(environ, flags map[string]string) (c *config.Config, ok bool) {
	loopback := map[string]string{"LISTEN_ADDRESS": "127.0.0.1:9464"}
	kept, overrides := map[string]string{}, map[string]string{}
	groups := [][]string{{"DRAIN_ENDPOINT"}, {"LISTEN_ADDRESS", "WEB_CONFIG_FILE"}}
	for _, key := range config.Reference() {
		if name := strings.TrimPrefix(key.Variable, "PROBER_"); key.Restart && !slices.Contains(slices.Concat(groups...), name) {
			groups = append(groups, []string{name})
		}
	}
	for _, names := range groups {
		environ, flags := with(kept, "PROBER_", environ, names), with(overrides, "", flags, names)
		next, err := Load(config.Options{Environ: environ, Overrides: flags, URLs: []string{"http://127.0.0.1"}}, engine.NewAssets(config.ReadFile))
		switch {
		case err == nil:
			c, kept, overrides = next, environ, flags
		case names[0] == "DRAIN_ENDPOINT":
			return nil, false
		case names[0] == "LISTEN_ADDRESS":
			maps.Copy(overrides, loopback)
		}
	}
	c.Targets, c.Warnings = nil, nil
	return c, true
}

// with is some variables, and those of others that have one of some names behind a
// prefix.
func with(some map[string]string, prefix string, others map[string]string, names []string) map[string]string {
	more := maps.Clone(some)
	for _, name := range names {
		if v, ok := others[prefix+name]; ok {
			more[prefix+name] = v
		}
	}
	return more
}
