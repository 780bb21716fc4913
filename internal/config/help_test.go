package config

import (
	"io/fs"
	"strings"
	"syscall"
	"testing"
)

// files is a ReadFile over file names.
func files(content map[string]string) func(string) ([]byte, error) {
	return func(name string) ([]byte, error) {
		if text, ok := content[name]; ok {
			return []byte(text), nil
		}
		return nil, &fs.PathError{Op: "open", Path: name, Err: syscall.ENOENT}
	}
}

// environ reads lines of NAME=value, names without PROBER_.
func environ(lines string) map[string]string {
	environment := map[string]string{}
	for line := range strings.Lines(lines) {
		if name, text, ok := strings.Cut(strings.TrimSpace(line), "="); ok {
			environment[prefix+name] = text
		}
	}
	return environment
}

// withTarget is environ with one good target more.
func withTarget(lines string) map[string]string {
	return environ("TARGETS_0_URL=http://one:8000\n" + lines)
}

// load loads what must be right.
func load(t *testing.T, o Options) *Config {
	t.Helper()
	c, err := Load(o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}
