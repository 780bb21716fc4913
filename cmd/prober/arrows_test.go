package main

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/llm-prober/prober/"

// arrows is which rooms each room may see, as the map in CONTRIBUTING.md draws
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

	// What is shipped beside the program sees nothing of ours.
	"alerts":              {},
	"dashboards":          {},
	"dashboards/generate": {},
	"deploy":              {},
}

// TestArrows holds the map against what the code imports, directly or not.
func TestArrows(t *testing.T) {
	for room, allowed := range arrows {
		for _, seen := range deps(t, "../../"+room) {
			name, ours := strings.CutPrefix(seen, module)
			if ours && name != room && !slices.Contains(allowed, strings.TrimPrefix(name, "internal/")) {
				t.Errorf("%s sees %s", room, name)
			}
		}
	}
}

// TestOnlyTelemetryKnowsMetrics holds that results know no metrics, and rooms no
// logger. The archive reads what Prometheus stored.
func TestOnlyTelemetryKnowsMetrics(t *testing.T) {
	for room := range arrows {
		switch room {
		case "cmd/prober", "internal/daemon", "internal/engine", "internal/telemetry", "internal/archive", "internal/bench": // bench runs by the engine
			continue
		}
		for _, seen := range deps(t, "../../"+room) {
			for _, banned := range []string{"github.com/prometheus/", "go.opentelemetry.io/", "go.uber.org/zap"} {
				if strings.HasPrefix(seen, banned) {
					t.Errorf("%s sees %s", room, seen)
				}
			}
		}
	}
}

// TestEveryRoomIsOnTheMap holds that no room was added without its arrows.
func TestEveryRoomIsOnTheMap(t *testing.T) {
	for _, pkg := range list(t, "-f", "{{.ImportPath}}", "../../...") {
		if _, ok := arrows[strings.TrimPrefix(pkg, module)]; !ok {
			t.Errorf("%s is not on the map", pkg)
		}
	}
}

func deps(t *testing.T, room string) []string { return list(t, "-deps", room) }

func list(t *testing.T, args ...string) []string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", append([]string{"list"}, args...)...).Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.Fields(string(out))
}
