package test

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// TestPromtoolFindsNothing lints what a running prober exposes of a target that
// is well, of one that answers errors, of one that stalls and of one that is not
// there.
func TestPromtoolFindsNothing(t *testing.T) {
	t.Parallel()
	well := start(t, nil, "simulate", "--profile", "fast", "--listen", "127.0.0.1:0")
	broken := start(t, nil, "simulate", "--profile", "fast", "--listen", "127.0.0.1:0", "--fault", "status=503")
	stalled := start(t, nil, "simulate", "--profile", "fast", "--listen", "127.0.0.1:0", "--fault", "stall=5")
	prober := start(t, nil, "run", well.after(t, "fast"), broken.after(t, "fast"), stalled.after(t, "fast"), "http://"+freeAddress(t),
		"--listen-address", "127.0.0.1:0", "--log-format", "json", "--model", "meta-llama/Llama-3.1-8B-Instruct", "--api", "openai-chat",
		"--qps", "2", "--prompt-tokens", "100", "--max-tokens", "20", "--timeout", "1s", "--stall-timeout", "200ms")
	base := prober.listening(t)
	eventually(t, "an outcome of each kind", func() bool {
		outcomes := map[string]bool{}
		for _, r := range results(t, base) {
			outcomes[r.Outcome] = true
		}
		return outcomes["ok"] && outcomes["overloaded"] && outcomes["stalled"] && outcomes["connect"]
	})
	text, _ := get(t, base+"metrics", "text/plain")
	if code, said := checkMetrics(t, text); code != 0 || said != "" {
		t.Errorf("promtool check metrics: exit code %d: %s", code, said)
	}
	wrong := strings.ReplaceAll(text, "llm_probe_probes_total", "llm_probe_probes")
	if code, said := checkMetrics(t, wrong); code != 3 || !strings.Contains(said, "llm_probe_probes counter metrics") {
		t.Errorf("of a wrong exposition promtool said %d: %s", code, said)
	}
}

// checkMetrics is the exit code of promtool check metrics, and what it says.
func checkMetrics(t *testing.T, text string) (code int, said string) {
	t.Helper()
	binary := os.Getenv("PROMTOOL_BINARY")
	if binary == "" {
		t.Fatal("PROMTOOL_BINARY is not set: run make e2e")
	}
	command := exec.CommandContext(t.Context(), binary, "check", "metrics")
	command.Stdin = strings.NewReader(text)
	output, err := command.CombinedOutput()
	if command.ProcessState == nil {
		t.Fatal(err)
	}
	return command.ProcessState.ExitCode(), string(output)
}
