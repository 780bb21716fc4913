package test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/alertmanager/config"
	"github.com/prometheus/alertmanager/pkg/labels"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/promql/parser"
	"go.yaml.in/yaml/v3"

	"github.com/llm-prober/prober/test/program"
)

// alertsDir has the rules and, in tests, what promtool is to see of them.
const alertsDir = "../alerts"

// shippedRules returns the rule file that users load.
func shippedRules(t *testing.T) string {
	t.Helper()
	rules, err := os.ReadFile(filepath.Join(alertsDir, "rules.yaml"))
	must(t, err)
	return string(rules)
}

// A ruleFile is a file of rules, as far as these tests look.
type ruleFile struct {
	Groups []struct {
		Name  string
		Rules []rule
	}
}

// A rule is an alert or a record; the one it is not is empty.
type rule struct {
	Alert  string `yaml:",omitempty"`
	Record string `yaml:",omitempty"`
	Expr   string
	Labels map[string]string
}

// A ruleTests is a file of promtool's unit tests: which alerts of a name fire at a moment, and what they tell.
type ruleTests struct {
	Tests []struct {
		Name   string
		Alerts []struct {
			Name   string `yaml:"alertname"`
			Firing []struct {
				Labels      map[string]string `yaml:"exp_labels"`
				Annotations map[string]string `yaml:"exp_annotations"`
			} `yaml:"exp_alerts"`
		} `yaml:"alert_rule_test"`
	}
}

// promtool runs promtool and returns what it says; ok is whether it is content.
func promtool(t *testing.T, stdin string, args ...string) (output string, ok bool) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program.Binary(t, "PROMTOOL_BINARY"), args...)
	cmd.Stdin = strings.NewReader(stdin)
	said, err := cmd.CombinedOutput()
	if err != nil && !errors.As(err, new(*exec.ExitError)) {
		t.Fatal(err)
	}
	return string(said), err == nil
}

// decode reads a YAML file.
func decode[T any](t *testing.T, path string) (v T) {
	t.Helper()
	content, err := os.ReadFile(path)
	must(t, err)
	if err := yaml.Unmarshal(content, &v); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return v
}

// ruleTestFiles returns the paths of all test files.
func ruleTestFiles(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(alertsDir, "tests", "*.yaml"))
	if err != nil || len(files) < 10 {
		t.Fatalf("%d test files: %v", len(files), err)
	}
	return files
}

func TestRulesLint(t *testing.T) {
	output, ok := promtool(t, "", "check", "rules", "--lint=all", "--lint-fatal", filepath.Join(alertsDir, "rules.yaml"))
	if !ok {
		t.Error(output)
	}
}

func TestRules(t *testing.T) {
	for _, file := range ruleTestFiles(t) {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			if output, ok := promtool(t, "", "test", "rules", file); !ok {
				t.Error(output)
			}
		})
	}
}

// TestRulesInAnotherOrder holds that no alert depends on which group of rules is evaluated first. With the order that a
// case file names reversed, a record of another group is one evaluation old. Texts may name older numbers then, so they
// are left out. promtool evaluates the groups of a file that names no order in any.
func TestRulesInAnotherOrder(t *testing.T) {
	dir := t.TempDir()
	rules := decode[map[string]any](t, filepath.Join(alertsDir, "rules.yaml"))
	writeWithout(t, filepath.Join(dir, "rules.yaml"), rules, "annotations") // as the unit tests name it
	const lookback = model.Duration(5 * time.Minute)                        // how old a record may be
	var shipped []string                                                    // the order of the groups in the file of rules
	for _, g := range decode[ruleFile](t, filepath.Join(alertsDir, "rules.yaml")).Groups {
		shipped = append(shipped, g.Name)
	}
	reversed := 0
	for _, file := range ruleTestFiles(t) {
		cases := decode[map[string]any](t, file)
		order, named := cases["group_eval_order"].([]any)
		interval, err := model.ParseDuration(cases["evaluation_interval"].(string))
		must(t, err)
		if !named || interval >= lookback {
			continue
		}
		reversed++
		first, last := order[0].(string), order[len(order)-1].(string)
		if slices.Index(shipped, first) > slices.Index(shipped, last) {
			continue // its cases are about that order
		}
		slices.Reverse(order)
		path := filepath.Join(dir, "tests", filepath.Base(file))
		writeWithout(t, path, cases, "exp_annotations")
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			if output, ok := promtool(t, "", "test", "rules", path); !ok {
				t.Error(output)
			}
		})
	}
	if reversed < 5 {
		t.Errorf("%d files: the test does not see their orders", reversed)
	}
}

// writeWithout writes a value as YAML, without one of its keys at any depth.
func writeWithout(t *testing.T, path string, value any, key string) {
	t.Helper()
	var remove func(value any)
	remove = func(value any) {
		switch value := value.(type) {
		case map[string]any:
			delete(value, key)
			for _, part := range value {
				remove(part)
			}
		case []any:
			for _, part := range value {
				remove(part)
			}
		}
	}
	remove(value)
	content, err := yaml.Marshal(value)
	must(t, err)
	write(t, path, string(content))
}

// TestClassicRules holds that the classic rules are the rules without the native half of each expression, and that
// they need no function which Prometheus 2.42 does not know, and fire.
func TestClassicRules(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "rules.yaml") // as the unit tests name it
	cmd := exec.CommandContext(t.Context(), program.Binary(t, "PROBER_BINARY"), "alerts", "--classic", "--output", dir)
	if said, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("prober alerts: %s", said)
	}
	if output, ok := promtool(t, "", "check", "rules", "--lint=all", "--lint-fatal", path); !ok {
		t.Error(output)
	}
	must(t, os.CopyFS(filepath.Join(dir, "tests"), os.DirFS(filepath.Join(alertsDir, "tests"))))
	if output, ok := promtool(t, "", "test", "rules", filepath.Join(dir, "tests", "classic.yaml")); !ok {
		t.Error(output)
	}
	var want, got []rule
	for _, g := range decode[ruleFile](t, filepath.Join(alertsDir, "rules.yaml")).Groups {
		want = append(want, g.Rules...)
	}
	for _, g := range decode[ruleFile](t, path).Groups {
		got = append(got, g.Rules...)
	}
	want = slices.DeleteFunc(want, func(r rule) bool {
		return r.Alert == "ProberClassicOnly" || r.Alert == "ProberMixedHistograms"
	})
	if len(got) != len(want) {
		t.Fatalf("%d rules, want %d", len(got), len(want))
	}
	native := regexp.MustCompile(`^\(*(label_replace\()?histogram_`)
	for i, r := range want {
		e, err := parser.NewParser(parser.Options{}).ParseExpr(r.Expr)
		must(t, err)
		classic := e.String()
		parser.Inspect(e, func(node parser.Node, _ []parser.Node) error {
			or, ok := node.(*parser.BinaryExpr)
			if !ok || or.Op != parser.LOR {
				return nil
			}
			first := or.LHS.String()
			if native.MatchString(first) && !strings.Contains(first, "_bucket[") {
				classic = strings.Replace(classic, or.String(), or.RHS.String(), 1)
			}
			return nil
		})
		e, err = parser.NewParser(parser.Options{}).ParseExpr(got[i].Expr)
		must(t, err)
		if e.String() != classic || regexp.MustCompile(`histogram_[^q]|(rate|increase)\(\w+_seconds\[`).MatchString(classic) {
			t.Errorf("%s%s is\n%s\nwant, without native histograms,\n%s", r.Alert, r.Record, e, classic)
		}
	}
}

// TestRulesOfAnOrganisation holds that promtool takes what prober alerts prints with all its flags, with native
// histograms and without, and that alerts have the labels of their series. Targets of one name in two clusters do not mix.
func TestRulesOfAnOrganisation(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	flags := []string{
		"alerts", "--by", "cluster,team", "--by", "region", "--label", "tier=gold",
		"--runbook-url", "https://runbooks.example.com", "--grafana-url", "https://grafana.example.com/",
	}
	for _, more := range [][]string{
		{"--output", filepath.Join(dir, "classic"), "--classic"},
		{"--output", filepath.Join(dir, "native")},
	} {
		args := append(slices.Clone(flags), more...)
		cmd := exec.CommandContext(t.Context(), program.Binary(t, "PROBER_BINARY"), args...)
		if said, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("prober %q: %s", args, said)
		}
		rules := filepath.Join(more[1], "rules.yaml")
		if said, ok := promtool(t, "", "check", "rules", "--lint=all", "--lint-fatal", rules); !ok {
			t.Error(said)
		}
	}
	inhibit, err := exec.CommandContext(t.Context(), program.Binary(t, "PROBER_BINARY"),
		"alerts", "--format", "alertmanager", "--by", "cluster,team").Output()
	must(t, err)
	loaded, err := config.Load(string(inhibit) + "route: {receiver: all}\nreceivers: [{name: all}]\n")
	must(t, err)
	for _, rule := range loaded.InhibitRules {
		whole := []string{"cluster", "team", "target"}
		if series := append(slices.Clone(whole), "prompt", "vantage"); !slices.Equal(rule.Equal, series) && !slices.Equal(rule.Equal, whole) {
			t.Errorf("equal labels of an inhibit rule are %v, want %v or %v", rule.Equal, series, whole)
		}
	}
	cases, err := os.ReadFile("testdata/fleet.yaml")
	must(t, err)
	write(t, filepath.Join(dir, "native", "fleet.yaml"), string(cases))
	if said, ok := promtool(t, "", "test", "rules", filepath.Join(dir, "native", "fleet.yaml")); !ok {
		t.Error(said)
	}
}

// variants returns the kinds of each alert, by the labels that the rules give them.
func variants(rules ruleFile) (all []rule) {
	for _, group := range rules.Groups {
		for _, r := range group.Rules {
			if r.Alert != "" {
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
// to be silent, and that what the alerts tell, as the tests expect it, has no holes where a template found nothing.
func TestRulesAreTested(t *testing.T) {
	all := variants(decode[ruleFile](t, filepath.Join(alertsDir, "rules.yaml")))
	if len(all) < 30 {
		t.Fatalf("%d kinds of alerts", len(all))
	}
	hole := regexp.MustCompile(`<no value>|NaN|Inf|<error|  | [,.;:]|^ | $|\{|\}|^$`)
	fires, silent := make([]bool, len(all)), make([]bool, len(all))
	for _, file := range ruleTestFiles(t) {
		for _, group := range decode[ruleTests](t, file).Tests {
			for _, test := range group.Alerts {
				if !slices.ContainsFunc(all, func(kind rule) bool { return kind.Alert == test.Name }) {
					t.Errorf("%s: %s: there is no %s", file, group.Name, test.Name)
				}
				for i, kind := range all {
					firing := false
					for _, alert := range test.Firing {
						firing = firing || kind.includes(alert.Labels)
					}
					fires[i] = fires[i] || kind.Alert == test.Name && firing
					silent[i] = silent[i] || kind.Alert == test.Name && !firing
				}
				for _, alert := range test.Firing {
					if model, ok := alert.Labels["model"]; ok {
						t.Errorf("%s: %s: %s has the label model=%q, which is no identity", file, group.Name, test.Name, model)
					}
					for name, text := range alert.Annotations {
						if at := hole.FindStringIndex(text); at != nil {
							t.Errorf("%s: %s: %s of %s has a hole at %v: %s", file, group.Name, name, test.Name, at, text)
						}
					}
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

// TestInhibitRules holds that Alertmanager's own code takes the inhibit rules, and which of our alerts silences which
// others of the same target.
func TestInhibitRules(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(alertsDir, "inhibit.yaml"))
	must(t, err)
	loaded, err := config.Load(string(text) + "route: {receiver: all}\nreceivers: [{name: all}]\n")
	must(t, err)
	var ours []model.LabelSet
	for _, r := range variants(decode[ruleFile](t, filepath.Join(alertsDir, "rules.yaml"))) {
		ours = append(ours, model.LabelSet{"alertname": model.LabelValue(r.Alert), "severity": model.LabelValue(r.Labels["severity"])})
	}
	name := func(alert model.LabelSet) string { return string(alert["alertname"] + " " + alert["severity"]) }
	silenced := map[string][]string{}
	for _, rule := range loaded.InhibitRules {
		want := []string{"target", "prompt", "vantage"}
		if slices.ContainsFunc(rule.SourceMatchers, func(m *labels.Matcher) bool { return m.Value == "ProberTargetDown" }) {
			want = []string{"target"}
		}
		if !slices.Equal(rule.Equal, want) {
			t.Errorf("equal labels %v of %v, want %v", rule.Equal, rule.SourceMatchers, want)
		}
		for _, source := range ours {
			for _, target := range ours {
				if labels.Matchers(rule.SourceMatchers).Matches(source) && labels.Matchers(rule.TargetMatchers).Matches(target) {
					silenced[name(source)] = append(silenced[name(source)], name(target))
				}
			}
		}
	}
	for source, all := range silenced {
		slices.Sort(all)
		silenced[source] = slices.Compact(all)
	}
	regressions := []string{"ProberITLRegression warning", "ProberTPOTRegression warning", "ProberTTFTRegression warning"}
	outage := []string{
		"ProberCertificateExpiry critical", "ProberCertificateExpiry warning", "ProberErrorBudgetBurn critical",
		"ProberErrorBudgetBurn warning", "ProberProbeHanging warning", "ProberSevereSlowdown critical",
		"ProberSevereSlowdown warning", "ProberSkipping warning", "ProberStreamStall warning",
		"ProberTargetDownFromVantage warning", "ProberTargetRefuses critical", "ProberTargetRefuses warning",
	}
	if want := map[string][]string{
		"ProberTargetDown critical": outage,
		"ProberTargetDownFromVantage warning": slices.DeleteFunc(slices.Clone(outage),
			func(alert string) bool { return alert == "ProberTargetDownFromVantage warning" }),
		"ProberTargetRefuses critical":   {"ProberErrorBudgetBurn critical", "ProberErrorBudgetBurn warning"},
		"ProberErrorBudgetBurn critical": {"ProberStreamStall warning"},
		"ProberSevereSlowdown critical": {
			"ProberErrorBudgetBurn warning", "ProberITLRegression warning", "ProberSevereSlowdown warning", "ProberTPOTRegression warning",
			"ProberTTFTRegression warning",
		},
		"ProberSevereSlowdown warning": regressions,
	}; !reflect.DeepEqual(silenced, want) {
		t.Errorf("silenced are\n%q, want\n%q", silenced, want)
	}
}
