// Package test runs the prober as its users do: the binary, its page in a real
// browser, its metrics on /metrics and over OTLP, against a server that is not ours. It is
// a module of its own, so that what it needs stays out of the product's go.mod.
package test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// A process is a running prober, or what it probes.
type process struct {
	cmd    *exec.Cmd
	lines  chan string // of its standard output; closed at its end
	exited chan error

	mu     sync.Mutex
	stderr strings.Builder
}

// Write keeps what the process says on standard error.
func (p *process) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.stderr.Write(b)
}

// start starts the prober with arguments and additional environment. It is
// killed at the end of the test if it has not ended by then.
func start(t *testing.T, environ []string, args ...string) *process {
	t.Helper()
	return launch(t, "PROBER_BINARY", environ, args...)
}

// launch starts the binary that a variable of our environment names, as start does.
func launch(t *testing.T, variable string, environ []string, args ...string) *process {
	t.Helper()
	binary := os.Getenv(variable)
	if binary == "" {
		t.Fatalf("%s is not set: run make e2e", variable)
	}
	cmd := exec.CommandContext(context.Background(), binary, args...)
	// Kernel timestamps would show that this machine is busy with tests, and keep gaps out.
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "PROBER_STAMP=user"}, environ...)
	return run(t, cmd)
}

// run starts a command that is not bound to a context, as start does.
func run(t *testing.T, cmd *exec.Cmd) *process {
	t.Helper()
	p := &process{cmd: cmd, lines: make(chan string, 100), exited: make(chan error, 1)}
	p.cmd.Stderr = p
	stdout, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		for scanner := bufio.NewScanner(stdout); scanner.Scan(); {
			p.lines <- scanner.Text()
		}
		close(p.lines)
		p.exited <- p.cmd.Wait()
	}()
	t.Cleanup(func() {
		_ = p.cmd.Process.Kill() // an error says that it has ended
		if t.Failed() {
			p.mu.Lock()
			defer p.mu.Unlock()
			t.Logf("standard error:\n%s", p.stderr.String())
		}
	})
	return p
}

// after returns the rest of the first line that begins with word, trimmed.
func (p *process) after(t *testing.T, word string) string {
	t.Helper()
	for line := range p.lines {
		if rest, ok := strings.CutPrefix(strings.TrimSpace(line), word); ok {
			return strings.Fields(rest)[0]
		}
	}
	t.Fatalf("no line %q on standard output", word)
	return ""
}

// listening returns the base URL that a running prober's log names.
func (p *process) listening(t *testing.T) (url string) {
	t.Helper()
	eventually(t, "the address in the log", func() bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		for line := range strings.Lines(p.stderr.String()) {
			var entry struct{ Msg, Address string }
			if json.Unmarshal([]byte(line), &entry) == nil && entry.Msg == "starting" {
				url = "http://" + entry.Address + "/"
			}
		}
		return url != ""
	})
	return url
}

// stop interrupts the process and returns its exit code.
func (p *process) stop(t *testing.T) int {
	t.Helper()
	if err := p.cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	go func() {
		for range p.lines { //nolint:revive // drained, so that the process can end
		}
	}()
	var failed *exec.ExitError
	err := <-p.exited
	if err != nil && !errors.As(err, &failed) {
		t.Fatal(err)
	}
	return p.cmd.ProcessState.ExitCode()
}

// get returns the body of a GET request.
func get(t *testing.T, url, accept string) (string, *http.Response) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Accept", accept)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body), response
}

// result is what these tests look at in a probe's JSON.
type result struct {
	Target  string    `json:"target"`
	Outcome string    `json:"outcome"`
	Start   time.Time `json:"start"`
	Round   uint64    `json:"round"`
	TTFT    *float64  `json:"ttft_seconds"`
}

// results returns the last results, newest first.
func results(t *testing.T, base string) []result {
	t.Helper()
	body, _ := get(t, base+"api/v1/results?limit=1000", "")
	var reply struct {
		Data struct {
			Results []result `json:"results"`
		} `json:"data"`
	}
	if err := json.Unmarshal([]byte(body), &reply); err != nil {
		t.Fatalf("%v in %s", err, body)
	}
	return reply.Data.Results
}

// setFault sets the fault of a simulated server at run time, or heals it with an
// empty one, and returns when that was done.
func setFault(t *testing.T, server, fault string) time.Time {
	t.Helper()
	method := http.MethodPut
	if fault == "" {
		method = http.MethodDelete
	}
	request, err := http.NewRequestWithContext(t.Context(), method, server+"/sim/fault", strings.NewReader(fault))
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if response.StatusCode/100 != 2 {
		t.Fatalf("%s %s: %s", method, fault, response.Status)
	}
	return time.Now()
}

// eventually asks again until ok, or fails the test after two minutes: what is
// awaited is an event in another process.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	ticker := time.NewTicker(100 * time.Millisecond)
	defer ticker.Stop()
	for deadline := time.After(2 * time.Minute); ; {
		if ok() {
			return
		}
		select {
		case <-ticker.C:
		case <-deadline:
			t.Fatalf("waited two minutes for %s", what)
		}
	}
}
