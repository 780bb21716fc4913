package chart_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestSets lints and renders every set of values that comes with the chart, and holds that no secret is in it
// and that the prober accepts its configuration. What comes out is compared with a golden file, but for otlp,
// which has little.
func TestSets(t *testing.T) {
	t.Parallel()
	for name, path := range sets(t) {
		t.Run(name, func(t *testing.T) {
			if out, err := helm(t, "lint", "--strict", chart, "--values", path); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
			text := render(t, "--values", path)
			if name != "otlp" {
				golden(t, filepath.Join("testdata", name+".yaml"), elided(text))
			}
			if found := secret.FindString(text); found != "" {
				t.Errorf("a secret is written down: %s", found)
			}
			proberAcceptsItsConfiguration(t, objects(t, text))
		})
	}
	if out, err := helm(t, "lint", "--strict", chart); err != nil {
		t.Errorf("without values: %v\n%s", err, out)
	}
}

// The parts that other tests hold against the files they were made of: half a
// megabyte that would change with every panel.
var (
	dashboards = regexp.MustCompile(`(?m)^  (prober-[a-z]+\.json): \|\n(?:    .*\n)+`)
	groups     = regexp.MustCompile(`(?m)^  groups:\n(?:    .*\n|\n)+`)
)

// elided returns a rendered chart without what dashboards and rules say, and without the objects of all dashboards but
// one: they differ in their names alone.
func elided(text string) string {
	text = dashboards.ReplaceAllString(text, "  $1: (as in dashboards)\n")
	text = groups.ReplaceAllString(text, "  groups: (as in alerts)\n")
	kept := strings.SplitAfter(text, "\n---\n")
	kept = slices.DeleteFunc(kept, func(object string) bool {
		isDashboard := strings.HasPrefix(object, "# Source: prober/templates/dashboards.yaml\n")
		return isDashboard && !strings.Contains(object, "\n  name: prober-overview\n")
	})
	return strings.Join(kept, "")
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

// secret matches a Secret, a key in a targets file, and a variable that may hold one and has its value in plain
// text.
var secret = regexp.MustCompile(`(?m)^kind: Secret$|^\s*api_key:` +
	`|name: "?\w*(API_KEY|HEADERS|TOKEN|PASSWORD)"?\n\s+value:`)
