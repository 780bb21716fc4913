package deploy_test

import (
	"os/exec"
	"regexp"
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
	if !strings.Contains(string(read(t, "../README.md")), "make test") {
		t.Error("README.md does not show make test")
	}
	ci := string(read(t, "../.github/workflows/ci.yml"))
	if !strings.Contains(ci, "target: [test, race, fuzz, lint, kube]\n") || !strings.Contains(ci, " make e2e\n") {
		t.Error("ci.yml does not run them all, and kube")
	}
	for _, command := range append(commands, "kube") {
		if !strings.Contains(string(read(t, "../CONTRIBUTING.md")), "`make "+command+"`") {
			t.Errorf("CONTRIBUTING.md does not say what make %s is", command)
		}
	}
}

// TestMakeTestNeedsGoAlone holds that `make test` runs the commands of Go on the main module, and gofmt: what builds
// tools, enters another module, or needs a C compiler belongs to another command. What is missing
// there make does not install: it says how to, and fails.
func TestMakeTestNeedsGoAlone(t *testing.T) {
	program, err := exec.LookPath("make")
	if err != nil {
		t.Skip("make is not installed")
	}
	out, err := exec.CommandContext(t.Context(), program, "-C", "..", "--dry-run", "test").Output()
	found := regexp.MustCompile(`\bcd |-race|\.cache|/bin/|go (build|run)`).Find(out)
	if err != nil || found != nil || !strings.Contains(string(out), "go test") {
		t.Errorf("make test runs %q (%v):\n%s", found, err, out)
	}
	chromium := exec.CommandContext(t.Context(), program, "-C", "..", "chromium")
	chromium.Env = []string{"PATH="}
	if out, err := chromium.CombinedOutput(); err == nil || !strings.Contains(string(out), "\nOn Debian: apt-get install chromium\n") {
		t.Errorf("%v: %s", err, out)
	}
	for _, line := range regexp.MustCompile(".*apt-get.*").FindAllString(string(read(t, "../Makefile")), -1) {
		if !strings.Contains(line, "echo ") {
			t.Errorf("the Makefile installs: %q", line)
		}
	}
}
