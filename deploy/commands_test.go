package deploy_test

import (
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

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
