//go:build linux

package performance_test

import (
	"bufio"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/llm-prober/prober/test/machine"
)

// A process is a running prober or simulator. Its ends are those of the
// benchmark: it is killed when that is over.
type process struct {
	cmd   *exec.Cmd
	began time.Time
}

// start starts the prober's binary, whose standard output and standard error go
// to out. What is set of the garbage collector is set for it too.
func start(b *testing.B, out io.Writer, args ...string) process {
	b.Helper()
	binary := os.Getenv("PROBER_BINARY")
	if binary == "" {
		b.Fatal("PROBER_BINARY is not set: run make build, and set it to bin/prober, absolute")
	}
	p := process{cmd: exec.CommandContext(b.Context(), binary, args...)}
	for _, name := range []string{"PATH", "GOGC", "GOMEMLIMIT", "GODEBUG"} {
		if value, set := os.LookupEnv(name); set {
			p.cmd.Env = append(p.cmd.Env, name+"="+value)
		}
	}
	p.cmd.Stdout, p.cmd.Stderr = out, out
	p.began = time.Now()
	if err := p.cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		_ = p.cmd.Process.Kill()
		_ = p.cmd.Wait()
	})
	return p
}

// startSimulator starts a simulated server, and returns its URL.
func startSimulator(b *testing.B, profile string) (p process, url string) {
	b.Helper()
	said, out := io.Pipe()
	p = start(b, out, "simulate", "--profile", profile, "--listen", "127.0.0.1:0")
	return p, awaitLine(b, said, func(line string) string {
		rest, _ := strings.CutPrefix(line, profile)
		return strings.TrimSpace(rest)
	})
}

// startProber starts `prober run`, and returns its URL.
func startProber(b *testing.B, args ...string) (p process, url string) {
	b.Helper()
	said, out := io.Pipe()
	p = start(b, out, append([]string{"run", "--listen-address", "127.0.0.1:0", "--log-format", "json"}, args...)...)
	return p, awaitLine(b, said, func(line string) string {
		var entry struct{ Msg, Address string }
		if json.Unmarshal([]byte(line), &entry) != nil || entry.Msg != "starting" {
			return ""
		}
		return "http://" + entry.Address
	})
}

// awaitLine returns the first result of find that is not empty.
// What follows is read and forgotten.
func awaitLine(b *testing.B, from io.Reader, find func(line string) string) string {
	b.Helper()
	found := make(chan string, 1)
	go func() {
		for lines := bufio.NewScanner(from); lines.Scan(); {
			if text := find(lines.Text()); text != "" {
				found <- text
				break
			}
		}
		_, _ = io.Copy(io.Discard, from)
	}()
	select {
	case text := <-found:
		return text
	case <-time.After(time.Minute):
		b.Fatal("waited a minute for the address")
		return ""
	}
}

// cpu is the time that processors spent on the process, the kernel's included.
func (p process) cpu(b *testing.B) time.Duration {
	b.Helper()
	return told(b)(machine.CPU(p.cmd.Process.Pid))
}

// memory is a line of the process's status, in bytes: see [machine.Memory].
func (p process) memory(b *testing.B, name string) float64 {
	b.Helper()
	bytes, err := machine.Memory(p.cmd.Process.Pid, name)
	if err != nil {
		b.Fatal(err)
	}
	return bytes
}

// busy is the time that processors of the machine spent on anything at all.
func busy(b *testing.B) time.Duration {
	b.Helper()
	return told(b)(machine.Busy())
}

// told returns what takes a time that the kernel was asked for.
func told(b *testing.B) func(time.Duration, error) time.Duration {
	return func(d time.Duration, err error) time.Duration {
		b.Helper()
		if err != nil {
			b.Fatal(err)
		}
		return d
	}
}
