package main

import (
	"errors"
	"maps"

	"github.com/llm-prober/prober/internal/config"
	"github.com/llm-prober/prober/internal/wire"
)

// idle is what a sidecar works by whose configuration is wrong: no targets, and
// every setting of the prober itself that is right. A prober that ends makes its pod
// start it again, and while it does, the kubelet counts the pod as not ready: the
// server beside it would be out of rotation for a typing error of ours. ok is false
// if wrong is something else, or for a prober that is no sidecar: it ends.
func idle(wrong error, environ, flags map[string]string) (c *config.Config, ok bool) {
	if _, refused := errors.AsType[config.Problems](wrong); !refused {
		return nil, false
	}
	c, ok = withoutTargets(environ, flags)
	return c, ok && c.DrainEndpoint
}

// withoutTargets is a configuration of those settings of the prober itself that are
// right, each by itself. Where it was to be served and to whom is one of them: while
// that is wrong, it is served on loopback alone. ok is false if it cannot be told
// whether this is a sidecar.
func withoutTargets(environ, flags map[string]string) (c *config.Config, ok bool) {
	loopback := map[string]string{"LISTEN_ADDRESS": "127.0.0.1:9464"}
	kept, overrides := map[string]string{}, map[string]string{}
	for _, names := range [][]string{
		{"DRAIN_ENDPOINT"}, {"LISTEN_ADDRESS", "WEB_CONFIG_FILE"}, {"LOG_LEVEL"}, {"LOG_FORMAT"}, {"GENAI_SEMCONV"}, {"RELOAD_INTERVAL"}, {"DNS_INTERVAL"},
	} {
		environ, flags := with(kept, "PROBER_", environ, names), with(overrides, "", flags, names)
		next, err := load(config.Options{Environ: environ, Overrides: flags, URLs: []string{"http://127.0.0.1"}, APIs: apis(), Servers: wire.Servers()}, nil)
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
