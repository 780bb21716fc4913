package chart_test

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

// TestSets lints and renders every set of values that comes with the chart, once, and holds
// what comes out against its golden file and against what we promise.
func TestSets(t *testing.T) {
	t.Parallel()
	for name, path := range sets(t) {
		t.Run(name, func(t *testing.T) {
			if out, err := helm(t, "lint", "--strict", chart, "--values", path); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
			text := render(t, "--values", path)
			golden(t, filepath.Join("testdata", name+".yaml"), elided(text))
			all := objects(t, text)
			noSecretIsWrittenDown(t, text, all)
			proberAcceptsItsConfiguration(t, all)
		})
	}
	if out, err := helm(t, "lint", "--strict", chart); err != nil {
		t.Errorf("without values: %v\n%s", err, out)
	}
	paths, err := filepath.Glob("testdata/*.yaml")
	if want := len(sets(t)) + 1; err != nil || len(paths) != want { // and the consumer's
		t.Errorf("%d golden files, want %d, %v", len(paths), want, err)
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

// secret matches variables that may hold one.
var secret = regexp.MustCompile(`API_KEY$|HEADERS$|TOKEN$|PASSWORD$`)

// noSecretIsWrittenDown holds that the chart makes no Secret, and that nothing
// secret has its value in an object.
func noSecretIsWrittenDown(t *testing.T, text string, all []object) {
	t.Helper()
	if regexp.MustCompile(`(?m)^\s*api_key:`).MatchString(text) {
		t.Error("a key in a targets file")
	}
	for _, o := range all {
		if o["kind"] == "Secret" {
			t.Error("makes a Secret")
		}
		spec, _ := pod(o)
		for _, c := range mappings(spec, "containers") {
			for _, variable := range mappings(c, "env") {
				if name, _ := variable["name"].(string); secret.MatchString(name) && variable["value"] != nil {
					t.Errorf("the value of %s", name)
				}
			}
		}
	}
}
