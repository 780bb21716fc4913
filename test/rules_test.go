package test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/alertmanager/config"
	"github.com/prometheus/alertmanager/pkg/labels"
	"github.com/prometheus/common/model"
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
		want := []string{"cluster", "team", "target"} // and what TestInhibitRules holds
		if len(rule.Equal) < len(want) || !slices.Equal(rule.Equal[:len(want)], want) {
			t.Errorf("equal labels of an inhibit rule are %v, want %v first", rule.Equal, want)
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
		names := func(alert string) func(*labels.Matcher) bool {
			return func(m *labels.Matcher) bool { return m.Value == alert }
		}
		switch {
		case slices.ContainsFunc(rule.SourceMatchers, names("ProberTargetDown")):
			want = []string{"target"}
		case slices.ContainsFunc(rule.TargetMatchers, names("ProberCertificateExpiry")): // of all prompts
			want = []string{"target", "vantage"}
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
		"ProberErrorBudgetBurn critical": {"ProberCacheMiss warning", "ProberStreamStall warning"},
		"ProberErrorBudgetBurn warning":  {"ProberCacheMiss warning"},
		"ProberSevereSlowdown critical": {
			"ProberCacheMiss warning", "ProberErrorBudgetBurn warning", "ProberITLRegression warning",
			"ProberSevereSlowdown warning", "ProberTPOTRegression warning", "ProberTTFTRegression warning",
		},
		"ProberSevereSlowdown warning": append([]string{"ProberCacheMiss warning"}, regressions...),
		"ProberCacheMiss warning":      {"ProberTTFTRegression warning"},
	}; !reflect.DeepEqual(silenced, want) {
		t.Errorf("silenced are\n%q, want\n%q", silenced, want)
	}
}
