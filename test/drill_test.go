package test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/llm-prober/prober/test/program"
)

// TestFireDrill runs the commands of docs/drill.md with free ports. The script ends only if the alert has fired and has
// ended. What it prints on the way is what somebody on call reads.
func TestFireDrill(t *testing.T) {
	t.Parallel()
	said := runDrill(t, drillScript(t))
	rest := said
	for _, next := range []string{
		`/runbooks/ProberTargetDown.md","summary":"chat does not answer: HTTP 503, server overloaded`, // the alert
		"# ProberTargetDown\n", "## Diagnosis\n", // the runbook
		`"outcome":"overloaded"`, `"hint":"chat answered 503`, // the last failure
		"verdict    overloaded: ", // the probe by hand
	} {
		_, after, found := strings.Cut(rest, next)
		if !found {
			t.Fatalf("no %q, or not in this order, in\n%s", next, said)
		}
		rest = after
	}
}

// drillScript returns the commands of the page, with free addresses for those that it names.
func drillScript(t *testing.T) string {
	t.Helper()
	page, err := os.ReadFile("../docs/drill.md")
	must(t, err)
	var script strings.Builder
	for _, block := range regexp.MustCompile("(?ms)^```sh\n(.*?)^```$").FindAllStringSubmatch(string(page), -1) {
		script.WriteString(block[1])
	}
	text := script.String()
	server, prober := program.FreeAddress(t), program.FreeAddress(t)
	for _, change := range [][2]string{
		{"127.0.0.1:8801", server}, {"127.0.0.1:9464", prober}, {"127.0.0.1:9090", program.FreeAddress(t)},
		{"prober simulate ", "prober simulate --listen " + server + " "},
		{"prober run ", "prober run --listen-address " + prober + " "},
	} {
		if !strings.Contains(text, change[0]) {
			t.Fatalf("the page has no %q", change[0])
		}
		text = strings.ReplaceAll(text, change[0], change[1])
	}
	return text
}

// runDrill runs a script by bash with the prober and Prometheus in the PATH, and returns what it prints.
func runDrill(t *testing.T, script string) string {
	t.Helper()
	const limit = 5 * time.Minute // it waits for an alert that may never fire
	dir, bin := t.TempDir(), t.TempDir()
	for name, variable := range map[string]string{"prober": "PROBER_BINARY", "prometheus": "PROMETHEUS_BINARY"} {
		must(t, os.Symlink(program.Binary(t, variable), filepath.Join(bin, name)))
	}
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, "bash", "-e")
	cmd.Dir = dir
	cmd.Env = []string{"PATH=" + bin + ":" + os.Getenv("PATH"), "PROBER_TIMESTAMPS=user"}
	cmd.Stdin = strings.NewReader(script)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	killAll := func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) } // what it started, too
	cmd.Cancel = killAll
	said, err := cmd.CombinedOutput()
	if err != nil {
		_ = killAll() // an error says that all have ended
		t.Fatalf("%v\n%s", err, said)
	}
	return string(said)
}
