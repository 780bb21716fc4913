// Package program runs the prober's binary, and those of others, as users run them. It is for tests and benchmarks.
package program

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// A Process is a running program.
type Process struct {
	Cmd   *exec.Cmd
	Lines chan string // of its standard output, which must be read; closed at its end
	ended chan struct{}
	err   error // once it has ended

	mu     sync.Mutex
	stderr strings.Builder
}

// Binary is the program that a variable of our environment names.
func Binary(tb testing.TB, variable string) string {
	tb.Helper()
	path := os.Getenv(variable)
	if path == "" {
		tb.Fatalf("%s is not set: run make e2e, or the part of it that this test is in", variable)
	}
	return path
}

// Launch starts the binary that a variable of our environment names, with PATH and environ alone as its environment.
func Launch(tb testing.TB, variable string, environ []string, args ...string) *Process {
	tb.Helper()
	cmd := exec.CommandContext(context.Background(), Binary(tb, variable), args...)
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH")}, environ...)
	return Start(tb, cmd)
}

// Start starts a command. It is killed at the end of the test if it has not ended by then.
func Start(tb testing.TB, cmd *exec.Cmd) *Process {
	tb.Helper()
	p := &Process{Cmd: cmd, Lines: make(chan string, 100), ended: make(chan struct{})}
	cmd.Stderr = p
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		tb.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	go func() {
		for scanner := bufio.NewScanner(stdout); scanner.Scan(); {
			p.Lines <- scanner.Text()
		}
		close(p.Lines)
		p.err = cmd.Wait()
		close(p.ended)
	}()
	tb.Cleanup(func() {
		_ = cmd.Process.Kill() // an error says that it has ended
		p.Output(tb)
		if tb.Failed() {
			lines := strings.Split(strings.TrimSpace(p.Log()), "\n")
			tb.Logf("%s:\n%s", strings.Join(cmd.Args, " "), strings.Join(lines[max(0, len(lines)-100):], "\n"))
		}
	})
	return p
}

// Write keeps what the process writes to standard error.
func (p *Process) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.stderr.Write(b)
}

// Log is what the process wrote to standard error so far.
func (p *Process) Log() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.stderr.String()
}

// After returns the first word after the beginning of the first line that has it.
func (p *Process) After(tb testing.TB, beginning string) string {
	tb.Helper()
	for line := range p.Lines {
		if rest, ok := strings.CutPrefix(strings.TrimSpace(line), beginning); ok {
			return strings.Fields(rest)[0]
		}
	}
	tb.Fatalf("no line %q on standard output", beginning)
	return ""
}

// Listening returns the base URL that a prober's log in JSON names, with a slash at its end.
func (p *Process) Listening(tb testing.TB) (url string) {
	tb.Helper()
	p.Eventually(tb, "the address in the log", func() bool {
		for line := range strings.Lines(p.Log()) {
			var entry struct{ Msg, Address string }
			if json.Unmarshal([]byte(line), &entry) == nil && entry.Msg == "starting" {
				url = "http://" + entry.Address + "/"
			}
		}
		return url != ""
	})
	return url
}

// Output waits for the end of the process, and returns what else it wrote to standard output, and its exit code.
func (p *Process) Output(tb testing.TB) (text string, code int) {
	tb.Helper()
	var all strings.Builder
	for line := range p.Lines {
		all.WriteString(line + "\n")
	}
	<-p.ended
	if p.err != nil && !errors.As(p.err, new(*exec.ExitError)) {
		tb.Error(p.err)
	}
	return all.String(), p.Cmd.ProcessState.ExitCode()
}

// End sends a signal, waits for the end of the process and returns its exit code; -1 if the signal ended it.
func (p *Process) End(tb testing.TB, signal syscall.Signal) int {
	tb.Helper()
	if err := p.Cmd.Process.Signal(signal); err != nil {
		tb.Fatal(err)
	}
	_, code := p.Output(tb)
	return code
}

// Eventually is [Eventually] for something that a process that has ended will not do.
func (p *Process) Eventually(tb testing.TB, what string, ok func() bool) {
	tb.Helper()
	Eventually(tb, what, func() bool {
		select {
		case <-p.ended:
			tb.Fatalf("waiting for %s: %s ended: %v", what, p.Cmd.Path, p.err)
		default:
		}
		return ok()
	})
}

// Eventually asks again until ok, or fails the test after five minutes: what is awaited is an event in another process.
func Eventually(tb testing.TB, what string, ok func() bool) {
	tb.Helper()
	ticker := time.NewTicker(100 * time.Millisecond)
	defer ticker.Stop()
	for deadline := time.After(5 * time.Minute); !ok(); {
		select {
		case <-ticker.C:
		case <-deadline:
			tb.Fatalf("waited five minutes for %s", what)
		}
	}
}

// FreeAddress is an address of the loopback on which nothing listens, for a program that cannot find one itself, or that
// is started twice.
func FreeAddress(tb testing.TB) string {
	tb.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err == nil {
		err = listener.Close()
	}
	if err != nil {
		tb.Fatal(err)
	}
	return listener.Addr().String()
}
