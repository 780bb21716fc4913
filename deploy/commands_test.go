package deploy_test

import (
	"maps"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestCIRunsEveryCommand holds that .ci/run and GitHub run the commands that
// CONTRIBUTING.md lists, beginning with the README's; a real Kubernetes GitHub alone.
func TestCIRunsEveryCommand(t *testing.T) {
	commands := []string{"test", "race", "fuzz", "lint", "e2e"}
	if want := "exec make " + strings.Join(commands, " ") + "\n"; !strings.HasSuffix(string(read(t, "../.ci/run")), want) {
		t.Errorf(".ci/run does not end with %q", want)
	}
	for _, page := range []string{"../README.md", "../CONTRIBUTING.md"} {
		if !strings.Contains(string(read(t, page)), "make test") {
			t.Errorf("%s does not show make test", page)
		}
	}
	ci := string(read(t, "../.github/workflows/ci.yml"))
	run := strings.Split(find(t, ci, `target: \[(.+)\]`), ", ")
	run = append(run, find(t, ci, `run: sudo .* make (\w+)`))
	if want := append(commands, "kube"); !slices.Equal(slices.Sorted(slices.Values(run)), slices.Sorted(slices.Values(want))) {
		t.Errorf("GitHub runs %v, want %v", run, want)
	}
	for _, command := range run {
		if !strings.Contains(string(read(t, "../CONTRIBUTING.md")), "`make "+command+"`") {
			t.Errorf("CONTRIBUTING.md does not say what make %s is", command)
		}
	}
}

// find is the first group of the first match.
func find(t *testing.T, text, pattern string) string {
	t.Helper()
	m := regexp.MustCompile(pattern).FindStringSubmatch(text)
	if m == nil {
		t.Fatalf("no %s in\n%s", pattern, text)
	}
	return m[1]
}

// TestMakeTestNeedsGoAlone follows `make test` to all that it runs: the commands of
// Go on the main module, and gofmt. What builds tools, enters another module, or
// needs a C compiler belongs to another command.
func TestMakeTestNeedsGoAlone(t *testing.T) {
	rules := map[string]string{} // the line with the prerequisites, and the recipe
	for _, m := range regexp.MustCompile(`(?m)^([a-z0-9-]+):(.*\n(?:\t.*\n)*)`).FindAllStringSubmatch(string(read(t, "../Makefile")), -1) {
		rules[m[1]] += m[2]
	}
	needed := map[string]bool{}
	var follow func(target string)
	follow = func(target string) {
		if needed[target] {
			return
		}
		needed[target] = true
		line, recipe, _ := strings.Cut(rules[target], "\n")
		if found := regexp.MustCompile(`\bcd |-race|\$\((CACHE|BIN)\)|\bgo run\b|\$\(GO\) (build|run)`).FindString(line + recipe); found != "" {
			t.Errorf("make test runs %s, which has %q:\n%s", target, found, recipe)
		}
		line, _, _ = strings.Cut(line, "#")
		for prerequisite := range strings.FieldsSeq(line) {
			follow(prerequisite)
		}
	}
	follow("test")
	if want := []string{"fmt", "test", "vet"}; !slices.Equal(slices.Sorted(maps.Keys(needed)), want) {
		t.Errorf("make test runs %v, want %v", slices.Sorted(maps.Keys(needed)), want)
	}
}

// TestNothingIsInstalled holds that make says how to install what is missing, and
// fails.
func TestNothingIsInstalled(t *testing.T) {
	program, err := exec.LookPath("make")
	if err != nil {
		t.Skip("make is not installed")
	}
	cmd := exec.CommandContext(t.Context(), program, "-C", "..", "chromium")
	cmd.Env = []string{"PATH="}
	out, err := cmd.CombinedOutput()
	if err == nil || !strings.Contains(string(out), "\nOn Debian: apt-get install chromium\n") {
		t.Errorf("%v: %s", err, out)
	}
	for line := range strings.Lines(string(read(t, "../Makefile"))) {
		if strings.Contains(line, "apt-get") && !strings.Contains(line, "echo ") {
			t.Errorf("the Makefile installs: %s", line)
		}
	}
}
