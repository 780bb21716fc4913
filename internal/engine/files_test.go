package engine

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/llm-prober/prober/internal/config"
)

func writeFile(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestWhatAPipeHeld holds that a pipe serves all targets and every reload, as a file does: prober run --api-key-file
// <(pass llm).
func TestWhatAPipeHeld(t *testing.T) {
	path := filepath.Join(t.TempDir(), "key")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	written := make(chan error, 1)
	go func() { written <- os.WriteFile(path, []byte("sk-1\n"), 0o600) }()
	files := NewFiles()
	for range 2 {
		c, err := config.Load(config.Options{
			Environ:  map[string]string{"PROBER_API_KEY_FILE": path},
			URLs:     []string{"http://a", "http://b"},
			ReadFile: files.Read,
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, target := range c.Targets {
			if target.APIKey.Reveal() != "sk-1" {
				t.Errorf("%s has another key", target.Name)
			}
		}
		files = files.Next()
	}
	if err := <-written; err != nil {
		t.Error(err)
	}
}

// TestALoadAgreesWithItself holds that a file which changes while a configuration is made of it is seen as it was, and
// to have changed: of a client's certificate and its key, one may be new and the other old.
func TestALoadAgreesWithItself(t *testing.T) {
	path := filepath.Join(t.TempDir(), "set")
	read := func(f *Files) string {
		data, err := f.Read(path)
		if err != nil {
			t.Error(err)
		}
		return string(data)
	}
	writeFile(t, path, "the first set")
	files := NewFiles()
	first := read(files)
	writeFile(t, path, "another set altogether")
	if again := read(files); again != first {
		t.Errorf("%q after %q", again, first)
	}
	files.Changed() // changes count from the second look on
	if diff := cmp.Diff([]string{path}, files.Changed()); diff != "" {
		t.Errorf("changed files (-want +got):\n%s", diff)
	}
	if next := read(files.Next()); next == first {
		t.Errorf("%q once more", next)
	}
}

// TestChanged says what counts as another content.
func TestChanged(t *testing.T) {
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	for name, times := range map[string]int{"same": 1, "other": 1, "gone": 1, "large": large, "rewritten": large} {
		writeFile(t, path(name), strings.Repeat("1", times))
	}
	if err := syscall.Mkfifo(path("pipe"), 0o600); err != nil {
		t.Fatal(err)
	}

	f := NewFiles()
	for _, name := range []string{"same", "other", "gone", "new", "large", "rewritten"} {
		_, _ = f.Read(path(name))
	}
	f.looks[path("pipe")] = look(path("pipe")) // who reads it waits for a writer
	f.Changed()
	if changed := f.Changed(); len(changed) > 0 {
		t.Errorf("changed without a change: %v", changed)
	}

	writeFile(t, path("same"), "1")
	writeFile(t, path("other"), "2")
	writeFile(t, path("new"), "1")
	later := time.Now().Add(time.Second)
	err := errors.Join(
		os.Remove(path("gone")),
		os.Chtimes(path("same"), later, later),
		os.Chtimes(path("rewritten"), later, later),
	)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{path("gone"), path("new"), path("other"), path("rewritten")}
	f.Changed()
	if diff := cmp.Diff(want, f.Changed()); diff != "" {
		t.Errorf("changed files (-want +got):\n%s", diff)
	}
}

// TestWhatIsParsedOnce holds that a data set is parsed once for all groups that name it, serves after its content was
// released, and is taken over by the next load if it is the same, also past a load that failed. What no configuration
// names any more is forgotten.
func TestWhatIsParsedOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "set")
	target := config.Target{
		API: "auto", Server: "auto",
		Settings: config.Settings{QPS: 1, Prompt: "dataset", DatasetFile: path},
	}
	assemble := func(f *Files) *Job {
		t.Helper()
		jobs, err := Assemble([]config.Target{target}, f, nil, "test")
		if err != nil {
			t.Fatal(err)
		}
		return jobs[0]
	}
	const unlike, alike = false, true
	compare := func(what string, want bool, first, second *Job) {
		t.Helper()
		sameSet := &first.Prompts.Dataset[0] == &second.Prompts.Dataset[0]
		if sameSet != want || first.same(second) != want {
			t.Errorf("%s: same data set %v, same job %v; want %v", what, sameSet, first.same(second), want)
		}
	}

	writeFile(t, path, `{"prompt": "the first set"}`)
	files := NewFiles()
	first := assemble(files)
	files.Keep()
	files.Release()
	writeFile(t, path, `{"prompt": "the second set"}`)
	compare("the same load", alike, first, assemble(files))

	files = files.Next()
	second := assemble(files) // and is not put in force
	compare("another content", unlike, first, second)
	writeFile(t, path, `{"prompt": "the first set"}`)
	files = files.Next()
	compare("the load after it", alike, first, assemble(files))

	files = files.Next()
	files.Keep() // it named no data set
	third := assemble(files.Next())
	if &third.Prompts.Dataset[0] == &first.Prompts.Dataset[0] {
		t.Error("a data set that no configuration named was kept")
	}
}
