package main

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/llm-prober/prober/"

// arrows is which packages each package may import, as the picture in CONTRIBUTING.md draws
// it. All arrows point down.
var arrows = map[string][]string{
	"cmd/prober":         {"alerts", "dashboards", "daemon", "engine", "config", "schedule", "prompt", "telemetry", "status", "report", "plot", "archive", "bench", "discovery", "inject", "sim", "probe", "wire", "stream", "format"},
	"internal/daemon":    {"engine", "config", "schedule", "prompt", "discovery", "telemetry", "status", "report", "plot", "probe", "wire", "stream", "format"},
	"internal/engine":    {"config", "schedule", "prompt", "discovery", "telemetry", "status", "report", "plot", "probe", "wire", "stream", "format"},
	"internal/config":    {"probe", "wire", "stream"},
	"internal/discovery": {},
	"internal/inject":    {"config", "probe", "wire", "stream"},
	"internal/schedule":  {},
	"internal/prompt":    {"wire"},
	"internal/telemetry": {"probe", "wire", "stream"},
	"internal/status":    {"config", "report", "plot", "probe", "wire", "stream", "format"},
	"internal/report":    {"config", "plot", "probe", "wire", "stream", "format"},
	"internal/plot":      {"format"},
	"internal/format":    {},
	"internal/archive":   {"config", "report", "plot", "probe", "wire", "stream", "format"},
	"internal/bench":     {"engine", "config", "schedule", "prompt", "discovery", "telemetry", "status", "report", "plot", "probe", "wire", "stream", "format"},
	"internal/sim":       {},
	"internal/probe":     {"wire", "stream"},
	"internal/wire":      {},
	"internal/stream":    {},

	// What is shipped beside the program imports nothing of ours.
	"alerts":              {},
	"dashboards":          {},
	"dashboards/generate": {},
	"deploy":              {},
}

// TestArrows holds the map against what the code imports, directly or not.
func TestArrows(t *testing.T) {
	for pkg, allowed := range arrows {
		for _, seen := range deps(t, "../../"+pkg) {
			name, ours := strings.CutPrefix(seen, module)
			if ours && name != pkg && !slices.Contains(allowed, strings.TrimPrefix(name, "internal/")) {
				t.Errorf("%s imports %s", pkg, name)
			}
		}
	}
}

// TestOnlyTelemetryKnowsMetrics holds that results know no metrics, and packages no
// logger. The archive reads what Prometheus stored.
func TestOnlyTelemetryKnowsMetrics(t *testing.T) {
	for pkg := range arrows {
		switch pkg {
		case "cmd/prober", "internal/daemon", "internal/engine", "internal/telemetry", "internal/archive", "internal/bench": // bench runs by the engine
			continue
		}
		for _, seen := range deps(t, "../../"+pkg) {
			for _, banned := range []string{"github.com/prometheus/", "go.opentelemetry.io/", "go.uber.org/zap"} {
				if strings.HasPrefix(seen, banned) {
					t.Errorf("%s imports %s", pkg, seen)
				}
			}
		}
	}
}

// TestEveryPackageIsInThePicture holds that no package was added without its arrows.
func TestEveryPackageIsInThePicture(t *testing.T) {
	for _, pkg := range list(t, "-f", "{{.ImportPath}}", "../../...") {
		if _, ok := arrows[strings.TrimPrefix(pkg, module)]; !ok {
			t.Errorf("%s is not in the picture", pkg)
		}
	}
}

func deps(t *testing.T, pkg string) []string { return list(t, "-deps", pkg) }

func list(t *testing.T, args ...string) []string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", append([]string{"list"}, args...)...).Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.Fields(string(out))
}
