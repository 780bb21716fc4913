package chart_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// dependent is a copy of the chart in testdata, with ours below it, as helm dependency update puts it there.
func dependent(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("testdata/consumer")); err != nil {
		t.Fatal(err)
	}
	if out, err := helm(t, "package", chart, "--destination", filepath.Join(dir, "charts")); err != nil {
		t.Fatal(out, err)
	}
	return dir
}

// TestSidecarOfAnotherChart holds that another chart gets our sidecar and nothing else, and that the prober takes its environment;
// and that without ours it renders too: a dependency whose condition is off takes its named templates with it.
func TestSidecarOfAnotherChart(t *testing.T) {
	t.Parallel()
	dir := dependent(t)
	for enabled, want := range map[string]int{"true": 2, "false": 1} {
		text, err := helm(t, "template", "server", dir, "--set", "prober.enabled="+enabled)
		if err != nil {
			t.Fatal(err)
		}
		all := objects(t, text)
		spec, _ := pod(only(t, all, "Deployment"))
		containers := mappings(spec, "initContainers")
		if len(all) != 1 || len(containers) != want || containers[0]["name"] != "download" {
			t.Fatalf("%d objects, init containers %v", len(all), containers)
		}
		if enabled == "true" {
			variables := environment(containers[1])
			if variables["PROBER_QPS"] != "0.01" || variables["PROBER_WAIT_FOR_READY"] != "2h" {
				t.Errorf("the variables of the values are not those of the sidecar: %v", variables)
			}
			accepts(t, variables, nil)
		}
	}
	if _, err := helm(t, "template", "server", dir, "--set", "port=null"); err == nil || !strings.Contains(err.Error(), "prober.sidecar needs a port") {
		t.Errorf("without a port: %v", err)
	}
}
