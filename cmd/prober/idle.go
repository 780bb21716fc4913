package main

import (
	"errors"

	"github.com/llm-prober/prober/internal/config"
	"github.com/llm-prober/prober/internal/wire"
)

// idle is what a sidecar works by whose configuration is wrong: no targets, and
// what it is served by, on loopback alone where that is what is wrong. A prober
// that ends makes its pod start it again, and while it does, the kubelet counts the
// pod as not ready: the server beside it would be out of rotation for a typing
// error of ours. ok is false if wrong is something else, or for a prober that is
// no sidecar: it ends.
func idle(wrong error, environ, flags map[string]string) (c *config.Config, ok bool) {
	if _, refused := errors.AsType[config.Problems](wrong); !refused {
		return nil, false
	}
	served := chosen("", flags, "DRAIN_ENDPOINT", "LISTEN_ADDRESS", "WEB_CONFIG_FILE", "LOG_LEVEL", "LOG_FORMAT")
	alone := chosen("", flags, "DRAIN_ENDPOINT")
	alone["LISTEN_ADDRESS"] = "127.0.0.1:9464"
	for _, try := range []struct{ environ, flags map[string]string }{
		{chosen("PROBER_", environ, "DRAIN_ENDPOINT", "LISTEN_ADDRESS", "WEB_CONFIG_FILE", "LOG_LEVEL", "LOG_FORMAT"), served},
		{chosen("PROBER_", environ, "DRAIN_ENDPOINT"), alone},
	} {
		c, err := load(config.Options{
			Environ: try.environ, Overrides: try.flags, URLs: []string{"http://127.0.0.1"}, APIs: apis(), Servers: wire.Servers(),
		}, nil)
		if err == nil {
			c.Targets, c.Warnings = nil, nil
			return c, c.DrainEndpoint
		}
	}
	return nil, false
}

// chosen is what of some variables has one of some names behind a prefix.
func chosen(prefix string, from map[string]string, names ...string) map[string]string {
	some := map[string]string{}
	for _, name := range names {
		if v, ok := from[prefix+name]; ok {
			some[prefix+name] = v
		}
	}
	return some
}
