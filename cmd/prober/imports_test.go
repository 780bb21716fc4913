package main

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/llm-prober/prober/"

// imports is which packages of ours each package may import itself, as the picture
// in CONTRIBUTING.md shows: only what stands below it.
var imports = map[string][]string{
	"cmd/prober": {
		"alerts", "dashboards", "daemon", "engine", "telemetry", "prompt", "probe", "wire", "stream",
		"config", "bench", "report", "promquery", "inject", "sim", "format",
	},
	"internal/daemon":            {"engine", "discovery", "telemetry", "status", "probe", "wire", "config"},
	"internal/engine":            {"schedule", "prompt", "discovery", "telemetry", "status", "probe", "wire", "config", "report", "format"},
	"internal/schedule":          {},
	"internal/prompt":            {"wire"},
	"internal/discovery":         {},
	"internal/discovery/dnstest": {},
	"internal/telemetry":         {"probe", "wire"},
	"internal/status":            {"probe", "report", "format"},
	"internal/probe":             {"wire", "stream"},
	"internal/wire":              {},
	"internal/stream":            {},

	"internal/config":    {"probe", "wire"},
	"internal/bench":     {"engine", "schedule", "prompt", "probe", "wire", "config", "report", "format"},
	"internal/promquery": {"probe", "config", "report", "plot", "format"},
	"internal/report":    {"probe", "wire", "config", "plot", "format"},
	"internal/inject":    {"config"},
	"internal/sim":       {},
	"internal/plot":      {"format"},
	"internal/format":    {},

	// What is shipped beside the program imports nothing of ours.
	"alerts":              {},
	"dashboards":          {},
	"dashboards/generate": {},
	"deploy":              {},
}

// TestImports compares the table with what the code imports. Tests may import more.
func TestImports(t *testing.T) {
	for pkg, allowed := range imports {
		for _, imported := range list(t, "-f", `{{join .Imports "\n"}}`, "../../"+pkg) {
			name, ours := strings.CutPrefix(imported, module)
			if ours && !slices.Contains(allowed, strings.TrimPrefix(name, "internal/")) {
				t.Errorf("%s imports %s", pkg, name)
			}
		}
	}
}

// TestOnlyTelemetryKnowsMetrics checks that results know no metrics, and that packages know no
// logger. internal/promquery reads what Prometheus stored, internal/bench uses the engine.
func TestOnlyTelemetryKnowsMetrics(t *testing.T) {
	for pkg := range imports {
		switch pkg {
		case "cmd/prober", "internal/daemon", "internal/engine", "internal/telemetry", "internal/promquery", "internal/bench":
			continue
		}
		for _, imported := range list(t, "-deps", "../../"+pkg) {
			for _, banned := range []string{"github.com/prometheus/", "go.opentelemetry.io/", "go.uber.org/zap"} {
				if strings.HasPrefix(imported, banned) {
					t.Errorf("%s imports %s, directly or not", pkg, imported)
				}
			}
		}
	}
}

// TestEveryPackageHasItsImports checks that every package is in the table.
func TestEveryPackageHasItsImports(t *testing.T) {
	for _, pkg := range list(t, "-f", "{{.ImportPath}}", "../../...") {
		if _, ok := imports[strings.TrimPrefix(pkg, module)]; !ok {
			t.Errorf("%s is missing in imports", pkg)
		}
	}
}

func list(t *testing.T, args ...string) []string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", append([]string{"list"}, args...)...).Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.Fields(string(out))
}
