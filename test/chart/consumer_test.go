package chart_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// consumer renders a chart that depends on ours for its named template.
func consumer(t *testing.T, args ...string) string {
	t.Helper()
	out, err := helm(t, append([]string{"template", "server", dependent(t)}, args...)...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// dependent is a copy of the chart in testdata with the package of ours below it, as users have it.
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

// TestSidecarOfAnotherChart holds that the prober takes the environment of a sidecar in another chart, which its golden
// file shows, and that nothing else is rendered.
func TestSidecarOfAnotherChart(t *testing.T) {
	t.Parallel()
	all := objects(t, consumer(t))
	if len(all) != 1 {
		t.Errorf("%d objects, want the consumer's Deployment alone", len(all))
	}
	spec, _ := pod(only(t, all, "Deployment"))
	first := mappings(spec, "initContainers")
	accepts(t, environment(first[len(first)-1]), nil)
}

// TestConsumerWithout holds that a chart that depends on ours renders without it,
// too: a dependency whose condition is off takes its named templates with it.
func TestConsumerWithout(t *testing.T) {
	t.Parallel()
	spec, _ := pod(only(t, objects(t, consumer(t, "--set", "prober.enabled=false")), "Deployment"))
	if first := mappings(spec, "initContainers"); len(first) != 1 || first[0]["name"] != "download" {
		t.Errorf("the init containers are %v, want that of the consumer alone", first)
	}
}

// TestSidecarNeedsItsPort holds that who forgets a parameter is told which, and that
// an image is enough where there is no context.
func TestSidecarNeedsItsPort(t *testing.T) {
	t.Parallel()
	dir := dependent(t)
	for _, c := range []struct{ parameters, says string }{
		{`"context" .Subcharts.prober "name" "a"`, "prober.sidecar needs name and port"},
		{`"name" "a" "port" 8000`, "prober.sidecar needs image, or context"},
		{`"name" "a" "port" 8000 "image" "registry.example.com/prober:1"`, "image: registry.example.com/prober:1\n"},
	} {
		text := "kind: Pod\nspec:\n  initContainers:\n    {{- include \"prober.sidecar\" (dict " + c.parameters + ") | nindent 4 }}\n"
		if err := os.WriteFile(filepath.Join(dir, "templates/deployment.yaml"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		out, err := helm(t, "template", "server", dir)
		if err != nil {
			out = err.Error()
		}
		if !strings.Contains(out, c.says) {
			t.Errorf("%s: no %q in\n%s", c.parameters, c.says, out)
		}
	}
}

// TestPackageIsTheFolder holds that the package has what links in the folder stand for: dashboards and rules.
func TestPackageIsTheFolder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if out, err := helm(t, "package", chart, "--destination", dir); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	packages, err := filepath.Glob(dir + "/*.tgz")
	if err != nil || len(packages) != 1 {
		t.Fatalf("packages %v: %v", packages, err)
	}
	all := values(t, vllm+"prometheusRule: {enabled: true}\ngrafanaDashboards: {enabled: true}\n")
	folder, err := helm(t, "template", "prober", chart, "--values", all)
	if err != nil {
		t.Fatal(err)
	}
	packaged, err := helm(t, "template", "prober", packages[0], "--values", all)
	if err != nil || packaged != folder {
		t.Errorf("the package makes %d bytes of objects, the folder %d: %v", len(packaged), len(folder), err)
	}
	if !strings.Contains(folder, "alert: ProberTargetDown") || !strings.Contains(folder, "prober-target") {
		t.Error("neither has rules and dashboards")
	}
}
