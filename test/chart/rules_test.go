package chart_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// TestRulesAreThoseOfAlerts holds that a PrometheusRule says what the rule file says, but for what the values
// change, and that each alert has the namespace of the prober.
func TestRulesAreThoseOfAlerts(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("../../alerts/rules.yaml")
	if err != nil {
		t.Fatal(err)
	}
	want := mappings(objects(t, string(data))[0], "groups")
	for _, group := range want {
		group["rules"] = edit(mappings(group, "rules"))
	}
	got := mappings(only(t, objects(t, render(t, "--values", sets(t)["operator"])), "PrometheusRule"), "spec", "groups")
	if !reflect.DeepEqual(got, want) {
		t.Errorf("the rules differ:\n%v\nwant\n%v", got, want)
	}
}

// edit is what the values of the set operator make of rules.
func edit(rules []map[string]any) (kept []any) {
	for _, r := range rules {
		name, alert := r["alert"].(string)
		if name == "ProberClassicOnly" {
			continue
		}
		if alert {
			labels, annotations := r["labels"].(map[string]any), r["annotations"].(map[string]any)
			labels["team"] = "inference"
			labels["namespace"] = "observability"
			annotations["runbook_url"] = "https://runbooks.example.com/prober/" + name + ".md"
			if path, ok := annotations["dashboard_url"].(string); ok {
				annotations["dashboard_url"] = "https://grafana.example.com" + path
			}
		}
		kept = append(kept, r)
	}
	return kept
}

// TestDashboards holds that every dashboard is in a ConfigMap as Grafana would read it from dashboards.
func TestDashboards(t *testing.T) {
	t.Parallel()
	held := map[string]any{}
	for _, o := range objects(t, render(t, "--values", sets(t)["operator"])) {
		for name, text := range mapping(o["data"]) {
			held[name] = text
		}
	}
	paths, err := filepath.Glob("../../dashboards/*.json")
	if err != nil || len(paths) < 3 {
		t.Fatalf("%d dashboards, %v", len(paths), err)
	}
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		text, _ := held["prober-"+filepath.Base(path)].(string)
		if got, want := board(t, []byte(text)), board(t, data); !reflect.DeepEqual(got, want) {
			t.Errorf("%s differs", path)
		}
	}
}

func board(t *testing.T, data []byte) (v any) {
	t.Helper()
	if err := json.Unmarshal(data, &v); err != nil {
		t.Errorf("%v of %q", err, data)
	}
	return v
}

// TestFilesAreMissed holds that a copy of the chart without its files renders no empty rules: it says what is
// missing.
func TestFilesAreMissed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(chart)); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Join(dir, "files")); err != nil {
		t.Fatal(err)
	}
	for value, missing := range map[string]string{
		"prometheusRule.enabled":                    "files/rules.yaml is missing",
		"alertmanagerConfig.enabled":                "files/inhibit.yaml is missing",
		"grafanaDashboards.enabled":                 "files/dashboards is missing",
		"grafanaDashboards.grafanaOperator.enabled": "files/dashboards is missing",
	} {
		_, err := helm(t, "template", "prober", dir, "--values", values(t, vllm), "--set", value+"=true")
		if err == nil || !strings.Contains(err.Error(), missing) {
			t.Errorf("%s: %v, want %s", value, err, missing)
		}
	}
}

// mapping is v as a mapping; empty if it is none.
func mapping(v any) map[string]any {
	m, _ := v.(map[string]any)
	return m
}
