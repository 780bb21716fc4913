package chart_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"
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

// TestSidecarOfAnotherChart holds that another chart gets our sidecar and nothing else, and that the prober
// takes its environment; and that without ours it renders too: a dependency whose condition is off takes its
// named templates with it.
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
			accepts(t, environment(containers[1]), nil)
			documented(t, containers[1])
		}
	}
	_, err := helm(t, "template", "server", dir, "--set", "prober.image.registry=,prober.image.tag=devel")
	if err == nil || !strings.Contains(err.Error(), "prober.sidecar: there is no release yet") {
		t.Errorf("without an image: %v", err)
	}
	_, err = helm(t, "template", "server", dir, "--set", "port=null")
	if err == nil || !strings.Contains(err.Error(), "prober.sidecar needs a port") {
		t.Errorf("without a port: %v", err)
	}
}

// documented holds that a sidecar is the block to paste in docs/sidecar.md, but for the variables of the
// consumer's values.
func documented(t *testing.T, sidecar map[string]any) {
	t.Helper()
	var pasted []map[string]any
	block := blocks(t, "../../docs/sidecar.md", regexp.MustCompile("(?ms)^```yaml\n(- name: prober\n.*?)^```$"))
	if len(block) != 1 {
		t.Fatalf("docs/sidecar.md has %d blocks to paste", len(block))
	}
	if err := yaml.Unmarshal([]byte(block[0]), &pasted); err != nil {
		t.Fatal(err)
	}
	variables := environment(sidecar)
	if variables["PROBER_QPS"] != "0.01" {
		t.Errorf("the variables of the values are not those of the sidecar: %v", variables)
	}
	for name, value := range environment(pasted[0]) {
		if variables[name] != value {
			t.Errorf("%s is %q, documented is %q", name, variables[name], value)
		}
	}
	if sidecar["image"] != "registry.example.com/prober:1" {
		t.Errorf("the sidecar runs %v", sidecar["image"])
	}
	for _, field := range []string{"env", "image", "imagePullPolicy"} {
		delete(sidecar, field)
		delete(pasted[0], field)
	}
	if diff := cmp.Diff(pasted[0], sidecar); diff != "" {
		t.Errorf("-documented +chart:\n%s", diff)
	}
}
