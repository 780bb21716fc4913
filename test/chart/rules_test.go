package chart_test

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// ruleGroups are the groups of alerts/rules.yaml.
func ruleGroups(t *testing.T) []map[string]any {
	t.Helper()
	data, err := os.ReadFile("../../alerts/rules.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return mappings(objects(t, string(data))[0], "groups")
}

// TestRulesAreThoseOfAlerts holds that a PrometheusRule says what the rule file says, word for word, what values change
// of it, and that they change nothing else.
func TestRulesAreThoseOfAlerts(t *testing.T) {
	t.Parallel()
	for set, edited := range map[string]bool{"monitors": false, "full": true} {
		want := ruleGroups(t)
		if edited {
			for _, group := range want {
				group["rules"] = edit(mappings(group, "rules"))
			}
		}
		got := mappings(only(t, objects(t, render(t, "--values", sets(t)[set])), "PrometheusRule"), "spec", "groups")
		if last := len(got) - 1; edited && got[last]["name"] == "site-prober" {
			got = got[:last]
		}
		if got, want := text(t, got), text(t, want); got != want {
			t.Errorf("%s: the rules differ:\n%s\nwant\n%s", set, got, want)
		}
	}
	out := render(t, "--values", sets(t)["monitors"], "--set", "prometheusRule.runbookUrl=https://wiki.example.com/{alert}/run")
	if !strings.Contains(out, "runbook_url: https://wiki.example.com/ProberTargetDown/run\n") {
		t.Error("no such runbook")
	}
}

// edit is what the set of values that is called full makes of rules.
func edit(rules []map[string]any) (kept []any) {
	for _, r := range rules {
		name, alert := r["alert"].(string)
		if name == "ProberClassicOnly" || name == "ProberTTFTRegression" {
			continue
		}
		if alert {
			r["labels"].(map[string]any)["team"] = "inference"
			annotations := r["annotations"].(map[string]any)
			annotations["runbook_url"] = "https://runbooks.example.com/prober/" + name + ".md"
			if path, ok := annotations["dashboard_url"].(string); ok {
				annotations["dashboard_url"] = "https://grafana.example.com" + path
			}
		}
		kept = append(kept, r)
	}
	return kept
}

// text is v as YAML, in which keys are in order.
func text(t *testing.T, v any) string {
	t.Helper()
	data, err := yaml.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// TestPackageHoldsTheDashboards holds that every dashboard is in a ConfigMap of the packaged chart, byte
// for byte, and that the package has rules. In the folder all of them are links.
func TestPackageHoldsTheDashboards(t *testing.T) {
	t.Parallel()
	packages, err := filepath.Glob(dependent(t, "") + "/charts/*.tgz")
	if err != nil || len(packages) != 1 {
		t.Fatalf("packages %v: %v", packages, err)
	}
	out, err := helm(t, "template", "prober", packages[0], "--values", sets(t)["dashboards"], "--set", "prometheusRule.enabled=true")
	if err != nil || !strings.Contains(out, "alert: ProberTargetDown") {
		t.Errorf("no rules, %v", err)
	}
	held := map[string]any{}
	for _, o := range objects(t, out) {
		data, _ := o["data"].(map[string]any)
		maps.Copy(held, data)
	}
	paths, err := filepath.Glob("../../dashboards/*.json")
	if err != nil || len(paths) != 4 {
		t.Fatalf("%d dashboards, %v", len(paths), err)
	}
	for _, path := range paths {
		data, err := os.ReadFile(path)
		key := "prober-" + filepath.Base(path)
		if err != nil || held[key] != string(data) {
			t.Errorf("%s differs (%v)", key, err)
		}
	}
}
