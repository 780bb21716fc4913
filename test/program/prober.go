package program

import (
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Prober starts the prober with arguments and an environment.
func Prober(t *testing.T, environ []string, args ...string) *Process {
	t.Helper()
	// Kernel timestamps would show that this machine is busy with tests, and keep gaps out.
	return Launch(t, "PROBER_BINARY", append([]string{"PROBER_TIMESTAMPS=user"}, environ...), args...)
}

// Simulate starts servers of some profiles, parted by commas, and returns their URLs.
func Simulate(t *testing.T, profiles string, args ...string) (urls []string) {
	t.Helper()
	p := Prober(t, nil, append([]string{"simulate", "--profile", profiles, "--listen", "127.0.0.1:0"}, args...)...)
	for name := range strings.SplitSeq(profiles, ",") {
		urls = append(urls, p.After(t, name))
	}
	return urls
}

// Run starts `prober run`, by default on a port of its choice, with prompts of 100 tokens and answers of 20. It returns
// its URL when it listens.
func Run(t *testing.T, environ []string, args ...string) (p *Process, base string) {
	t.Helper()
	p = Prober(t, append([]string{
		"PROBER_LISTEN_ADDRESS=127.0.0.1:0", "PROBER_LOG_FORMAT=json", "PROBER_PROMPT_TOKENS=100", "PROBER_MAX_TOKENS=20",
	}, environ...), append([]string{"run"}, args...)...)
	return p, p.Listening(t)
}

// Interrupt ends a program in order.
func (p *Process) Interrupt(t *testing.T) {
	t.Helper()
	code := p.End(t, syscall.SIGINT)
	if code != 0 {
		t.Errorf("%s: exit code %d", p.Cmd.Path, code)
	}
}

// Get returns the response to a GET request, and its body as text.
func Get(t *testing.T, url, accept string) (string, *http.Response) {
	t.Helper()
	response := ask(t, http.MethodGet, url, "", http.Header{"Accept": {accept}})
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body), response
}

// Answers reports whether a GET request is answered with 200. A closed port is no failure.
func Answers(t *testing.T, url string) bool {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return false
	}
	_ = response.Body.Close()
	return response.StatusCode == http.StatusOK
}

// A Result is what tests look at in a probe's JSON.
type Result struct {
	Target  string    `json:"target"`
	Outcome string    `json:"outcome"`
	Start   time.Time `json:"start"`
	TTFT    *float64  `json:"ttft_seconds"` // nil: it was not sure, as on a machine that is busy
	TPOT    *float64  `json:"tpot_seconds"`
	E2EL    *float64  `json:"e2el_seconds"`
	ITL     []float64 `json:"itl_seconds"`
	Trace   string    `json:"trace_id"`
}

// Results returns the last results, at most 1,000.
func Results(t *testing.T, base string) (all []Result) {
	t.Helper()
	body, _ := Get(t, base+"api/v1/results?limit=1000&format=jsonl", "")
	for line := range strings.Lines(body) {
		var r Result
		err := json.Unmarshal([]byte(line), &r)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, r)
	}
	return all
}

// Exposed adds up the series of a metric on a /metrics page that have a label, as text; all of them if that is empty.
func Exposed(t *testing.T, base, metric, label string) (sum float64) {
	t.Helper()
	text, _ := Get(t, base+"metrics", "text/plain")
	for line := range strings.Lines(text) {
		rest, ok := strings.CutPrefix(strings.TrimSpace(line), metric)
		if !ok || !strings.HasPrefix(rest, "{") && !strings.HasPrefix(rest, " ") || !strings.Contains(rest, label) {
			continue
		}
		value, err := strconv.ParseFloat(rest[strings.LastIndex(rest, " ")+1:], 64)
		if err != nil {
			t.Fatal(err)
		}
		sum += value
	}
	return sum
}

// SetFault sets the fault of a simulated server at run time, or heals it with an empty one. It returns when that was
// done.
func SetFault(t *testing.T, server, fault string) time.Time {
	t.Helper()
	method := http.MethodPut
	if fault == "" {
		method = http.MethodDelete
	}
	response := ask(t, method, server+"/sim/fault", fault, nil)
	defer response.Body.Close()
	if response.StatusCode/100 != 2 {
		t.Fatalf("%s %s: %s", method, fault, response.Status)
	}
	return time.Now()
}

func ask(t *testing.T, method, url, body string, header http.Header) *http.Response {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header = header
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	return response
}
