package rules

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/llm-prober/prober/alerts"
)

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

// TestStories tells each story to promtool: what happens to several targets over hours, and which alerts fire.
//
// A story that names an order of groups is also told with that order reversed: no alert depends on which group of rules is
// evaluated first. A record of another group may be one evaluation old then, so texts, which may name older numbers,
// are left out. promtool evaluates the groups of a story that names no order in any.
func TestStories(t *testing.T) {
	files, err := filepath.Glob("../../alerts/stories/*.yaml")
	if err != nil || len(files) < 10 {
		t.Fatalf("%d stories, %v", len(files), err)
	}
	shipped := render(t, false)
	reversed := 0
	for _, file := range files {
		story := readStory(t, file)
		rules := answering(shipped, story)
		tell := func(name string) {
			dir := t.TempDir()
			writeYAML(t, filepath.Join(dir, "rules.yaml"), map[string]any{"groups": rules})
			writeYAML(t, filepath.Join(dir, "story.yaml"), story)
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				run(t, "test", "rules", filepath.Join(dir, "story.yaml"))
			})
		}
		story["rule_files"] = []string{"rules.yaml"}
		tell(filepath.Base(file))
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
		withoutTexts(story)
		for _, g := range rules {
			for _, rule := range g.Rules {
				delete(rule, "annotations")
			}
		}
		tell(filepath.Base(file) + ", groups in another order")
	}
	if reversed < 5 {
		t.Errorf("%d stories: the test does not see their orders", reversed)
	}
}

func readStory(t *testing.T, file string) map[string]any {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var story map[string]any
	err = yaml.Unmarshal(content, &story)
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return story
}

// metricName matches the name of a metric or of a record.
var metricName = regexp.MustCompile(`\b(ALERTS|up|llm_\w+|[a-z]+:\w+:\w+)\b`)

// answering returns the rules that may have a result in a story. That of a rule is empty if nobody has any series that it
// reads, and it asks for none that is absent. promtool would evaluate it nevertheless, which takes most of the time.
func answering(groups []group, story map[string]any) []group {
	present := map[string]bool{"ALERTS": true}
	tests, _ := story["tests"].([]any)
	for _, test := range tests {
		series, _ := test.(map[string]any)["input_series"].([]any)
		for _, s := range series {
			name, _ := s.(map[string]any)["series"].(string)
			present[metricName.FindString(name)] = true
		}
	}
	answers := func(rule map[string]any) bool {
		expr := text(rule, "expr")
		readsPresent := func(name string) bool { return present[name] }
		return strings.Contains(expr, "absent") || strings.Contains(expr, "vector(") ||
			slices.ContainsFunc(metricName.FindAllString(expr, -1), readsPresent)
	}
	for range groups { // records of one group are read by another: after that many rounds all are found
		for _, g := range groups {
			for _, rule := range g.Rules {
				if record := text(rule, "record"); record != "" && answers(rule) {
					present[record] = true
				}
			}
		}
	}
	var left []group
	for _, g := range groups {
		kept := group{Name: g.Name, Interval: g.Interval}
		for _, rule := range g.Rules {
			if answers(rule) {
				kept.Rules = append(kept.Rules, maps.Clone(rule))
			}
		}
		left = append(left, kept)
	}
	return left
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
