// Package inhibit tests the inhibit rules in Alertmanager's own code.
package inhibit

import (
	"os"
	"slices"
	"testing"

	"github.com/prometheus/alertmanager/config"
	"github.com/prometheus/alertmanager/pkg/labels"
	"github.com/prometheus/common/model"
	"go.yaml.in/yaml/v3"
)

// TestInhibitRules holds that Alertmanager takes the inhibit rules, and which of our alerts silences which others of
// the same target.
func TestInhibitRules(t *testing.T) {
	loaded, err := config.Load(read(t, "inhibit.yaml") + "route: {receiver: all}\nreceivers: [{name: all}]\n")
	if err != nil {
		t.Fatal(err)
	}
	silenced := map[string][]string{}
	for _, rule := range loaded.InhibitRules {
		if want := []string{"target", "model", "prompt"}; !slices.Equal(rule.Equal, want) {
			t.Errorf("equal labels %v, want %v", rule.Equal, want)
		}
		for _, source := range ours(t) {
			for _, target := range ours(t) {
				if labels.Matchers(rule.SourceMatchers).Matches(source) && labels.Matchers(rule.TargetMatchers).Matches(target) {
					silenced[name(source)] = append(silenced[name(source)], name(target))
				}
			}
		}
	}
	for source, want := range map[string][]string{
		"ProberTargetDown critical": {
			"ProberErrorBudgetBurn critical", "ProberErrorBudgetBurn warning", "ProberProbeHanging warning", "ProberSevereSlowdown critical",
			"ProberSevereSlowdown warning", "ProberSkipping warning", "ProberTargetRefuses warning",
		},
		"ProberTargetRefuses warning": {"ProberErrorBudgetBurn critical", "ProberErrorBudgetBurn warning"},
		"ProberSevereSlowdown critical": {
			"ProberErrorBudgetBurn warning", "ProberITLRegression warning", "ProberSevereSlowdown warning", "ProberTPOTRegression warning",
			"ProberTTFTRegression warning",
		},
	} {
		slices.Sort(silenced[source])
		if got := slices.Compact(silenced[source]); !slices.Equal(got, want) {
			t.Errorf("%s silences %q, want %q", source, got, want)
		}
		delete(silenced, source)
	}
	if len(silenced) > 0 {
		t.Errorf("these silence others too: %v", silenced)
	}
}

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile("../../alerts/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// ours are the alerts of the rules.
func ours(t *testing.T) (all []model.LabelSet) {
	t.Helper()
	var file struct {
		Groups []struct {
			Rules []struct {
				Alert  string
				Labels struct{ Severity string }
			}
		}
	}
	if err := yaml.Unmarshal([]byte(read(t, "rules.yaml")), &file); err != nil {
		t.Fatal(err)
	}
	for _, group := range file.Groups {
		for _, r := range group.Rules {
			if r.Alert != "" {
				all = append(all, model.LabelSet{"alertname": model.LabelValue(r.Alert), "severity": model.LabelValue(r.Labels.Severity)})
			}
		}
	}
	return all
}

func name(alert model.LabelSet) string { return string(alert["alertname"] + " " + alert["severity"]) }
