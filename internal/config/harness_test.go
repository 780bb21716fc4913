package config

import (
	"io/fs"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

var secrets = cmp.AllowUnexported(Secret{}) // compares secrets by their texts

// noPlaces leaves out where settings are written, which TestPlaces holds.
var noPlaces = cmpopts.IgnoreFields(Target{}, "Places")

// files returns a function that reads files by their names.
func files(content map[string]string) func(string) ([]byte, error) {
	return func(name string) ([]byte, error) {
		if text, ok := content[name]; ok {
			return []byte(text), nil
		}
		return nil, &fs.PathError{Op: "open", Path: name, Err: syscall.ENOENT}
	}
}

// environ returns the variables in lines of NAME=value, whose names lack PROBER_.
func environ(lines ...string) map[string]string {
	environment := map[string]string{}
	for _, line := range lines {
		for line := range strings.Lines(line) {
			if name, text, ok := strings.Cut(strings.TrimSpace(line), "="); ok {
				environment[prefix+name] = text
			}
		}
	}
	return environment
}

// withTarget returns the variables in lines, as environ does, and a valid target.
func withTarget(lines ...string) map[string]string {
	return environ(append(lines, "TARGETS_0_URL=http://one:8000")...)
}

// withFile returns options with a targets file.
func withFile(content string, lines ...string) Options {
	return Options{
		Environ:  environ(append(lines, "TARGETS_FILE=f.yaml")...),
		ReadFile: files(map[string]string{"f.yaml": content}),
	}
}

// load returns a configuration that must be valid.
func load(t *testing.T, o Options) *Config {
	t.Helper()
	c, err := Load(o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}
