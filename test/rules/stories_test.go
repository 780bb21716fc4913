package rules

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/llm-prober/prober/alerts"
)

// stories returns the paths of the stories: what happens to several targets over hours, and which alerts tell of it.
func stories(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("../../alerts/stories/*.yaml")
	if err != nil || len(files) < 10 {
		t.Fatalf("%d stories, %v", len(files), err)
	}
	return files
}

// run runs promtool and expects that it is content.
func run(t *testing.T, arguments ...string) {
	t.Helper()
	output, err := exec.CommandContext(t.Context(), promtool(t), arguments...).CombinedOutput()
	if err != nil {
		t.Errorf("promtool %s: %v\n%s", strings.Join(arguments, " "), err, output)
	}
}

// TestLint lints the rules: for both kinds of histograms, for each alone, and with a label of an organisation.
func TestLint(t *testing.T) {
	for name, histograms := range map[string]alerts.Histograms{
		"native and classic": alerts.NativeAndClassic,
		"--native":           alerts.NativeOnly,
		"--classic":          alerts.ClassicOnly,
	} {
		o := alerts.Options{Histograms: histograms}
		for _, name := range []string{name, name + " --by cluster"} {
			t.Run(name, func(t *testing.T) {
				file := filepath.Join(t.TempDir(), "rules.yaml")
				err := os.WriteFile(file, o.Rules(), 0o600)
				if err != nil {
					t.Fatal(err)
				}
				run(t, "check", "rules", "--lint=all", "--lint-fatal", file)
			})
			err := o.AddBy("cluster")
			if err != nil && !strings.HasSuffix(name, "cluster") {
				t.Fatal(err)
			}
		}
	}
}

func TestStories(t *testing.T) {
	for _, file := range stories(t) {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			run(t, "test", "rules", file)
		})
	}
}

// TestStoriesInAnotherOrder holds that no alert depends on which group of rules is evaluated first. With the order that
// a story names reversed, a record of another group is one evaluation old. Texts may name older numbers then, so
// they are left out. promtool evaluates the groups of a story that names no order in any.
func TestStoriesInAnotherOrder(t *testing.T) {
	dir := t.TempDir()
	shipped := render(t, false)
	for _, g := range shipped {
		for _, rule := range g.Rules {
			delete(rule, "annotations")
		}
	}
	writeYAML(t, filepath.Join(dir, "rules.yaml"), map[string]any{"groups": shipped})
	reversed := 0
	for _, file := range stories(t) {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var story map[string]any
		if err := yaml.Unmarshal(content, &story); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		interval, _ := story["evaluation_interval"].(string)
		every, err := time.ParseDuration(interval)
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		order, named := story["group_eval_order"].([]any)
		const lookback = 5 * time.Minute // how old a record may be
		if !named || every >= lookback {
			continue
		}
		reversed++
		slices.Reverse(order)
		story["rule_files"] = []string{"rules.yaml"}
		path := filepath.Join(dir, filepath.Base(file))
		writeYAML(t, path, withoutTexts(story))
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			run(t, "test", "rules", path)
		})
	}
	if reversed < 5 {
		t.Errorf("%d stories: the test does not see their orders", reversed)
	}
}

// withoutTexts returns a value of YAML without annotations of alerts, at any depth.
func withoutTexts(value any) any {
	switch value := value.(type) {
	case map[string]any:
		delete(value, "exp_annotations")
		for name, part := range value {
			value[name] = withoutTexts(part)
		}
	case []any:
		for i, part := range value {
			value[i] = withoutTexts(part)
		}
	}
	return value
}
