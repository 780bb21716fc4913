package chart_test

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

// TestSets renders every set of values that comes with the chart, once, and holds
// what comes out against its golden file and against what we promise.
func TestSets(t *testing.T) {
	t.Parallel()
	for name, path := range sets(t) {
		t.Run(name, func(t *testing.T) {
			text := render(t, "--values", path)
			golden(t, filepath.Join("testdata", name+".yaml"), elided(text))
			all := objects(t, text)
			noSecretIsWrittenDown(t, text, all)
			proberAcceptsItsConfiguration(t, all)
		})
	}
	golden(t, "testdata/consumer.yaml", elided(consumer(t)))
	paths, err := filepath.Glob("testdata/*.yaml")
	if want := len(sets(t)) + 1; err != nil || len(paths) != want {
		t.Errorf("%d golden files, want %d, %v", len(paths), want, err)
	}
}

// TestLint lints every set of values, and none.
func TestLint(t *testing.T) {
	t.Parallel()
	if _, err := helm(t, "lint", "--strict", chart); err != nil {
		t.Error(err)
	}
	for name, path := range sets(t) {
		if out, err := helm(t, "lint", "--strict", chart, "--values", path); err != nil {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
	}
}

// The parts that other tests hold against the files they were made of: half a
// megabyte that would change with every panel.
var (
	dashboards = regexp.MustCompile(`(?m)^  (prober-[a-z]+\.json): \|\n(?:    .*\n)+`)
	groups     = regexp.MustCompile(`(?m)^  groups:\n(?:    .*\n|\n)+`)
)

// elided is a rendered chart without what dashboards and rules say.
func elided(text string) string {
	text = dashboards.ReplaceAllString(text, "  $1: (as in dashboards)\n")
	return groups.ReplaceAllString(text, "  groups: (as in alerts)\n")
}

// golden compares text with a file, or writes it.
func golden(t *testing.T, path, text string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if want, err := os.ReadFile(path); err != nil || string(want) != text {
		t.Errorf("%s differs (%v): run the test with -update and look at the difference", path, err)
	}
}

// TestNameWithDots holds that objects get a name that a Service may have, too.
func TestNameWithDots(t *testing.T) {
	t.Parallel()
	all := objects(t, render(t, "--values", values(t, vllm+"fullnameOverride: my.prober")))
	if name := at(only(t, all, "Service"), "metadata", "name"); name != "my-prober" {
		t.Errorf("the Service is called %v", name)
	}
}

// TestSidecarsAreScrapedWhenTheyRun holds that the PodMonitor of sidecars leaves out
// pods that are not there yet, before the relabelings of the values.
func TestSidecarsAreScrapedWhenTheyRun(t *testing.T) {
	t.Parallel()
	text := "monitoring: {relabelings: [{targetLabel: cluster, replacement: eu}]}\npodMonitor: {enabled: true}\n"
	for mode, want := range map[string]int{vllm: 1, "sidecar: {enabled: true, selector: {app: a}}\n": 2} {
		monitor := only(t, objects(t, render(t, "--values", values(t, text+mode))), "PodMonitor")
		rules := mappings(mappings(monitor, "spec", "podMetricsEndpoints")[0], "relabelings")
		if len(rules) != want || rules[want-1]["targetLabel"] != "cluster" || want == 2 && rules[0]["regex"] != "Running" {
			t.Errorf("%s: the relabelings are %v", mode, rules)
		}
	}
}
