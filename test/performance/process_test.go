//go:build linux

package performance_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/llm-prober/prober/test/machine"
	"github.com/llm-prober/prober/test/program"
)

// A process is a running prober or simulator. It is killed when the benchmark is over.
type process struct {
	*program.Process

	began time.Time
}

// start starts the prober's binary. What is set of the garbage collector is set for it too.
func start(b *testing.B, args ...string) process {
	b.Helper()
	cmd := exec.CommandContext(b.Context(), program.Binary(b, "PROBER_BINARY"), args...)
	for _, name := range []string{"PATH", "GOGC", "GOMEMLIMIT", "GODEBUG"} {
		if value, set := os.LookupEnv(name); set {
			cmd.Env = append(cmd.Env, name+"="+value)
		}
	}
	return process{began: time.Now(), Process: program.Start(b, cmd)}
}

// startBoth starts a simulated server, and a prober with that many targets at it, and returns the prober's URL.
func startBoth(b *testing.B, targets int, args ...string) (simulator, prober process, base string) {
	b.Helper()
	simulator = start(b, "simulate", "--profile", *profileFlag, "--listen", "127.0.0.1:0")
	prober = start(b, append([]string{
		"run", "--listen-address", "127.0.0.1:0", "--log-format", "json", "--max-tokens-per-day", "none", "--prompt-tokens",
		strconv.Itoa(*tokensFlag),
		"--targets-file", targetsFile(b, simulator.After(b, *profileFlag), targets),
	}, args...)...)
	return simulator, prober, prober.Listening(b)
}

// targetsFile returns n targets at one server.
func targetsFile(b *testing.B, server string, n int) string {
	b.Helper()
	var text strings.Builder
	text.WriteString("targets:\n")
	for i := range n {
		fmt.Fprintf(&text, "- {name: replica-%04d, url: %q}\n", i, server)
	}
	path := filepath.Join(b.TempDir(), "targets.yaml")
	if err := os.WriteFile(path, []byte(text.String()), 0o600); err != nil {
		b.Fatal(err)
	}
	return path
}

// cpu returns the time that processors spent on the process, the kernel's included.
func (p process) cpu(b *testing.B) time.Duration {
	b.Helper()
	return told[time.Duration](b)(machine.CPU(p.Cmd.Process.Pid))
}

// memory returns a line of the process's status, in bytes: see [machine.Memory].
func (p process) memory(b *testing.B, name string) float64 {
	b.Helper()
	return told[float64](b)(machine.Memory(p.Cmd.Process.Pid, name))
}

// told returns what takes a figure that the kernel was asked for.
func told[T any](b *testing.B) func(T, error) T {
	return func(figure T, err error) T {
		b.Helper()
		if err != nil {
			b.Fatal(err)
		}
		return figure
	}
}
