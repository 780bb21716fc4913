package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/llm-prober/prober/internal/config"
	"github.com/llm-prober/prober/internal/files"
	"github.com/llm-prober/prober/internal/length"
	"github.com/llm-prober/prober/internal/observe"
	"github.com/llm-prober/prober/internal/probe"
	"github.com/llm-prober/prober/internal/sim"
	"github.com/llm-prober/prober/internal/telemetry"
	"github.com/llm-prober/prober/internal/testing/memconn"
)

// load returns the configuration that variables lead to, which are written without their prefix: "QPS=2". Later
// ones replace earlier ones of the same name. Prompts have 80 tokens and answers 5, unless the variables say otherwise.
func load(t *testing.T, variables ...string) *config.Config {
	t.Helper()
	environ := map[string]string{"PROBER_PROMPT_TOKENS": "80", "PROBER_MAX_TOKENS": "5"}
	for _, variable := range variables {
		name, value, _ := strings.Cut(variable, "=")
		environ["PROBER_"+name] = value
	}
	c, err := config.Load(config.Options{Environ: environ})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// assembleJob returns the job of the one group that variables of the configuration describe.
func assembleJob(t *testing.T, dial probe.Dial, variables ...string) *Job {
	t.Helper()
	jobs, err := Assemble(load(t, variables...).Targets, files.New(), length.NewBook(), dial, "1.2.3")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(jobs[0].Close)
	return jobs[0]
}

// A diary is a runner and the servers that it probes, in memory and in virtual time. It writes down what happens: what
// was done, what the runner logged, and what came of each target and of each server.
type diary struct {
	t       *testing.T
	runner  *Runner
	files   *files.Files
	logs    *observer.ObservedLogs
	text    strings.Builder
	servers *servers
}

// newDiary returns the diary of a runner that has no configuration yet. Names are looked up by the servers.
func newDiary(t *testing.T) *diary {
	t.Helper()
	core, logs := observer.New(zapcore.InfoLevel)
	d := &diary{t: t, files: files.New(), logs: logs, servers: newServers(t)}
	observers, err := observe.New(t.Context(), &config.Config{}, telemetry.Build{}, zap.New(core))
	if err != nil {
		t.Fatal(err)
	}
	d.runner = NewRunner(context.WithoutCancel(t.Context()), RunnerOptions{
		Observers: observers, Log: zap.New(core), Version: "test", Dial: d.servers.dial, Lookup: d.servers.lookup,
	})
	t.Cleanup(func() { d.runner.Stop(0) })
	return d
}

// apply makes the runner work by a configuration. Its variables are as for [load].
func (d *diary) apply(what string, variables ...string) {
	d.t.Helper()
	c := load(d.t, variables...)
	d.files = d.files.Next()
	c.Reject(d.files.Check(c.Targets))
	if err := d.runner.Apply(d.t.Context(), c, d.files); err != nil {
		d.t.Fatal(err)
	}
	d.write(what)
}

// applyDown applies a configuration while a host is down, and waits for a minute.
func (d *diary) applyDown(host string, variables ...string) {
	d.t.Helper()
	d.servers.change(func(s *servers) { s.down[host] = true })
	d.apply(host+" is down", variables...)
	d.after(time.Minute)
}

// up ends that hosts are down.
func (d *diary) up(what string) {
	d.write(what)
	d.servers.change(func(s *servers) { clear(s.down) })
}

// write begins a chapter.
func (d *diary) write(what string) { fmt.Fprintf(&d.text, "# %s\n", what) }

// after waits, and writes what was logged since the last time, how things stand, and what the servers were asked.
func (d *diary) after(wait time.Duration) {
	d.t.Helper()
	time.Sleep(wait)
	synctest.Wait()
	d.writeLog()
	fmt.Fprintf(&d.text, "after %v:\n", wait)
	d.writeTargets()
	d.servers.writeRequests(&d.text)
	fmt.Fprintln(&d.text)
}

// writeLog writes what was logged, sorted: targets are probed side by side.
func (d *diary) writeLog() {
	var lines []string
	for _, entry := range d.logs.TakeAll() {
		if entry.Message == "probe" { // the slots show what came of it
			continue
		}
		fields := entry.ContextMap()
		line := fmt.Sprintf("  %s: %s", entry.Level, entry.Message)
		for _, name := range []string{"target", "host", "targets", "known_by", "waited", "problem", "error"} {
			if name == "target" && fields["known_by"] != nil { // any of the replicas of a name
				fields[name], _, _ = strings.Cut(fmt.Sprint(fields[name]), "/")
			}
			if fields[name] != nil {
				line += fmt.Sprintf(", %s %v", name, fields[name])
			}
		}
		lines = append(lines, line+"\n")
	}
	slices.Sort(lines)
	d.text.WriteString(strings.Join(lines, ""))
}

// writeTargets writes how each target on the page does, what became of its slots by /metrics, and its notes.
func (d *diary) writeTargets() {
	d.t.Helper()
	metrics := serve("/metrics", d.runner.Observers.Metrics.Handler(log.New(io.Discard, "", 0)))
	slots := slotsByTarget(metrics)
	samples := valuesByTarget(metrics, ttftSeries)
	tokens := valuesByTarget(metrics, promptSeries)
	pages := http.NewServeMux()
	d.runner.Observers.Board.Register(pages)
	var page struct {
		Data struct {
			Targets []struct {
				Name, State string
				Notes       []string
			}
		}
	}
	if err := json.Unmarshal([]byte(serve("/api/v1/targets", pages)), &page); err != nil {
		d.t.Fatal(err)
	}
	for _, target := range page.Data.Targets {
		fmt.Fprintf(&d.text, "  %s is %s:%s\n", target.Name, target.State, slots[target.Name])
		if samples[target.Name] != tokens[target.Name] { // else both are 0
			fmt.Fprintf(&d.text, "    %s samples of TTFT, %s tokens of prompt\n", samples[target.Name], tokens[target.Name])
		}
		for _, note := range target.Notes {
			fmt.Fprintf(&d.text, "    %s\n", note)
		}
		delete(slots, target.Name)
	}
	if len(slots) > 0 {
		d.t.Errorf("there are series of targets that are not on the page: %v", slots)
	}
}

var (
	ttftSeries   = regexp.MustCompile(`(?m)^llm_probe_ttft_seconds_count\{.*target="([^"]*)"\} (\d+)$`)
	promptSeries = regexp.MustCompile(`(?m)^llm_probe_tokens_total\{kind="prompt",.*target="([^"]*)"\} (\d+)$`)
)

// valuesByTarget returns the value of a series of each target.
func valuesByTarget(metrics string, series *regexp.Regexp) map[string]string {
	values := map[string]string{}
	for _, found := range series.FindAllStringSubmatch(metrics, -1) {
		values[found[1]] = found[2]
	}
	return values
}

// serve returns what a handler serves under a path.
func serve(path string, handler http.Handler) string {
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
	return w.Body.String()
}

var slotSeries = regexp.MustCompile(
	`(?m)^llm_probe_(?:probes|skipped)_total\{.*(?:outcome|reason)="(\w+)".*target="([^"]*)"\} (\d+)$`)

// slotsByTarget returns what became of the slots of each target that has series: outcomes and reasons to skip one.
func slotsByTarget(metrics string) map[string]string {
	slots := map[string]string{}
	for _, series := range slotSeries.FindAllStringSubmatch(metrics, -1) {
		reason, target, n := series[1], series[2], series[3]
		slots[target] += strings.TrimSuffix(fmt.Sprintf(" %s=%s", reason, n), " "+reason+"=0")
	}
	return slots
}

// servers are simulated servers by host, and the name server that knows them.
type servers struct {
	t        *testing.T
	listener *memconn.Listener
	open     atomic.Int64 // connections that the prober has not closed

	mu        sync.Mutex
	simulated map[string]*sim.Server
	instead   map[string]http.HandlerFunc // by host, or by host and path: what answers there
	down      map[string]bool             // hosts that refuse connections
	addresses []string                    // of every name that is looked up
	failing   bool                        // the name server does not answer
	lookups   int                         // how often the name server was asked
	requests  map[string]int              // by host and path, since the last write
}

// newServers serves until the end of the test.
func newServers(t *testing.T) *servers {
	t.Helper()
	s := &servers{
		t: t, simulated: map[string]*sim.Server{}, instead: map[string]http.HandlerFunc{}, down: map[string]bool{},
		requests: map[string]int{},
	}
	s.listener = memconn.Serve(t, s)
	return s
}

// ServeHTTP answers as the simulated server of the host that was asked for, unless something else answers there.
func (s *servers) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	host := r.Host
	s.mu.Lock()
	s.requests[host+r.URL.Path]++
	answer := s.instead[host]
	if answer == nil {
		answer = s.instead[host+r.URL.Path]
	}
	if s.simulated[host] == nil {
		profile, err := sim.ParseProfile("fast")
		if err != nil {
			panic(err)
		}
		s.simulated[host] = sim.New(sim.Config{Profile: profile, Seed: 1})
		s.t.Cleanup(s.simulated[host].Close)
	}
	server := s.simulated[host]
	s.mu.Unlock()
	if answer != nil {
		answer(w, r)
		return
	}
	server.ServeHTTP(w, r)
}

// dial connects to every host that is not down.
func (s *servers) dial(ctx context.Context, network, address string) (net.Conn, error) {
	host, _, _ := net.SplitHostPort(address)
	s.mu.Lock()
	down := s.down[host]
	s.mu.Unlock()
	if down {
		return nil, &net.OpError{Op: "dial", Net: network, Err: syscall.ECONNREFUSED}
	}
	conn, err := s.listener.Dial(ctx, network, address)
	if err != nil {
		return nil, err
	}
	s.open.Add(1)
	return countedConn{Conn: conn, closed: sync.OnceFunc(func() { s.open.Add(-1) })}, nil
}

// A countedConn calls closed when it is closed by the prober.
type countedConn struct {
	net.Conn
	closed func()
}

func (c countedConn) Close() error {
	c.closed()
	return c.Conn.Close()
}

// lookup is a [Lookup].
func (s *servers) lookup(_ context.Context, family, _ string) (list []netip.Addr, _ error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lookups++
	if s.failing {
		return nil, &net.DNSError{Err: "no answer"}
	}
	if family == "ip4" {
		for _, address := range s.addresses {
			list = append(list, netip.MustParseAddr(address))
		}
	}
	return list, nil
}

// change changes what the servers do.
func (s *servers) change(f func(s *servers)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f(s)
}

// writeRequests writes how often the models, the tokenizer and the answers of hosts were asked for since the last time.
func (s *servers) writeRequests(to io.Writer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, route := range slices.Sorted(maps.Keys(s.requests)) {
		_, path, _ := strings.Cut(route, "/")
		if slices.Contains([]string{"v1/models", "tokenize", "v1/chat/completions"}, path) {
			fmt.Fprintf(to, "  %s: %d requests\n", route, s.requests[route])
		}
	}
	clear(s.requests)
}

// without makes a route not found. It is for use before the first configuration, as [servers.once] is.
func (s *servers) without(route string) { s.instead[route] = http.NotFound }

// once makes something else answer the nth request for a route.
func (s *servers) once(route string, n int, answer http.HandlerFunc) {
	s.instead[route] = func(w http.ResponseWriter, r *http.Request) {
		n--
		if n == 0 {
			s.change(func(s *servers) { delete(s.instead, route) })
			answer(w, r)
			return
		}
		s.simulated[r.Host].ServeHTTP(w, r)
	}
}

// hang is a handler that sends nothing.
func hang(_ http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body) // else net/http does not notice that the client has left
	<-r.Context().Done()
}
