package test

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/llm-prober/prober/test/program"
)

// TestSlothReadsOurPage gives Sloth the objectives of docs/sloth.md, and its rules to Prometheus.
func TestSlothReadsOurPage(t *testing.T) {
	t.Parallel()
	cmd := exec.CommandContext(t.Context(), program.Binary(t, "SLOTH_BINARY"))
	cmd.Stdin = strings.NewReader(page(t, "sloth.md", 0, nil))
	cmd.Stderr = t.Output()
	rules, err := cmd.Output()
	must(t, err)
	if bad := `llm_probe_objective_events_total{target="llama-8b",objective="availability",verdict="bad"}[5m]`; !strings.Contains(string(rules), bad) {
		t.Errorf("no rule counts %s:\n%s", bad, rules)
	}
	checkRules(t, string(rules))
}

// TestPrometheusReadsWhatPyrraIsAsked holds that docs/sloth.md shows an objective for Pyrra with the fields of its ratio, and
// that Prometheus reads the ratio. Pyrra itself is no module that can be had.
func TestPrometheusReadsWhatPyrraIsAsked(t *testing.T) {
	t.Parallel()
	type metric struct{ Metric string }
	var objective struct {
		APIVersion string `yaml:"apiVersion"`
		Kind       string
		Metadata   struct{ Name, Namespace string }
		Spec       struct {
			Target, Window string
			Indicator      struct {
				Ratio struct {
					Errors, Total metric
					Grouping      []string
				}
			}
		}
	}
	decoder := yaml.NewDecoder(strings.NewReader(page(t, "sloth.md", 1, nil)))
	decoder.KnownFields(true)
	must(t, decoder.Decode(&objective))
	ratio := objective.Spec.Indicator.Ratio
	by := strings.Join(ratio.Grouping, ", ")
	checkRules(t, fmt.Sprintf("groups:\n- name: pyrra\n  rules:\n  - record: pyrra:ratio\n    expr: >-\n"+
		"      sum by (%s) (rate(%s[5m])) / sum by (%s) (rate(%s[5m]))\n", by, ratio.Errors.Metric, by, ratio.Total.Metric))
}

// checkRules expects that promtool reads a file of rules.
func checkRules(t *testing.T, rules string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "rules.yaml")
	write(t, file, rules)
	if said, ok := promtool(t, "", "check", "rules", file); !ok {
		t.Errorf("%s\nof\n%s", said, rules)
	}
}
