package program

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Refusal is what the prober says of an environment and files, by their paths in
// its container; empty if it takes them and all targets in them. It is asked to show its
// configuration, and then to run, but to listen where it cannot: it sends no probe and
// opens no port. As a sidecar, with PROBER_DRAIN_ENDPOINT, it would go on with what
// it refuses, so that variable is left out. It needs PROBER_BINARY.
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
	var variables []string
	for name, value := range environ {
		if name == "PROBER_DRAIN_ENDPOINT" {
			continue
		}
		variables = append(variables, name+"="+here.Replace(value))
	}
	show := Launch(t, "PROBER_BINARY", variables, "config", "show") // run would do without a target that is wrong
	if _, code := show.Output(t); code != 0 {
		return show.Log()
	}
	p := Launch(t, "PROBER_BINARY", variables, "run", "--listen-address", "192.0.2.1:9464")
	_, code := p.Output(t)
	said := p.Log()
	switch listens := strings.Contains(said, "bind: cannot assign requested address"); {
	case code == 2 && !listens:
		return said
	case code != 1 || !listens:
		t.Fatalf("exit code %d: %s", code, said)
	case strings.Contains(said, "unknown variable"):
		return said
	}
	return ""
}
