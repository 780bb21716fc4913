package files

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
	"github.com/llm-prober/prober/internal/wire"
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
	files := New()
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
	files := New()
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

	f := New()
	for _, name := range []string{"same", "other", "gone", "new", "large", "rewritten"} {
		_, _ = f.Read(path(name))
	}
	f.contents[path("pipe")] = content{before: lookAt(path("pipe"))} // who reads it waits for a writer
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

// TestALargeFileIsNotReadToLookAtIt holds that a file of a megabyte has changed if its size or its time has, and a
// smaller one if its content has.
func TestALargeFileIsNotReadToLookAtIt(t *testing.T) {
	const size = 1 << 20
	for size, want := range map[int]bool{size - 1: true, size: false} {
		path := filepath.Join(t.TempDir(), "set")
		writeFile(t, path, strings.Repeat("a", size))
		written := time.Now()
		setTime := func(to time.Time) {
			if err := os.Chtimes(path, to, to); err != nil {
				t.Fatal(err)
			}
		}
		setTime(written)
		files := New()
		_, err := files.Read(path)
		if err != nil {
			t.Fatal(err)
		}
		writeFile(t, path, strings.Repeat("b", size))
		setTime(written)
		files.Changed()
		if got := len(files.Changed()) > 0; got != want {
			t.Errorf("another content of %d bytes has changed: %t, want %t", size, got, want)
		}
		setTime(written.Add(time.Second))
		files.Changed()
		if len(files.Changed()) == 0 {
			t.Errorf("another time of %d bytes is no change", size)
		}
	}
}

// TestWhatIsParsedOnce holds that a data set is parsed once for all targets that name it, serves after its content was
// released, and is taken over by the next load if it is the same, also past a load that failed. What no configuration
// names any more is forgotten.
func TestWhatIsParsedOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "set")
	target := config.Target{Prompt: "dataset", DatasetFile: path}
	parse := func(f *Files) *wire.Turn {
		t.Helper()
		set, err := f.DataSet(target)
		if err != nil {
			t.Fatal(err)
		}
		return &set[0][0]
	}

	writeFile(t, path, `{"prompt": "the first set"}`)
	files := New()
	first := parse(files)
	files.Keep()
	files.Release()
	writeFile(t, path, `{"prompt": "the second set"}`)
	if parse(files) != first {
		t.Error("one load parsed a file twice")
	}

	files = files.Next()
	if parse(files) == first {
		t.Error("another content is the same data set")
	}
	writeFile(t, path, `{"prompt": "the first set"}`)
	files = files.Next() // the load before it is not put in force
	if parse(files) != first {
		t.Error("the data set in force was parsed again")
	}

	files = files.Next()
	files.Keep() // it named no data set
	if parse(files.Next()) == first {
		t.Error("a data set that no configuration named was kept")
	}
}
