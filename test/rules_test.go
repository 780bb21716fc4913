package test

import (
	"errors"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// alertsDir has the rules and, in tests, what promtool is to see of them.
const alertsDir = "../alerts"

// shippedRules is the rule file that users load.
func shippedRules(t *testing.T) string {
	t.Helper()
	rules, err := os.ReadFile(filepath.Join(alertsDir, "rules.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	return string(rules)
}

// A ruleFile is a file of rules, as far as these tests look.
type ruleFile struct {
	Groups []struct {
		Name  string `yaml:"name"`
		Rules []rule `yaml:"rules"`
	} `yaml:"groups"`
}

// A rule is an alert or a record; the one it is not is empty.
type rule struct {
	Alert  string            `yaml:"alert,omitempty"`
	Record string            `yaml:"record,omitempty"`
	Expr   string            `yaml:"expr"`
	Labels map[string]string `yaml:"labels,omitempty"`
}

// A ruleTests is a file of promtool's unit tests.
type ruleTests struct {
	Tests []struct {
		Name   string      `yaml:"name"`
		Alerts []alertTest `yaml:"alert_rule_test"`
	} `yaml:"tests"`
}

// An alertTest says which alerts of a name fire at a moment, and what they tell.
type alertTest struct {
	EvalTime string `yaml:"eval_time"`
	Name     string `yaml:"alertname"`
	Firing   []struct {
		Labels      map[string]string `yaml:"exp_labels"`
		Annotations map[string]string `yaml:"exp_annotations"`
	} `yaml:"exp_alerts"`
}

// promtool runs promtool and returns what it says; ok is whether it is content.
func promtool(t *testing.T, args ...string) (output string, ok bool) {
	t.Helper()
	binary := os.Getenv("PROMTOOL_BINARY")
	if binary == "" {
		t.Fatal("PROMTOOL_BINARY is not set: run make e2e")
	}
	said, err := exec.CommandContext(t.Context(), binary, args...).CombinedOutput()
	if exit := new(exec.ExitError); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return string(said), err == nil
}

// decode reads a YAML file.
func decode[T any](t *testing.T, path string) (v T) {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(content, &v); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return v
}

// ruleTestFiles are the paths of all test files.
func ruleTestFiles(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(alertsDir, "tests", "*.yaml"))
	if err != nil || len(files) < 10 {
		t.Fatalf("%d test files: %v", len(files), err)
	}
	return files
}

func TestRulesLint(t *testing.T) {
	output, ok := promtool(t, "check", "rules", "--lint=all", "--lint-fatal", filepath.Join(alertsDir, "rules.yaml"))
	if !ok {
		t.Error(output)
	}
}

func TestRules(t *testing.T) {
	for _, file := range ruleTestFiles(t) {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			if output, ok := promtool(t, "test", "rules", file); !ok {
				t.Error(output)
			}
		})
	}
}

// variants are the kinds of each alert, by the labels that the rules give them.
// A regression is of each basis that its ratio may have.
func variants(rules ruleFile) (all []rule) {
	var bases []string
	for _, group := range rules.Groups {
		for _, r := range group.Rules {
			switch {
			case strings.HasSuffix(r.Record, ":regression_ratio"):
				bases = append(bases, r.Labels["basis"])
			case strings.Contains(r.Expr, ":regression_ratio{"):
				for _, basis := range bases {
					labels := maps.Clone(r.Labels)
					labels["basis"] = basis
					all = append(all, rule{Alert: r.Alert, Labels: labels})
				}
			case r.Alert != "":
				all = append(all, r)
			}
		}
	}
	return all
}

// includes tells whether labels has all of those that a rule gives.
func (r rule) includes(labels map[string]string) bool {
	for name, value := range r.Labels {
		if labels[name] != value {
			return false
		}
	}
	return true
}

// TestRulesAreTested holds that each kind of each alert is seen to fire, and seen
// to be silent.
func TestRulesAreTested(t *testing.T) {
	all := variants(decode[ruleFile](t, filepath.Join(alertsDir, "rules.yaml")))
	if len(all) < 30 {
		t.Fatalf("%d kinds of alerts", len(all))
	}
	fires, silent := make([]bool, len(all)), make([]bool, len(all))
	for _, file := range ruleTestFiles(t) {
		for _, group := range decode[ruleTests](t, file).Tests {
			for _, test := range group.Alerts {
				for i, kind := range all {
					if kind.Alert != test.Name {
						continue
					}
					n := 0
					for _, firing := range test.Firing {
						if kind.includes(firing.Labels) {
							n++
						}
					}
					fires[i] = fires[i] || n > 0
					silent[i] = silent[i] || n == 0
				}
			}
		}
	}
	for i, kind := range all {
		if !fires[i] || !silent[i] {
			t.Errorf("%s %v: seen firing %v, silent %v", kind.Alert, kind.Labels, fires[i], silent[i])
		}
	}
}

// TestAnnotationsRead holds that what the alerts tell, as the tests expect it,
// has no holes where a template found nothing.
func TestAnnotationsRead(t *testing.T) {
	hole := regexp.MustCompile(`<no value>|NaN|Inf|<error|  | [,.;:]|^ | $|\{|\}`)
	for _, file := range ruleTestFiles(t) {
		for _, group := range decode[ruleTests](t, file).Tests {
			for _, test := range group.Alerts {
				for _, firing := range test.Firing {
					for name, text := range firing.Annotations {
						if at := hole.FindString(text); at != "" || text == "" {
							t.Errorf("%s: %s: %s of %s has %q: %s", file, group.Name, name, test.Name, at, text)
						}
					}
				}
			}
		}
	}
}

// TestRuleTestsCanFail holds that each expectation of alerts fails when no alert
// fires, or else when all fire at all times.
func TestRuleTestsCanFail(t *testing.T) {
	t.Parallel()
	rules := decode[ruleFile](t, filepath.Join(alertsDir, "rules.yaml"))
	for _, mutant := range []struct {
		name, expr string
		fails      func(alertTest) bool
	}{
		{"never", "vector(0) > 1", func(test alertTest) bool { return len(test.Firing) > 0 }},
		{"always", "vector(1)", func(alertTest) bool { return true }},
	} {
		dir := t.TempDir()
		write(t, filepath.Join(dir, "rules.yaml"), mutate(t, rules, mutant.expr))
		for _, file := range ruleTestFiles(t) {
			var want []string
			for _, group := range decode[ruleTests](t, file).Tests {
				for _, test := range group.Alerts {
					if mutant.fails(test) {
						want = append(want, test.Name)
					}
				}
			}
			if len(want) == 0 {
				continue
			}
			slices.Sort(want)
			t.Run(mutant.name+"/"+filepath.Base(file), func(t *testing.T) {
				t.Parallel()
				if got := failing(t, dir, file); !slices.Equal(got, want) {
					t.Errorf("failed for %v, want %v", got, want)
				}
			})
		}
	}
}

// mutate returns the rules without records, all alerts having one expression.
func mutate(t *testing.T, rules ruleFile, expr string) string {
	t.Helper()
	var mutant ruleFile
	for _, group := range rules.Groups {
		kept := group
		kept.Rules = nil
		for _, r := range group.Rules {
			if r.Alert != "" {
				kept.Rules = append(kept.Rules, rule{Alert: r.Alert, Expr: expr, Labels: r.Labels})
			}
		}
		mutant.Groups = append(mutant.Groups, kept)
	}
	content, err := yaml.Marshal(mutant)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// failing runs the expectations of alerts of a test file on the rules of another
// directory, without the series, which nothing reads there. It returns the alerts
// that failed, one for each expectation, sorted.
func failing(t *testing.T, dir, file string) (alerts []string) {
	t.Helper()
	tests := decode[map[string]any](t, file)
	tests["rule_files"] = []string{filepath.Join(dir, "rules.yaml")}
	for _, group := range tests["tests"].([]any) {
		delete(group.(map[string]any), "input_series")
		delete(group.(map[string]any), "promql_expr_test")
	}
	content, err := yaml.Marshal(tests)
	if err != nil {
		t.Fatal(err)
	}
	copied := filepath.Join(t.TempDir(), "test.yaml")
	write(t, copied, string(content))
	output, _ := promtool(t, "test", "rules", copied)
	for _, match := range regexp.MustCompile(`alertname: (\w+), time:`).FindAllStringSubmatch(output, -1) {
		alerts = append(alerts, match[1])
	}
	slices.Sort(alerts)
	return alerts
}
