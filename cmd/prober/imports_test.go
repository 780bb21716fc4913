package main

import (
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/llm-prober/prober/"

// imports are the packages of this module that each package may import itself: only what stands below it in the picture
// in CONTRIBUTING.md.
var imports = map[string][]string{
	"cmd/prober": {
		"alerts", "dashboards", "daemon", "engine", "observe", "length", "files", "telemetry", "prompt", "probe", "wire",
		"stream", "config", "check", "bench", "report", "promquery", "sim", "format", "usage",
	},
	"internal/daemon": {"engine", "observe", "files", "telemetry", "status", "probe", "wire", "config", "usage"},
	"internal/engine": {
		"observe", "schedule", "length", "prompt", "telemetry", "status", "report", "files", "probe", "wire", "config",
		"format", "usage",
	},
	"internal/schedule":  {},
	"internal/length":    {"schedule", "prompt", "probe", "wire"},
	"internal/prompt":    {"wire"},
	"internal/telemetry": {"probe", "server", "timing", "wire", "format"},
	"internal/status":    {"probe", "server", "report", "stats", "format", "usage"},
	"internal/stats":     {},
	"internal/probe":     {"server", "timing", "wire", "stream", "format"},
	"internal/server":    {"wire"},
	"internal/timing":    {},
	"internal/wire":      {},
	"internal/stream":    {},

	"internal/observe": {"telemetry", "status", "report", "stats", "length", "probe", "config", "format", "usage"},
	"internal/files":   {"prompt", "wire", "config", "usage"},
	"internal/config":  {"probe", "server", "wire", "format", "usage"},
	"internal/bench": {
		"engine", "observe", "length", "files", "schedule", "prompt", "probe", "config", "report", "stats", "format",
		"usage",
	},
	"internal/check":     {"engine", "length", "prompt", "probe", "wire", "config", "report", "format", "usage"},
	"internal/promquery": {"probe", "report", "telemetry", "stats", "format", "usage"},
	"internal/report":    {"length", "probe", "schedule", "server", "timing", "wire", "plot", "stats", "format", "usage"},
	"internal/sim":       {},
	"internal/plot":      {"format"},
	"internal/usage":     {"format"},
	"internal/format":    {},

	// Only tests import these.
	"internal/testing/memconn":    {},
	"internal/testing/simnet":     {"sim", "testing/memconn"},
	"internal/testing/exposition": {},
	"internal/testing/golden":     {},
	"internal/testing/kerneltest": {},

	// What is shipped beside the program imports nothing of it.
	"alerts":              {},
	"dashboards":          {},
	"dashboards/generate": {"dashboards"},
	"deploy":              {},
}

// measuring are the packages that may know metrics and loggers. In another one, the results of a probe could depend on
// how they are recorded.
var measuring = []string{
	"cmd/prober", "internal/daemon", "internal/engine", "internal/observe", "internal/telemetry",
	"internal/promquery",               // reads what Prometheus stored
	"internal/bench", "internal/check", // use the engine
}

// TestImports compares the tables with what the code imports. Tests may import more.
func TestImports(t *testing.T) {
	foreign := regexp.MustCompile(`^(github\.com/prometheus|go\.opentelemetry\.io|go\.uber\.org/zap)\b`)
	const columns = `{{.ImportPath}};{{join .Imports " "}};{{join .Deps " "}}`
	out, err := exec.CommandContext(t.Context(), "go", "list", "-f", columns, "../../...").Output()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(out)) {
		columns := strings.Split(line, ";")
		pkg := strings.TrimPrefix(columns[0], module)
		allowed, known := imports[pkg]
		if !known {
			t.Errorf("%s is missing in imports", pkg)
		}
		for imported := range strings.FieldsSeq(columns[1]) {
			name, ours := strings.CutPrefix(imported, module)
			if ours && !slices.Contains(allowed, strings.TrimPrefix(name, "internal/")) {
				t.Errorf("%s imports %s", pkg, name)
			}
		}
		for imported := range strings.FieldsSeq(columns[2]) {
			if foreign.MatchString(imported) && !slices.Contains(measuring, pkg) {
				t.Errorf("%s imports %s, directly or not", pkg, imported)
			}
		}
	}
}
