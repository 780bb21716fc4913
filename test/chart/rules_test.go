package chart_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
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
	var file map[string]any
	if err := yaml.Unmarshal(data, &file); err != nil {
		t.Fatal(err)
	}
	return mappings(file, "groups")
}

// TestRulesAreThoseOfAlerts holds that a PrometheusRule says what the rule file
// says, word for word.
func TestRulesAreThoseOfAlerts(t *testing.T) {
	t.Parallel()
	rule := only(t, objects(t, render(t, "--values", sets(t)["monitors"])), "PrometheusRule")
	if got, want := plain(t, mappings(rule, "spec", "groups")), plain(t, ruleGroups(t)); !reflect.DeepEqual(got, want) {
		t.Errorf("the rules differ:\n%v\nwant\n%v", got, want)
	}
}

// plain is v with numbers as JSON has them.
func plain(t *testing.T, v any) (as any) {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &as); err != nil {
		t.Fatal(err)
	}
	return as
}

// TestRulesAsValuesSay holds what values change of the rules, and that they change
// nothing else.
func TestRulesAsValuesSay(t *testing.T) {
	t.Parallel()
	rule := only(t, objects(t, render(t, "--values", sets(t)["full"])), "PrometheusRule")
	got := mappings(rule, "spec", "groups")
	want := ruleGroups(t)
	for _, group := range want {
		var kept []any
		for _, r := range mappings(group, "rules") {
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
		group["rules"] = kept
	}
	last := len(got) - 1
	if got[last]["name"] != "site-prober" {
		t.Errorf("the last group is %v", got[last]["name"])
	}
	if got, want := plain(t, got[:last]), plain(t, want); !reflect.DeepEqual(got, want) {
		t.Errorf("the rules differ:\n%v\nwant\n%v", got, want)
	}
}

// TestRunbookTemplate holds that an address may have the alert's name inside.
func TestRunbookTemplate(t *testing.T) {
	t.Parallel()
	out := render(t, "--values", sets(t)["monitors"], "--set", "prometheusRule.runbookUrl=https://wiki.example.com/{alert}/run")
	if !strings.Contains(out, "runbook_url: https://wiki.example.com/ProberTargetDown/run\n") {
		t.Error("no such runbook")
	}
}

// TestChartHoldsTheDashboards holds that every dashboard is in a ConfigMap, byte
// for byte, and that grafana-operator finds it there.
func TestChartHoldsTheDashboards(t *testing.T) {
	t.Parallel()
	all := objects(t, render(t, "--values", sets(t)["dashboards"]))
	held, wanted := map[any]string{}, map[any]string{}
	for _, o := range all {
		for key, text := range asMap(at(o, "data")) {
			if strings.HasSuffix(key, ".json") {
				held[key] = text.(string)
			}
		}
		if o["kind"] == "GrafanaDashboard" {
			wanted[at(o, "spec", "configMapRef", "key")] = at(o, "spec", "configMapRef", "name").(string)
		}
	}
	paths, err := filepath.Glob("../../dashboards/*.json")
	if err != nil || len(paths) == 0 || len(held) != len(paths) || len(wanted) != len(paths) {
		t.Fatalf("%d dashboards, %d held, %d wanted, %v", len(paths), len(held), len(wanted), err)
	}
	for _, path := range paths {
		data, err := os.ReadFile(path)
		key := "prober-" + filepath.Base(path)
		if err != nil || held[key] != string(data) || wanted[key] == "" {
			t.Errorf("%s differs (%v)", key, err)
		}
	}
}

// asMap is v, empty if it is none.
func asMap(v any) map[string]any {
	m, _ := v.(map[string]any)
	return m
}
