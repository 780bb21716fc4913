package daemon

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/llm-prober/prober/internal/engine"
)

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
		c, err := Load(configured([]string{"a", "b"}, "PROBER_API_KEY_FILE", path), engine.NewAssets(files.Read))
		if err != nil {
			t.Fatal(err)
		}
		for _, target := range c.Targets {
			if target.APIKey.Reveal() != "sk-1" {
				t.Errorf("%s has another key", target.Name)
			}
		}
		files = files.refresh()
	}
	if err := <-written; err != nil {
		t.Error(err)
	}
}

// TestASnapshotAgreesWithItself holds that a file which changes while a configuration is made of it is seen as it was,
// and to have changed: of a client's certificate and its key, one may be new and the other old.
func TestASnapshotAgreesWithItself(t *testing.T) {
	path := writeFile(t, t.TempDir(), "set", "the first set")
	files := NewFiles()
	assets := engine.NewAssets(files.Read)
	read := func(a *engine.Assets) string {
		data, err := a.Read(path)
		if err != nil {
			t.Error(err)
		}
		return string(data)
	}
	first := read(assets)
	writeFile(t, filepath.Dir(path), "set", "another set altogether")
	if again := read(assets); again != first {
		t.Errorf("%q after %q", again, first)
	}
	files.changed() // changes count from the second look on
	if diff := cmp.Diff([]string{path}, files.changed()); diff != "" {
		t.Errorf("changed files (-want +got):\n%s", diff)
	}
	if next := read(engine.NewAssets(files.refresh().Read)); next == first {
		t.Errorf("%q once more", next)
	}
}

// TestSnapshots says what counts as another content.
func TestSnapshots(t *testing.T) {
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	for name, times := range map[string]int{"same": 1, "other": 1, "gone": 1, "large": large, "rewritten": large} {
		writeFile(t, dir, name, strings.Repeat("1", times))
	}
	if err := syscall.Mkfifo(path("pipe"), 0o600); err != nil {
		t.Fatal(err)
	}

	f := NewFiles()
	for _, name := range []string{"same", "other", "gone", "new", "large", "rewritten"} {
		_, _ = f.Read(path(name))
	}
	f.held[path("pipe")] = look(path("pipe")) // who reads it waits for a writer
	f.changed()
	if changed := f.changed(); len(changed) > 0 {
		t.Errorf("changed without a change: %v", changed)
	}

	writeFile(t, dir, "same", "1")
	writeFile(t, dir, "other", "2")
	writeFile(t, dir, "new", "1")
	later := time.Now().Add(time.Second)
	err := errors.Join(os.Remove(path("gone")), os.Chtimes(path("same"), later, later), os.Chtimes(path("rewritten"), later, later))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{path("gone"), path("new"), path("other"), path("rewritten")}
	f.changed()
	if diff := cmp.Diff(want, f.changed()); diff != "" {
		t.Errorf("changed files (-want +got):\n%s", diff)
	}
}
