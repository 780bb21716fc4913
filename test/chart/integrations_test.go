package chart_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
)

// TestValuesOfPagesRender renders our chart with the values that each page of docs/integrations shows, and holds that
// the prober accepts the targets file and the environment that come out.
func TestValuesOfPagesRender(t *testing.T) {
	t.Parallel()
	paths, err := filepath.Glob("../../docs/integrations/*.md")
	seen := 0
	for _, path := range paths {
		page, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, block := range regexp.MustCompile("(?ms)^```yaml\n(# values.yaml of prober\n.*?)^```$").FindAllStringSubmatch(string(page), -1) {
			seen++
			all := objects(t, render(t, "--values", values(t, block[1])))
			if !slices.ContainsFunc(all, func(o object) bool { return at(o, "data", "targets.yaml") != nil }) {
				t.Errorf("%s: no targets file of\n%s", path, block[1])
			}
			proberAcceptsItsConfiguration(t, all)
		}
	}
	if err != nil || seen < 8 {
		t.Errorf("%d sets of values found, %v: the test does not see them", seen, err)
	}
}
