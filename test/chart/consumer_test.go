package chart_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// dependent is a copy of the chart in testdata, with the package of ours below it, as users have it. A text that is not empty
// takes the place of its Deployment.
func dependent(t *testing.T, template string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("testdata/consumer")); err != nil {
		t.Fatal(err)
	}
	if out, err := helm(t, "package", chart, "--destination", filepath.Join(dir, "charts")); err != nil {
		t.Fatal(out, err)
	}
	if template != "" {
		if err := os.WriteFile(filepath.Join(dir, "templates/deployment.yaml"), []byte(template), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestSidecarOfAnotherChart holds what another chart gets of ours, and that the prober takes its environment; that
// nothing else is rendered; and that without ours it renders too: a dependency whose condition is off takes its named templates with it.
func TestSidecarOfAnotherChart(t *testing.T) {
	t.Parallel()
	dir := dependent(t, "")
	for enabled, want := range map[string]int{"true": 2, "false": 1} {
		text, err := helm(t, "template", "server", dir, "--set", "prober.enabled="+enabled)
		if err != nil {
			t.Fatal(err)
		}
		all := objects(t, text)
		spec, _ := pod(only(t, all, "Deployment"))
		first := mappings(spec, "initContainers")
		if len(all) != 1 || len(first) != want || first[0]["name"] != "download" {
			t.Fatalf("%d objects, init containers %v", len(all), first)
		}
		if enabled == "true" {
			golden(t, "testdata/consumer.yaml", text)
			accepts(t, environment(first[1]), nil)
		}
	}
}

// TestSidecarNeedsItsPort holds that who forgets a parameter is told which, and that
// an image is enough where there is no context.
func TestSidecarNeedsItsPort(t *testing.T) {
	t.Parallel()
	for parameters, says := range map[string]string{
		`"context" .Subcharts.prober "name" "a"`:                         "prober.sidecar needs name and port",
		`"name" "a" "port" 8000`:                                         "prober.sidecar needs image, or context",
		`"name" "a" "port" 8000 "image" "registry.example.com/prober:1"`: "image: registry.example.com/prober:1\n",
	} {
		dir := dependent(t, "kind: Pod\nspec:\n  initContainers:\n    {{- include \"prober.sidecar\" (dict "+parameters+") | nindent 4 }}\n")
		out, err := helm(t, "template", "server", dir)
		if said := fmt.Sprint(out, err); !strings.Contains(said, says) {
			t.Errorf("%s: no %q in\n%s", parameters, says, said)
		}
	}
}
