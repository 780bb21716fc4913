package daemon

import (
	"errors"
	"slices"

	"github.com/llm-prober/prober/internal/config"
	"github.com/llm-prober/prober/internal/files"
	"github.com/llm-prober/prober/internal/usage"
)

// Load loads a configuration by [config.Load], and checks what is in the files that it names. A target with an invalid
// file is rejected like a target with an invalid setting.
func Load(o config.Options, f *files.Files) (*config.Config, error) {
	o.ReadFile = f.Read
	c, err := config.Load(o)
	if err != nil {
		return nil, err
	}
	var problems usage.Problems
	if c.WebConfigFile != "" {
		_, err = f.Read(c.WebConfigFile)
		if err == nil { // it may be missing here if the prober is to run elsewhere
			problems = checkWebConfig(c.WebConfigFile)
		}
	}
	checked := c.Targets
	if len(c.HTTPSD) > 0 {
		checked = append(slices.Clip(checked), c.Shared)
	}
	c.Reject(f.Check(checked))
	if problems != nil || c.MustRefuse(o.Finite) {
		return nil, append(problems, c.Problems()...).Sorted()
	}
	return c, nil
}

// LoadIdle returns what a sidecar runs with if its configuration is invalid: no targets, and every valid setting of the
// prober itself. If the sidecar ended instead, its pod would not be ready, and a typing error would take the server
// beside it out of rotation. ok is false if wrong is not a problem of the configuration, or if the prober is not a
// sidecar.
func LoadIdle(wrong error, environ, flags map[string]string) (c *config.Config, ok bool) {
	_, isInvalid := errors.AsType[usage.Problems](wrong)
	if !isInvalid {
		return nil, false
	}
	c, ok = LoadWithoutTargets(environ, flags)
	return c, ok && c.Sidecar()
}

// LoadWithoutTargets returns a configuration with the settings of the prober itself and no targets. An invalid setting
// has its default. But if LISTEN_ADDRESS or WEB_CONFIG_FILE is invalid, the prober listens on loopback only: nobody
// else may reach what was meant to be protected. ok is false if DRAIN_ENDPOINT is invalid: then nobody knows whether
// this is a sidecar.
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
