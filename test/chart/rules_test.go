package chart_test

import (
	"encoding/json"
	"errors"
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
		if got, want := plain(t, got), plain(t, want); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: the rules differ:\n%v\nwant\n%v", set, got, want)
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

// plain is v with numbers as JSON has them.
func plain(t *testing.T, v any) (as any) {
	t.Helper()
	data, err := json.Marshal(v)
	if err := errors.Join(err, json.Unmarshal(data, &as)); err != nil {
		t.Fatal(err)
	}
	return as
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
	if err != nil || len(paths) != 4 || len(held) != 4 || len(wanted) != 4 {
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
