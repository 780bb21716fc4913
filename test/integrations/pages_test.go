// Package integrations_test takes the snippets out of docs/integrations, and
// hands each to the program that it is for. It needs HELM_BINARY, PROBER_BINARY,
// PROMTOOL_BINARY and OTELCOL_BINARY.
package integrations_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const folder = "../../docs/integrations"

// The kinds of snippets in YAML: how the first line of each begins.
const (
	ourValues     = "# values.yaml of prober\n"
	otherValues   = "# values.yaml of " // of another chart: only read
	prometheus    = "# prometheus.yml\n"
	collector     = "# configuration of the OpenTelemetry Collector\n"
	collectorPart = "# configuration of the OpenTelemetry Collector, in part, not run by our tests\n"
	manifest      = "apiVersion: "
)

// A snippet is a fenced block of YAML.
type snippet struct {
	page string // name of the file
	kind string // one of the constants
	text string
}

// snippets are those of all pages that are of a kind.
func snippets(t *testing.T, kind string) []snippet {
	t.Helper()
	var found []snippet
	for _, s := range allSnippets(t) {
		if s.kind == kind {
			found = append(found, s)
		}
	}
	if len(found) == 0 {
		t.Fatalf("no page has a snippet that begins with %q: the test does not see them", kind)
	}
	return found
}

func allSnippets(t *testing.T) []snippet {
	t.Helper()
	var found []snippet
	for name, text := range pages(t) {
		for _, block := range regexp.MustCompile("(?ms)^```yaml\n(.*?)^```$").FindAllStringSubmatch(text, -1) {
			found = append(found, snippet{page: name, kind: kindOf(block[1]), text: block[1]})
		}
	}
	return found
}

// pages are the texts of the pages by the names of their files.
func pages(t *testing.T) map[string]string {
	t.Helper()
	paths, err := filepath.Glob(folder + "/*.md")
	if err != nil || len(paths) < 9 {
		t.Fatalf("%d pages, %v", len(paths), err)
	}
	found := map[string]string{}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		found[filepath.Base(path)] = string(text)
	}
	return found
}

// kindOf is the kind of a block; empty if it says none.
func kindOf(text string) string {
	for _, kind := range []string{ourValues, otherValues, prometheus, collector, collectorPart, manifest} {
		if strings.HasPrefix(text, kind) {
			return kind
		}
	}
	return ""
}

// TestEverySnippetSaysWhatItIs holds that none escapes the other tests: each block
// has a language, and each one of YAML begins with what it is for.
func TestEverySnippetSaysWhatItIs(t *testing.T) {
	t.Parallel()
	for _, s := range allSnippets(t) {
		if s.kind == "" {
			t.Errorf("%s: of no known kind:\n%s", s.page, s.text)
		}
	}
	for name, text := range pages(t) {
		for i, fence := range regexp.MustCompile("(?m)^ *```(.*)$").FindAllStringSubmatch(text, -1) {
			known := map[string]bool{"yaml": true, "sh": true, "promql": true, "alloy": true}
			if opens := i%2 == 0; opens && !known[fence[1]] || !opens && fence[1] != "" {
				t.Errorf("%s: a block begins or ends with %q", name, fence[0])
			}
			if fence[0] != strings.TrimLeft(fence[0], " ") && fence[1] == "yaml" {
				t.Errorf("%s: a block of YAML is indented, where no test sees it", name)
			}
		}
		if strings.Contains(text, "```alloy") && !strings.Contains(text, "**it was not run by our tests**") {
			t.Errorf("%s does not say that Alloy's syntax was not run", name)
		}
	}
}

// TestIndexNamesEveryPage holds that the index leads to all of them.
func TestIndexNamesEveryPage(t *testing.T) {
	t.Parallel()
	all := pages(t)
	for name := range all {
		if name != "README.md" && !strings.Contains(all["README.md"], "("+name+")") {
			t.Errorf("README.md does not link to %s", name)
		}
	}
}
