// Package startup asks the real prober whether it takes a configuration, for tests
// of what writes some. It sends no probe and opens no port.
package startup

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Refusal is what the prober says of an environment and files, by their paths in
// its container; empty if it takes them. It reads and judges its configuration
// before it listens, and it is told to listen where it cannot. It needs
// PROBER_BINARY.
func Refusal(t *testing.T, environ, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	here := strings.NewReplacer("/etc/prober", root)
	for path, content := range files {
		path = here.Replace(path)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(here.Replace(content)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), Binary(t, "PROBER_BINARY"), "run", "--listen-address", "192.0.2.1:9464")
	cmd.Env = []string{"PATH=" + os.Getenv("PATH")}
	for name, value := range environ {
		cmd.Env = append(cmd.Env, name+"="+here.Replace(value))
	}
	var out bytes.Buffer
	cmd.Stderr = &out
	err := cmd.Run()
	if failed := (*exec.ExitError)(nil); err != nil && !errors.As(err, &failed) {
		t.Fatal(err)
	}
	said, code := out.String(), cmd.ProcessState.ExitCode()
	switch listens := strings.Contains(said, "listen on PROBER_LISTEN_ADDRESS"); {
	case code == 2 && !listens:
		return said
	case code != 1 || !listens:
		t.Fatalf("exit code %d: %s", code, said)
	case strings.Contains(said, "unknown variable"):
		return said
	}
	return ""
}

// Binary is the program that a variable of our environment names.
func Binary(t *testing.T, variable string) string {
	t.Helper()
	path := os.Getenv(variable)
	if path == "" {
		t.Fatalf("%s is not set: run make e2e", variable)
	}
	return path
}
