package check

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/tools/txtar"

	"github.com/llm-prober/prober/internal/config"
	"github.com/llm-prober/prober/internal/engine"
	"github.com/llm-prober/prober/internal/files"
	"github.com/llm-prober/prober/internal/length"
	"github.com/llm-prober/prober/internal/probe"
	"github.com/llm-prober/prober/internal/report"
	"github.com/llm-prober/prober/internal/sim"
	"github.com/llm-prober/prober/internal/testing/golden"
	"github.com/llm-prober/prober/internal/testing/memconn"
)

// A scene is a file of testdata: in its comment what it shows, in "settings" the variables of the configuration, one a
// line and without their prefix, and a file for each route that the server answers, status line and header included.
// Without any route it is the simulated server.
type scene struct {
	settings map[string]string
	routes   map[string][]string // by method and path: the answers in their order, of which the last one is repeated
}

// readScene reads a file of testdata.
func readScene(t *testing.T, path string) scene {
	t.Helper()
	archive, err := txtar.ParseFile(path)
	if err != nil {
		t.Fatal(err)
	}
	s := scene{settings: map[string]string{}, routes: map[string][]string{}}
	for _, file := range archive.Files {
		if file.Name != "settings" {
			s.routes[file.Name] = append(s.routes[file.Name], string(file.Data))
			continue
		}
		for line := range strings.Lines(string(file.Data)) {
			name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
			s.settings["PROBER_"+name] = value
		}
	}
	return s
}

// ServeHTTP answers with the file of the route, a second after the request. Other routes are not found.
func (s scene) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	time.Sleep(time.Second)
	route := r.Method + " " + r.URL.Path
	answers := s.routes[route]
	if len(answers) == 0 {
		http.NotFound(w, r)
		return
	}
	if len(answers) > 1 {
		s.routes[route] = answers[1:] // requests come one after another
	}
	answer, err := http.ReadResponse(bufio.NewReader(strings.NewReader(answers[0])), nil)
	if err != nil {
		panic(err)
	}
	maps.Copy(w.Header(), answer.Header)
	w.WriteHeader(answer.StatusCode)
	_, _ = io.Copy(w, answer.Body)
}

// handler returns the server of a scene.
func (s scene) handler(t *testing.T) http.Handler {
	t.Helper()
	if len(s.routes) > 0 {
		return s
	}
	profile, err := sim.ParseProfile("fast")
	if err != nil {
		t.Fatal(err)
	}
	profile.MaxModelLen = 32768
	simulated := sim.New(sim.Config{Profile: profile, Seed: 1})
	t.Cleanup(simulated.Close)
	return simulated
}

// check checks the targets of a scene in virtual time. It returns the lines and the report.
func (s scene) check(t *testing.T, quick bool) (text string, r *Report) {
	t.Helper()
	loaded, err := config.Load(config.Options{Environ: s.settings})
	if err != nil {
		t.Fatal(err)
	}
	var lines bytes.Buffer
	r = runOn(t.Context(), t, memconn.Serve(t, s.handler(t)).Dial, loaded, Options{Quick: quick, Lines: &lines})
	return lines.String(), r
}

// runOn checks the targets of a configuration, until ctx is done.
func runOn(ctx context.Context, t *testing.T, dial probe.Dial, loaded *config.Config, o Options) *Report {
	t.Helper()
	jobs, err := engine.Assemble(loaded.Targets, files.New(), length.NewBook(), dial, "test")
	if err != nil {
		t.Fatal(err)
	}
	o.Problems = loaded.Problems()
	o.Rejected = loaded.Rejected
	r := Run(ctx, jobs, o)
	for _, j := range jobs {
		j.Close()
	}
	return r
}

// TestChecks holds what is printed about each scene. Of those whose name ends in "_quick", the check is a quick one.
func TestChecks(t *testing.T) {
	scenes, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(scenes) == 0 {
		t.Fatalf("no scenes (%v)", err)
	}
	for _, path := range scenes {
		name := strings.TrimSuffix(path, ".txtar")
		t.Run(filepath.Base(name), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				text, r := readScene(t, path).check(t, strings.HasSuffix(name, "_quick"))
				golden.Equal(t, name+".txt", fmt.Sprintf("%spassed: %t\n", text, r.Passed))
			})
		})
	}
}

// TestDocument holds the JSON form of a check in which one target passes and the configuration of another was wrong.
func TestDocument(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, r := readScene(t, "testdata/vllm.txtar").check(t, false)
		var document bytes.Buffer
		if err := report.Encode(&document, "  ", r); err != nil {
			t.Fatal(err)
		}
		golden.Equal(t, "testdata/vllm.json", document.String())
	})
}
