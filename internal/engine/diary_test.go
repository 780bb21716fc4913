package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"maps"
	"net/http"
	"slices"
	"strings"
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
	"github.com/llm-prober/prober/internal/telemetry"
	"github.com/llm-prober/prober/internal/testing/exposition"
	"github.com/llm-prober/prober/internal/testing/simnet"
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
	t        *testing.T
	runner   *Runner
	files    *files.Files
	logs     *observer.ObservedLogs
	text     strings.Builder
	servers  *simnet.Network
	names    *simnet.Names
	requests map[string]int // to the servers, when the last chapter ended
}

// newDiary returns the diary of a runner that has no configuration yet.
func newDiary(t *testing.T) *diary {
	t.Helper()
	core, logs := observer.New(zapcore.InfoLevel)
	d := &diary{t: t, files: files.New(), logs: logs, names: &simnet.Names{}}
	d.servers = simnet.New(t, "a", "b", "c", "d", "10.0.0.1", "10.0.0.2", "10.0.0.3")
	observers, err := observe.New(t.Context(), &config.Config{}, telemetry.Build{}, zap.New(core))
	if err != nil {
		t.Fatal(err)
	}
	d.runner = NewRunner(context.WithoutCancel(t.Context()), RunnerOptions{
		Observers: observers, Log: zap.New(core), Version: "test", Dial: d.servers.Dial, Lookup: d.names.Lookup,
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
	d.servers.Down(host)
	d.apply(host+" is down", variables...)
	d.after(time.Minute)
}

// list makes d list targets, and waits for a minute, after which d is asked again.
func (d *diary) list(what, body string) {
	d.t.Helper()
	d.write(what)
	d.servers.Up("d")
	d.servers.Answer("d/list", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, body)
	})
	d.runner.AskSources(d.t.Context())
	d.after(time.Minute)
}

// up ends that a is down.
func (d *diary) up(what string) {
	d.write(what)
	d.servers.Up("a")
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
	d.writeRequests()
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
		for _, name := range []string{
			"target", "host", "source", "targets", "known_by", "waited", "problem", "error", "such_as", "labels",
		} {
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
	metrics := d.metrics()
	slots := exposition.Slots(metrics)
	var page struct {
		Data struct {
			Targets []struct {
				Name, State string
				Notes       []string
			}
		}
	}
	if err := json.Unmarshal([]byte(d.page("/api/v1/targets")), &page); err != nil {
		d.t.Fatal(err)
	}
	for _, target := range page.Data.Targets {
		line := fmt.Sprintf("  %s is %s: %s", target.Name, target.State, slots[target.Name])
		fmt.Fprintln(&d.text, strings.TrimSuffix(line, " "))
		selector := fmt.Sprintf("{target=%q}", target.Name)
		samples, _ := exposition.Value(metrics, "llm_probe_ttft_seconds_count"+selector)
		tokens, _ := exposition.Value(metrics, fmt.Sprintf("llm_probe_tokens_total{target=%q,kind=\"prompt\"}", target.Name))
		if samples > 0 || tokens > 0 {
			fmt.Fprintf(&d.text, "    %v samples of TTFT, %v tokens of prompt\n", samples, tokens)
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

// metrics returns what /metrics shows now.
func (d *diary) metrics() string {
	return exposition.Serve(d.runner.Observers.Metrics.Handler(log.New(io.Discard, "", 0)), "/metrics")
}

// page returns a page of the status page or its API.
func (d *diary) page(path string) string {
	pages := http.NewServeMux()
	d.runner.Observers.Board.Register(pages)
	return exposition.Serve(pages, path)
}

// writeRequests writes how often the models, the tokenizer and the answers of hosts were asked for since the last time.
func (d *diary) writeRequests() {
	now := d.servers.Requests()
	for _, route := range slices.Sorted(maps.Keys(now)) {
		_, path, _ := strings.Cut(route, "/")
		asked := now[route] - d.requests[route]
		if asked > 0 && slices.Contains([]string{"v1/models", "tokenize", "v1/chat/completions"}, path) {
			fmt.Fprintf(&d.text, "  %s: %d requests\n", route, asked)
		}
	}
	d.requests = now
}

// hang is a handler that sends nothing.
func hang(_ http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body) // else net/http does not notice that the client has left
	<-r.Context().Done()
}
