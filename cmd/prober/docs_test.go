package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/llm-prober/prober/alerts"
	"github.com/llm-prober/prober/internal/config"
	"github.com/llm-prober/prober/internal/probe"
	"github.com/llm-prober/prober/internal/telemetry"
)

const root = "../../"

// pages returns the pages that people write, by their paths.
func pages(t *testing.T) map[string]string {
	t.Helper()
	paths := []string{"README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md", "SUPPORT.md",
		"deploy/helm/prober/README.md", "examples/README.md"}
	for _, pattern := range []string{"docs/*.md", "docs/*/*.md", "alerts/*/*.md"} {
		found, err := fs.Glob(os.DirFS(root), pattern)
		if err != nil || found == nil {
			t.Fatalf("%s: %q, %v", pattern, found, err)
		}
		paths = append(paths, found...)
	}
	all := map[string]string{}
	for _, path := range paths {
		all[path] = read(t, path)
	}
	return all
}

func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(root + path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// TestMetricsExist holds that the catalog has each metric that a page names, and that a rule records each recorded
// series that a page names.
func TestMetricsExist(t *testing.T) {
	known := map[string]bool{}
	for _, i := range telemetry.Catalog() {
		known[i.PrometheusName()], known[i.Name] = true, true
	}
	rules := string(alerts.Options{}.Rules())
	recorded := regexp.MustCompile(`(?:target|model|group|replica|workload|sidecar):llm_probe[a-z0-9_]*(?::[a-z0-9_]+)+`)
	name := regexp.MustCompile(`llm[_.]probe[r]?[_.][a-z0-9_.]*[a-z0-9]`)
	suffix := regexp.MustCompile(`_(bucket|sum|count)$`)
	for path, text := range pages(t) {
		for _, series := range recorded.FindAllString(text, -1) {
			if !strings.Contains(rules, "- record: "+series+"\n") {
				t.Errorf("%s names %s, which no rule records", path, series)
			}
		}
		text = recorded.ReplaceAllString(text, "")
		for _, metric := range name.FindAllString(text, -1) {
			if !known[metric] && !known[suffix.ReplaceAllString(metric, "")] {
				t.Errorf("%s names %s, which is not in the catalog", path, metric)
			}
		}
	}
}

// TestPagesLinkToWhatIsThere holds that links lead to files and headings that exist.
func TestPagesLinkToWhatIsThere(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)#:]*)(?:#([^)]*))?\)`)
	all := pages(t)
	headings := 0
	for path, text := range all {
		for _, match := range link.FindAllStringSubmatch(text, -1) {
			to := path
			if match[1] != "" {
				to = filepath.Join(filepath.Dir(path), match[1])
			}
			if _, err := os.Stat(filepath.Join(root, to)); err != nil {
				t.Errorf("%s links to %s: %v", path, match[1], err)
				continue
			}
			if match[2] == "" {
				continue
			}
			headings++
			if !slices.Contains(anchors(all[to]), match[2]) {
				t.Errorf("%s links to %s, which has no heading %q", path, to, match[2])
			}
		}
	}
	if headings < 5 {
		t.Errorf("%d links to headings found in the pages: the test does not see them", headings)
	}
}

// TestTheIndexHasEveryPage holds that a reader finds each page by the index of docs, or by that of its folder.
func TestTheIndexHasEveryPage(t *testing.T) {
	for path := range pages(t) {
		folder, name := filepath.Split(strings.TrimPrefix(path, "docs/"))
		isRunbook := strings.HasPrefix(path, "alerts/")
		if isRunbook || !strings.HasPrefix(path, "docs/") || name == "README.md" {
			continue
		}
		if !strings.Contains(read(t, "docs/"+folder+"README.md"), "]("+name+")") {
			t.Errorf("docs/%sREADME.md has no link to %s", folder, name)
		}
	}
}

// TestDefinitionsHaveEveryOutcome holds that each outcome has a row, since metrics, page and log show the bare word.
func TestDefinitionsHaveEveryOutcome(t *testing.T) {
	page := read(t, "docs/definitions.md")
	for _, outcome := range probe.Outcomes() {
		if !strings.Contains(page, "\n| `"+string(outcome)+"` | ") {
			t.Errorf("docs/definitions.md has no row for the outcome %s", outcome)
		}
	}
}

// anchors returns the anchors that GitHub gives the headings of a page: lower case, hyphens for spaces, no punctuation.
func anchors(page string) (all []string) {
	page = regexp.MustCompile("(?ms)^```.*?^```").ReplaceAllString(page, "")
	for _, heading := range regexp.MustCompile(`(?m)^#+ +(.*)$`).FindAllStringSubmatch(page, -1) {
		anchor := regexp.MustCompile(`[^\p{L}\p{Nd}_ -]`).ReplaceAllString(strings.ToLower(heading[1]), "")
		all = append(all, strings.ReplaceAll(strings.TrimSpace(anchor), " ", "-"))
	}
	return all
}

// TestPagesNameOnlyVariablesThatExist holds that each variable that a page names is a setting.
func TestPagesNameOnlyVariablesThatExist(t *testing.T) {
	known := map[string]bool{
		"PROBER_BINARY": true, "PROBER_TEST_KERNEL_TIMESTAMPS": true, // of tests
		"PROBER_X": true, "PROBER_TARGETS_n_X": true, // any setting
	}
	for _, k := range config.Reference() {
		known[k.Variable] = true
		ofTarget := strings.Replace(k.Variable, "PROBER_", "PROBER_TARGETS_n_", 1)
		isOfList := strings.HasPrefix(k.Variable, "PROBER_OBJECTIVES_n_") || strings.HasPrefix(k.Variable, "PROBER_PROMPTS_n_")
		known[ofTarget] = k.Shared || isOfList
	}
	name := regexp.MustCompile(`PROBER_[A-Z0-9n]+(?:_[A-Z0-9n]+)*`)
	index := regexp.MustCompile(`_[0-9]+_`)
	ofKubernetes := regexp.MustCompile(`^PROBER_(SERVICE|PORT)`)
	for path, text := range pages(t) {
		for _, variable := range name.FindAllString(text, -1) {
			setting := index.ReplaceAllString(variable, "_n_")
			if !known[setting] && !ofKubernetes.MatchString(variable) {
				t.Errorf("%s names %s, which is no setting", path, variable)
			}
		}
	}
}

// TestPagesShowCommandsThatWork holds that the prober commands in pages have flags that exist, and that the Makefile
// has the targets that pages name.
func TestPagesShowCommandsThatWork(t *testing.T) {
	block := regexp.MustCompile("(?s)```.*?```")
	command := regexp.MustCompile(`(?m)^\s*(?:[A-Z_0-9]+=\S+ )*(?:go run \./cmd/prober|prober) (.*?)(?:\s+#.*)?$`)
	target := regexp.MustCompile("(?m)(?:^|`)make ([a-z0-9]+)")
	makefile := read(t, "Makefile")
	commands := 0
	for path, text := range pages(t) {
		code := strings.Join(block.FindAllString(text, -1), "\n")
		for _, match := range command.FindAllStringSubmatch(code, -1) {
			commands++
			cmd, rest, err := newRoot().Find(strings.Fields(match[1]))
			if err == nil {
				err = cmd.ParseFlags(rest)
			}
			if err != nil {
				t.Errorf("%s shows %q: %v", path, match[0], err)
			}
		}
		for _, match := range target.FindAllStringSubmatch(text, -1) {
			if !strings.Contains(makefile, "\n"+match[1]+":") {
				t.Errorf("%s shows %q, which the Makefile does not have", path, match[0])
			}
		}
	}
	if commands < 5 {
		t.Errorf("%d commands found in the pages: the test does not see them", commands)
	}
}
