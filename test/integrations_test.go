package test

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/llm-prober/prober/test/program"
)

// The kinds of blocks of YAML in docs/integrations: how the first line of each begins. Those for our own chart are
// tested beside it, and targets files by internal/check.
const (
	targetsFile    = "# targets.yaml\n"
	ourValues      = "# values.yaml of prober\n"
	otherValues    = "# values.yaml of "
	prometheusYAML = "# prometheus.yml\n"
	manifest       = "apiVersion: "
)

// TestIntegrationConfigurationsAreTaken hands each configuration of Prometheus to promtool, with the rules of
// the prober beside it. All other blocks must say what they are, and be YAML.
func TestIntegrationConfigurationsAreTaken(t *testing.T) {
	t.Parallel()
	seen := map[string]int{}
	for page, text := range pagesOf(t) {
		if !strings.HasPrefix(page, "docs/integrations/") {
			continue
		}
		checkFences(t, page, text)
		services, urls := map[string]bool{}, []string{}
		for _, block := range regexp.MustCompile("(?ms)^```yaml\n(.*?)^```$").FindAllStringSubmatch(text, -1) {
			kind, o := "", map[string]any{}
			for _, k := range []string{manifest, targetsFile, prometheusYAML, otherValues, ourValues} {
				if strings.HasPrefix(block[1], k) {
					kind = k
				}
			}
			seen[kind]++
			if err := yaml.Unmarshal([]byte(block[1]), &o); err != nil || len(o) == 0 {
				t.Errorf("%s: %v of\n%s", page, err, block[1])
			}
			switch kind {
			case "":
				t.Errorf("%s: of no known kind:\n%s", page, block[1])
			case prometheusYAML:
				accepted(t, block[1], "PROMTOOL_BINARY", "check", "config")
			case ourValues:
				urls = append(urls, regexp.MustCompile(`dns\+http://\S+`).FindAllString(block[1], -1)...)
			case manifest:
				addService(services, block[1])
			}
		}
		for _, url := range urls {
			seen["dns+"]++
			if !services[url] {
				t.Errorf("%s: nothing on the page is headless and at %s", page, url)
			}
		}
	}
	if len(seen) != 6 || seen["dns+"] < 3 {
		t.Errorf("blocks %v: the test does not see them", seen)
	}
}

// accepted holds that a program takes a configuration, whose path is its last argument.
func accepted(t *testing.T, text, variable string, args ...string) {
	t.Helper()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "prober.yaml"), shippedRules(t))
	write(t, filepath.Join(dir, "config.yml"), text)
	cmd := exec.CommandContext(t.Context(), program.Binary(t, variable), append(args, filepath.Join(dir, "config.yml"))...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v: %s\nof\n%s", err, out, text)
	}
}

// addService adds the dns+ URLs of a manifest that is a headless Service: one with an address of its own would make one
// replica of all.
func addService(urls map[string]bool, manifest string) {
	var o struct {
		Kind     string
		Metadata struct{ Name, Namespace string }
		Spec     struct {
			ClusterIP string `yaml:"clusterIP"`
			Ports     []struct{ Port int }
		}
	}
	if yaml.Unmarshal([]byte(manifest), &o) != nil || o.Kind != "Service" || o.Spec.ClusterIP != "None" {
		return
	}
	for _, p := range o.Spec.Ports {
		urls[fmt.Sprintf("dns+http://%s.%s.svc:%d", o.Metadata.Name, o.Metadata.Namespace, p.Port)] = true
	}
}

// checkFences holds that no block escapes the tests: each has a language, and none of YAML is indented.
func checkFences(t *testing.T, page, text string) {
	t.Helper()
	for i, fence := range regexp.MustCompile("(?m)^( *)```(.*)$").FindAllStringSubmatch(text, -1) {
		known := map[string]bool{"yaml": fence[1] == "", "sh": true, "promql": true, "alloy": true}
		if opens := i%2 == 0; opens && !known[fence[2]] || !opens && fence[2] != "" {
			t.Errorf("%s: a block begins or ends with %q", page, fence[0])
		}
	}
	if strings.Contains(text, "```alloy") && !strings.Contains(text, "**Our tests do not run it.**") {
		t.Errorf("%s does not say that Alloy's syntax was not run", page)
	}
}
