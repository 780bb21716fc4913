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
	"github.com/llm-prober/prober/internal/promquery"
	"github.com/llm-prober/prober/internal/telemetry"
)

const root = "../../"

// pages are the texts that people write.
func pages(t *testing.T) map[string]string {
	t.Helper()
	found := map[string]string{}
	for _, path := range []string{"README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md", "deploy/helm/prober/README.md"} {
		found[path] = read(t, path)
	}
	for _, dir := range []string{"docs", "alerts"} {
		err := filepath.WalkDir(root+dir, func(path string, _ fs.DirEntry, err error) error {
			if strings.HasSuffix(path, ".md") {
				found[strings.TrimPrefix(path, root)] = read(t, strings.TrimPrefix(path, root))
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	found["CHANGELOG.md"] = withoutRemoved(found["CHANGELOG.md"])
	return found
}

// withoutRemoved returns the changelog without its lists of what was removed, which name what exists no more.
func withoutRemoved(changelog string) string {
	return regexp.MustCompile(`(?m)^### Removed\n(?:[^#].*\n|\n)*`).ReplaceAllString(changelog, "")
}

func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(root + path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// TestMetricsExist holds every metric that a page names and that prober report asks for against
// the catalog, and every recorded series in a page against the rules.
func TestMetricsExist(t *testing.T) {
	known := map[string]bool{}
	for _, i := range telemetry.Catalog() {
		known[i.PrometheusName()], known[i.Name] = true, true
	}
	for _, name := range promquery.Metrics() {
		if !known[name] {
			t.Errorf("prober report asks for %s, which is not in the catalog", name)
		}
	}
	rules := string(alerts.Rules())
	recorded := regexp.MustCompile(`(?:target|model|group):llm_probe[a-z0-9_]*(?::[a-z0-9_]+)+`)
	name := regexp.MustCompile(`llm[_.]probe[r]?[_.][a-z0-9_.]*[a-z0-9]`)
	for path, text := range pages(t) {
		for _, series := range recorded.FindAllString(text, -1) {
			if !strings.Contains(rules, "- record: "+series+"\n") {
				t.Errorf("%s names %s, which no rule records", path, series)
			}
		}
		text = recorded.ReplaceAllString(text, "")
		for _, metric := range name.FindAllString(text, -1) {
			if !known[metric] && !known[regexp.MustCompile(`_(bucket|sum|count)$`).ReplaceAllString(metric, "")] {
				t.Errorf("%s names %s, which is not in the catalog", path, metric)
			}
		}
	}
}

// TestPagesLinkToWhatIsThere follows the links from file to file, and to headings.
func TestPagesLinkToWhatIsThere(t *testing.T) {
	link, all := regexp.MustCompile(`\]\(([^)#:]*)(?:#([^)]*))?\)`), pages(t)
	files, headings := 0, 0
	for path, text := range all {
		for _, match := range link.FindAllStringSubmatch(text, -1) {
			to := path
			if match[1] != "" {
				files++
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
				t.Errorf("%s links to %s, which has no heading %q, but %q", path, to, match[2], anchors(all[to]))
			}
		}
	}
	if files < 20 || headings < 5 {
		t.Errorf("%d links to files and %d to headings found in the pages: the test does not see them", files, headings)
	}
}

// anchors are those that GitHub gives the headings of a page: lower case, hyphens
// for spaces, and no punctuation.
func anchors(page string) (all []string) {
	page = regexp.MustCompile("(?ms)^```.*?^```").ReplaceAllString(page, "")
	for _, heading := range regexp.MustCompile(`(?m)^#+ +(.*)$`).FindAllStringSubmatch(page, -1) {
		anchor := regexp.MustCompile(`[^\p{L}\p{Nd}_ -]`).ReplaceAllString(strings.ToLower(heading[1]), "")
		all = append(all, strings.ReplaceAll(strings.TrimSpace(anchor), " ", "-"))
	}
	return all
}

// TestContributingNamesCodeThatExists looks up every Go file that CONTRIBUTING.md names, and the functions of its walk.
func TestContributingNamesCodeThatExists(t *testing.T) {
	var sources []string
	for _, dir := range []string{"alerts", "cmd", "dashboards", "deploy", "internal", "test"} {
		err := filepath.WalkDir(root+dir, func(path string, _ fs.DirEntry, err error) error {
			if strings.HasSuffix(path, ".go") {
				sources = append(sources, "/"+strings.TrimPrefix(path, root))
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	text := read(t, "CONTRIBUTING.md")
	for _, file := range regexp.MustCompile("`([a-z0-9_/]+\\.go)`").FindAllStringSubmatch(text, -1) {
		if !slices.ContainsFunc(sources, func(s string) bool { return strings.HasSuffix(s, "/"+file[1]) }) {
			t.Errorf("CONTRIBUTING.md names %s, which does not exist", file[1])
		}
	}
	steps := regexp.MustCompile("(?m)^\\| [0-9]+ \\| `(.*?)` \\| (.*?) \\|").FindAllStringSubmatch(text, -1)
	for _, step := range steps {
		source := read(t, step[1])
		for _, function := range regexp.MustCompile("`(.*?)`").FindAllStringSubmatch(step[2], -1) {
			declared := strings.Replace(function[1], ".", `\) `, 1) // a method follows its receiver's type
			if !regexp.MustCompile(`(?m)^func .*\b` + declared + `\(`).MatchString(source) {
				t.Errorf("CONTRIBUTING.md names %s, which %s does not declare", function[1], step[1])
			}
		}
	}
	if len(steps) < 10 {
		t.Errorf("%d steps found in CONTRIBUTING.md: the test does not see them", len(steps))
	}
}

// TestPagesNameOnlyVariablesThatExist holds every variable in a page against the
// configuration.
func TestPagesNameOnlyVariablesThatExist(t *testing.T) {
	known := map[string]bool{"PROBER_BINARY": true, "PROBER_X": true, "PROBER_TARGETS_n_X": true}
	for line := range strings.Lines(read(t, "internal/config/testdata/names.txt")) {
		known[strings.Fields(line)[0]] = true
	}
	name := regexp.MustCompile(`PROBER_[A-Z0-9n]+(?:_[A-Z0-9n]+)*`)
	index := regexp.MustCompile(`_[0-9]+_`)
	for path, text := range pages(t) {
		for _, variable := range name.FindAllString(text, -1) {
			if kubernetes := strings.HasPrefix(variable, "PROBER_SERVICE_") || strings.HasPrefix(variable, "PROBER_PORT"); kubernetes {
				continue
			}
			if !known[variable] && !known[index.ReplaceAllString(variable, "_n_")] {
				t.Errorf("%s names %s, which is no variable of ours", path, variable)
			}
		}
	}
}

// TestPagesShowCommandsThatWork parses every prober command of the README with
// the real flags, and looks up every make target.
func TestPagesShowCommandsThatWork(t *testing.T) {
	command := regexp.MustCompile(`(?m)^\s*(?:[A-Z_0-9]+=\S+ )*(?:go run \./cmd/prober|prober) (.*?)(?:\s+#.*)?$`)
	block := regexp.MustCompile("(?s)```.*?```")
	makefile, shown := read(t, "Makefile"), 0
	for path, text := range pages(t) {
		for _, match := range command.FindAllStringSubmatch(strings.Join(block.FindAllString(text, -1), "\n"), -1) {
			shown++
			args := strings.Fields(match[1])
			verb, rest, err := newRoot().Find(args)
			if err != nil {
				t.Errorf("%s shows %q: %v", path, match[0], err)
				continue
			}
			if err := verb.ParseFlags(rest); err != nil {
				t.Errorf("%s shows %q: %v", path, match[0], err)
			}
		}
		for _, match := range regexp.MustCompile("(?m)(?:^|`)make ([a-z0-9]+)").FindAllStringSubmatch(text, -1) {
			if !strings.Contains(makefile, "\n"+match[1]+":") {
				t.Errorf("%s shows %q, which the Makefile does not have", path, match[0])
			}
		}
	}
	if shown < 5 {
		t.Errorf("%d commands found in the pages: the test does not see them", shown)
	}
}
