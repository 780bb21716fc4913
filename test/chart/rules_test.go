package chart_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/llm-prober/prober/test/program"
)

// TestRulesAreThoseOfAlerts holds that a PrometheusRule says what prober alerts prints with flags that mean the same as
// the values, and that the inhibit rules agree in the same labels. By default alerts have the namespace of the prober.
func TestRulesAreThoseOfAlerts(t *testing.T) {
	t.Parallel()
	const (
		links     = "--runbook-url=https://runbooks.example.com/prober/ --grafana-url=https://grafana.example.com "
		team      = "--label=team=inference "
		namespace = "--label=namespace=observability "
	)
	for values, flags := range map[string]string{
		"prometheusRule.grafanaUrl=https://grafana.example.com/": links + team + namespace,
		"prometheusRule.by={cluster,region}":                     links + team + namespace + "--by=cluster,region",
		"prometheusRule.by={namespace}":                          links + team + "--by=namespace",
	} {
		all := objects(t, render(t, "--values", sets(t)["operator"], "--set", values))
		want := mappings(printed(t, flags), "groups")
		for _, group := range want {
			var kept []any
			for _, r := range mappings(group, "rules") {
				if r["alert"] != "ProberClassicOnly" { // the values disable it
					kept = append(kept, r)
				}
			}
			group["rules"] = kept
		}
		if diff := cmp.Diff(want, mappings(only(t, all, "PrometheusRule"), "spec", "groups")); diff != "" {
			t.Errorf("%s: -prober alerts +chart\n%s", values, diff)
		}
		inhibiting := "--format=alertmanager"
		if _, by, ok := strings.Cut(flags, "--by="); ok {
			inhibiting += " --by=" + strings.Fields(by)[0]
		}
		var equal, rendered []any
		for _, rule := range mappings(printed(t, inhibiting), "inhibit_rules") {
			equal = append(equal, rule["equal"])
		}
		for _, rule := range mappings(only(t, all, "AlertmanagerConfig"), "spec", "inhibitRules") {
			rendered = append(rendered, rule["equal"])
		}
		if diff := cmp.Diff(equal, rendered); diff != "" {
			t.Errorf("%s: inhibit rules: -prober alerts +chart\n%s", values, diff)
		}
	}
}

// printed returns what prober alerts prints with flags, as YAML.
func printed(t *testing.T, flags string) object {
	t.Helper()
	args := append([]string{"alerts"}, strings.Fields(flags)...)
	text, err := exec.CommandContext(t.Context(), program.Binary(t, "PROBER_BINARY"), args...).Output()
	if err != nil {
		t.Fatalf("prober %s: %v", flags, err)
	}
	return objects(t, string(text))[0]
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
