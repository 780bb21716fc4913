package test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/prometheus/alertmanager/config"
)

// TestPagesShowPromQLThatPrometheusReads hands every expression that a page or a runbook offers to paste to promtool,
// and holds that there are the metrics of the prober that it names.
func TestPagesShowPromQLThatPrometheusReads(t *testing.T) {
	t.Parallel()
	metrics, _ := namesOf(t)
	suffix := regexp.MustCompile(`_(bucket|count|sum)$`)
	var rules strings.Builder
	rules.WriteString("groups:\n- name: pages\n  rules:\n")
	shown := 0
	for path, page := range pagesOf(t) {
		for _, expr := range expressions(page) {
			indented := strings.ReplaceAll(expr, "\n", "\n      ")
			fmt.Fprintf(&rules, "  - record: page:%d\n    expr: |\n      # %s\n      %s\n", shown, path, indented)
			shown++
			for _, name := range regexp.MustCompile(`[\w:]*llm_probe[\w:]+`).FindAllString(expr, -1) {
				ownRule := strings.HasPrefix(name, "site:") // that the page tells the reader to write
				if !ownRule && !metrics[name] && !metrics[suffix.ReplaceAllString(name, "")] {
					t.Errorf("%s: there is no %s:\n%s", path, name, expr)
				}
			}
		}
	}
	if shown < 50 {
		t.Fatalf("%d expressions found: the test does not see them", shown)
	}
	file := filepath.Join(t.TempDir(), "pages.yaml")
	write(t, file, rules.String())
	if output, ok := promtool(t, "", "check", "rules", "--lint=none", file); !ok {
		t.Errorf("%s\nof\n%s", output, rules.String())
	}
}

// TestPagesShowConfigurationsThatLoad gives Prometheus and Alertmanager what pages offer to paste into their configurations.
func TestPagesShowConfigurationsThatLoad(t *testing.T) {
	t.Parallel()
	for i := range 2 { // a pair of Prometheus, and remote write
		dir := t.TempDir()
		write(t, filepath.Join(dir, "prober.yaml"), printAlerts(t))
		write(t, filepath.Join(dir, "prometheus.yml"), page(t, "probers.md", i, nil))
		if said, ok := promtool(t, "", "check", "config", "--lint=none", filepath.Join(dir, "prometheus.yml")); !ok {
			t.Errorf("probers.md: %s", said)
		}
	}
	_, err := config.Load(page(t, "silences.md", 0, nil))
	must(t, err)
	checkRules(t, page(t, "silences.md", 1, nil))
}

// TestExamplesLoad gives Prometheus and Alertmanager their examples, with the rules that they say are to be added.
func TestExamplesLoad(t *testing.T) {
	t.Parallel()
	read := func(path string) string {
		data, err := os.ReadFile(filepath.Join("..", path))
		must(t, err)
		return string(data)
	}
	dir := t.TempDir()
	write(t, filepath.Join(dir, "prober.yaml"), printAlerts(t))
	must(t, os.Mkdir(filepath.Join(dir, "examples"), 0o700))
	prometheus := filepath.Join(dir, "examples", "prometheus.yml")
	write(t, prometheus, read("examples/prometheus.yml"))
	if said, ok := promtool(t, "", "check", "config", "--lint=none", prometheus); !ok || !strings.Contains(said, "rules found") {
		t.Errorf("examples/prometheus.yml: %s", said)
	}
	c, err := config.Load(read("examples/alertmanager.yml") + read("alerts/inhibit.yaml"))
	must(t, err)
	if len(c.InhibitRules) == 0 {
		t.Error("examples/alertmanager.yml with alerts/inhibit.yaml has no inhibit rules")
	}
}

// pagesOf returns the pages and runbooks, by path.
func pagesOf(t *testing.T) map[string]string {
	t.Helper()
	found := map[string]string{}
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/integrations/*.md", "alerts/runbooks/*.md"} {
		paths, err := fs.Glob(os.DirFS(".."), pattern)
		must(t, err)
		for _, path := range paths {
			data, err := os.ReadFile(filepath.Join("..", path))
			must(t, err)
			found[path] = string(data)
		}
	}
	return found
}

// expressions returns those of the blocks of PromQL in a page. One begins where a line is not indented more than its
// block.
func expressions(page string) (list []string) {
	for i, block := range strings.Split(page, "```") {
		code, promql := strings.CutPrefix(block, "promql\n")
		if i%2 == 0 || !promql {
			continue
		}
		indent := code[:len(code)-len(strings.TrimLeft(code, " "))]
		for line := range strings.SplitSeq(strings.TrimRight(code, " \n"), "\n") {
			line = strings.TrimPrefix(line, indent)
			begins := !strings.HasPrefix(line, " ") && !strings.HasPrefix(line, ")")
			if begins || len(list) == 0 {
				list = append(list, line)
			} else {
				list[len(list)-1] += "\n" + line
			}
		}
	}
	return list
}
