package chart_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
)

// ownValues matches values for our chart in a page.
var ownValues = regexp.MustCompile("(?ms)^```yaml\n(# values.yaml(?: of prober)?\n.*?)^```$")

// TestValuesOfPagesRender renders our chart with the values that each page shows, and holds that the prober
// accepts the targets file and the environment that come out.
func TestValuesOfPagesRender(t *testing.T) {
	t.Parallel()
	seen := 0
	for _, path := range slices.Concat(matches(t, "../../docs/*.md"), matches(t, "../../docs/integrations/*.md")) {
		for _, block := range blocks(t, path, ownValues) {
			seen++
			all := objects(t, render(t, "--values", values(t, block)))
			if !slices.ContainsFunc(all, func(o object) bool { return at(o, "data", "targets.yaml") != nil }) {
				t.Errorf("%s: no targets file of\n%s", path, block)
			}
			proberAcceptsItsConfiguration(t, all)
		}
	}
	if seen < 6 {
		t.Errorf("%d sets of values found: the test does not see them", seen)
	}
}

// TestValuesOfTheReadmeRender does the same for the chart's README, which shows values without targets, too.
func TestValuesOfTheReadmeRender(t *testing.T) {
	t.Parallel()
	shown := blocks(t, chart+"/README.md", regexp.MustCompile("(?ms)^```yaml\n([a-zA-Z].*?)^```$"))
	for _, block := range shown {
		text := render(t, "--values", values(t, vllm), "--values", values(t, block))
		proberAcceptsItsConfiguration(t, objects(t, text))
	}
	if len(shown) < 3 {
		t.Errorf("%d blocks found: the test does not see them", len(shown))
	}
}

// blocks are what a pattern's first group finds in a file.
func blocks(t *testing.T, path string, pattern *regexp.Regexp) (found []string) {
	t.Helper()
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range pattern.FindAllStringSubmatch(string(page), -1) {
		found = append(found, m[1])
	}
	return found
}

func matches(t *testing.T, pattern string) []string {
	t.Helper()
	paths, err := filepath.Glob(pattern)
	if err != nil {
		t.Fatal(err)
	}
	return paths
}
