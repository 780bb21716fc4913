package integrations_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/llm-prober/prober/test/startup"
)

// TestPrometheusTakesItsConfigurations hands each prometheus.yml to promtool, with
// the rules of the prober beside it.
func TestPrometheusTakesItsConfigurations(t *testing.T) {
	t.Parallel()
	rules, err := exec.CommandContext(t.Context(), startup.Binary(t, "PROBER_BINARY"), "alerts").Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range snippets(t, prometheus) {
		dir := t.TempDir()
		write(t, filepath.Join(dir, "prober.yaml"), string(rules))
		write(t, filepath.Join(dir, "prometheus.yml"), s.text)
		accepted(t, s, startup.Binary(t, "PROMTOOL_BINARY"), "check", "config", filepath.Join(dir, "prometheus.yml"))
	}
}

// TestCollectorTakesItsConfigurations hands each whole configuration to a real
// Collector. Parts with components that ours does not have are read only.
func TestCollectorTakesItsConfigurations(t *testing.T) {
	t.Parallel()
	for _, s := range snippets(t, collector) {
		path := filepath.Join(t.TempDir(), "otelcol.yaml")
		write(t, path, s.text)
		accepted(t, s, startup.Binary(t, "OTELCOL_BINARY"), "validate", "--config", path)
	}
	for _, s := range snippets(t, collectorPart) {
		t.Logf("%s: not run: processors %v", s.page, at(decode(t, s), "processors"))
	}
}

// accepted holds that a program ends without an error.
func accepted(t *testing.T, s snippet, command string, args ...string) {
	t.Helper()
	if out, err := exec.CommandContext(t.Context(), command, args...).CombinedOutput(); err != nil {
		t.Errorf("%s: %v: %s\nof\n%s", s.page, err, out, s.text)
	}
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}
