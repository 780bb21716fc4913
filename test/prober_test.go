// Package test runs the prober as its users do: the binary, its page in a real
// browser, its metrics on /metrics and over OTLP, against a server that is not ours. It is
// a module of its own, so that what it needs stays out of the product's go.mod.
package test

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/llm-prober/prober/test/program"
)

// start starts the prober with arguments and an environment.
func start(t *testing.T, environ []string, args ...string) *program.Process {
	t.Helper()
	// Kernel timestamps would show that this machine is busy with tests, and keep gaps out.
	return program.Launch(t, "PROBER_BINARY", append([]string{"PROBER_TIMESTAMPS=user"}, environ...), args...)
}

// simulate starts servers of some profiles, parted by commas, and returns their URLs.
func simulate(t *testing.T, profiles string, args ...string) (urls []string) {
	t.Helper()
	p := start(t, nil, append([]string{"simulate", "--profile", profiles, "--listen", "127.0.0.1:0"}, args...)...)
	for name := range strings.SplitSeq(profiles, ",") {
		urls = append(urls, p.After(t, name))
	}
	return urls
}

// run starts `prober run`, by default on a port of its choice, with prompts of 100 tokens and answers of 20. It returns
// its URL when it listens.
func run(t *testing.T, environ []string, args ...string) (p *program.Process, base string) {
	t.Helper()
	p = start(t, append([]string{
		"PROBER_LISTEN_ADDRESS=127.0.0.1:0", "PROBER_LOG_FORMAT=json", "PROBER_PROMPT_TOKENS=100", "PROBER_MAX_TOKENS=20",
	}, environ...), append([]string{"run"}, args...)...)
	return p, p.Listening(t)
}

// interrupt ends a program in order.
func interrupt(t *testing.T, p *program.Process) {
	t.Helper()
	if code := p.End(t, syscall.SIGINT); code != 0 {
		t.Errorf("%s: exit code %d", p.Cmd.Path, code)
	}
}

// get returns the body of a GET request.
func get(t *testing.T, url, accept string) (string, *http.Response) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	must(t, err)
	request.Header.Set("Accept", accept)
	response, err := http.DefaultClient.Do(request)
	must(t, err)
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	must(t, err)
	return string(body), response
}

// answers reports whether a GET request is answered with 200. A closed port is
// no failure.
func answers(t *testing.T, url string) bool {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	must(t, err)
	response, err := http.DefaultClient.Do(request)
	return err == nil && response.Body.Close() == nil && response.StatusCode == http.StatusOK
}

// result is what these tests look at in a probe's JSON.
type result struct {
	Target  string    `json:"target"`
	Outcome string    `json:"outcome"`
	Start   time.Time `json:"start"`
	TTFT    float64   `json:"ttft_seconds"`
	TPOT    float64   `json:"tpot_seconds"`
	E2EL    float64   `json:"e2el_seconds"`
	ITL     []float64 `json:"itl_seconds"`
	Trace   string    `json:"trace_id"`
}

// results returns the last results.
func results(t *testing.T, base string) (all []result) {
	t.Helper()
	body, _ := get(t, base+"api/v1/results?limit=1000&format=jsonl", "")
	for line := range strings.Lines(body) {
		var r result
		must(t, json.Unmarshal([]byte(line), &r))
		all = append(all, r)
	}
	return all
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
	must(t, err)
	response, err := http.DefaultClient.Do(request)
	must(t, err)
	defer response.Body.Close()
	if response.StatusCode/100 != 2 {
		t.Fatalf("%s %s: %s", method, fault, response.Status)
	}
	return time.Now()
}

func write(t *testing.T, path, content string) {
	t.Helper()
	must(t, os.MkdirAll(filepath.Dir(path), 0o755))
	must(t, os.WriteFile(path, []byte(content), 0o644)) //nolint:gosec // for another process
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
