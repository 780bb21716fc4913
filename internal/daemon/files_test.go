package daemon

import (
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/llm-prober/prober/internal/config"
	"github.com/llm-prober/prober/internal/engine"
)

// A mount is a directory as Kubernetes mounts a ConfigMap or a Secret: the files are links into ..data, which is a link
// to a directory that is replaced as a whole.
type mount struct {
	t    *testing.T
	path string
	n    int
}

func newMount(t *testing.T, files map[string]string) *mount {
	t.Helper()
	m := &mount{t: t, path: t.TempDir()}
	m.swap(files)
	for name := range files {
		m.must(os.Symlink(filepath.Join("..data", name), m.file(name)))
	}
	return m
}

func (m *mount) file(name string) string { return filepath.Join(m.path, name) }

// swap replaces the content of all files at once, as the kubelet does.
func (m *mount) swap(files map[string]string) {
	m.t.Helper()
	m.n++
	old, _ := os.Readlink(m.file("..data"))
	next := "..2026_" + strings.Repeat("x", m.n)
	m.must(os.Mkdir(m.file(next), 0o755))
	for name, content := range files {
		m.must(os.WriteFile(m.file(filepath.Join(next, name)), []byte(content), 0o600))
	}
	m.must(os.Symlink(next, m.file("..data_tmp")))
	m.must(os.Rename(m.file("..data_tmp"), m.file("..data")))
	if old != "" {
		m.must(os.RemoveAll(m.file(old)))
	}
}

func (m *mount) must(err error) {
	m.t.Helper()
	if err != nil {
		m.t.Fatal(err)
	}
}

const twoTargets = "targets:\n- {name: a, url: http://a}\n- {name: b, url: http://b}\n"

// watched starts an instance with a targets file in a mount.
func watched(t *testing.T, files map[string]string) (*world, *mount) {
	t.Helper()
	m := newMount(t, files)
	environ := settings("0.1")
	environ["PROBER_TARGETS_FILE"] = m.file("targets.yaml")
	return newWorld(t, time.Second, []string{"a", "b", "c"}, environ), m
}

// TestAChangedFileIsTakenUp holds that a targets file in a ConfigMap needs no reload by hand, and that it is read when
// it changed and not else.
func TestAChangedFileIsTakenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, m := watched(t, map[string]string{"targets.yaml": twoTargets})
		time.Sleep(time.Minute)
		m.swap(map[string]string{"targets.yaml": twoTargets})
		time.Sleep(time.Minute)
		if n := w.logged("reloaded"); n != 0 {
			t.Errorf("%d reloads of what did not change", n)
		}

		m.swap(map[string]string{"targets.yaml": strings.ReplaceAll(twoTargets, "b", "c")})
		time.Sleep(11 * time.Second) // two looks
		w.expect("", "llm_probe_interval_seconds", `target="b"`)
		w.expect("10", "llm_probe_interval_seconds", `target="c"`)
		time.Sleep(49 * time.Second)
		w.expect("18", "llm_probe_probes_total", `target="a"`, `outcome="ok"`)
		if n := w.logged("reloaded"); n != 1 {
			t.Errorf("%d reloads of one change", n)
		}
		w.expectText("llm_prober_config_last_reload_successful 1")
	})
}

// TestABadFileIsReadOnce holds that a wrong file changes nothing, can be seen, is told of once, and that the way back
// is found.
func TestABadFileIsReadOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, m := watched(t, map[string]string{"targets.yaml": twoTargets})
		for n, bad := range []string{"targets: 3", "targets: [", twoTargets + "qps: fast\n"} {
			m.swap(map[string]string{"targets.yaml": bad})
			time.Sleep(time.Minute)
			w.expectText("llm_prober_config_last_reload_successful 0")
			if got := w.logged("reload failed; keeping the current configuration"); got != n+1 {
				t.Errorf("%d complaints of %d bad files", got, n+1)
			}
		}
		m.swap(map[string]string{"targets.yaml": twoTargets})
		time.Sleep(time.Minute)
		w.expectText("llm_prober_config_last_reload_successful 1")
		w.expect("24", "llm_probe_probes_total", `target="a"`, `outcome="ok"`)
	})
}

// TestAFileThatIsBeingReplaced holds that neither a file that is away for a moment nor one half of which is written
// ends any target, and that one which stays away is told of.
func TestAFileThatIsBeingReplaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, m := watched(t, map[string]string{"targets.yaml": twoTargets})
		path := m.file("..data/targets.yaml")
		time.Sleep(2 * time.Second)
		for range 3 {
			m.must(os.Remove(path))
			time.Sleep(5 * time.Second) // one look
			m.must(os.WriteFile(path, []byte(twoTargets[:40]), 0o600))
			time.Sleep(5 * time.Second)
			m.must(os.WriteFile(path, []byte(twoTargets), 0o600))
			time.Sleep(30 * time.Second)
		}
		if n := w.logged("files changed"); n != 0 {
			t.Errorf("%d changes seen", n)
		}
		w.expectText("llm_prober_config_last_reload_successful 1")

		m.must(os.Remove(path))
		time.Sleep(10 * time.Second)
		w.expectText("llm_prober_config_last_reload_successful 0")
		m.must(os.WriteFile(path, []byte(twoTargets), 0o600))
		time.Sleep(10 * time.Second)
		w.expectText("llm_prober_config_last_reload_successful 1")
	})
}

// TestAKeyIsRotated holds that a new key in the file of the old one is used without a restart, that the series go on,
// and that the new client need not be asked again for its capabilities nor has more tokens to spend.
func TestAKeyIsRotated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMount(t, map[string]string{"key": "sk-old"})
		environ := settings("0.1")
		environ["PROBER_API_KEY_FILE"] = m.file("key")
		environ["PROBER_TOKEN_BUDGET_PER_DAY"] = "850" // ten probes
		w := newWorld(t, time.Second, []string{"a"}, environ)
		time.Sleep(time.Minute)
		w.expect("6", "llm_probe_probes_total", `target="a:80"`, `outcome="ok"`)
		m.swap(map[string]string{"key": "sk-new"})
		time.Sleep(20 * time.Second)
		if last, _ := w.headers.Load("a"); last.(http.Header).Get("Authorization") != "Bearer sk-new" {
			t.Error("the server does not see the new key")
		}
		if n := w.logged("reloaded"); n != 1 {
			t.Errorf("%d reloads", n)
		}
		w.expect("1", "llm_probe_target_info", `target="a:80"`, `exact_output="yes"`)
		time.Sleep(10 * time.Minute)
		w.expect("10", "llm_probe_probes_total", `target="a:80"`, `outcome="ok"`)
	})
}

// TestAFileThatBecomesAPipe checks that a reload does not wait for data in a pipe: the prober goes on, says so, and
// ends when it is told to.
func TestAFileThatBecomesAPipe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, m := watched(t, map[string]string{"targets.yaml": twoTargets})
		path := m.file("..data/targets.yaml")
		m.must(os.Remove(path))
		m.must(syscall.Mkfifo(path, 0o600))
		time.Sleep(time.Minute)
		w.expectText("llm_prober_config_last_reload_successful 0")
		w.expect("6", "llm_probe_probes_total", `target="a"`, `outcome="ok"`)
	})
}

// TestWhatAPipeHeld holds that a pipe serves all targets and every reload, as a file does: prober run --api-key-file
// <(pass llm).
func TestWhatAPipeHeld(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "key")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	written := make(chan error, 1)
	go func() { written <- os.WriteFile(path, []byte("sk-1\n"), 0o600) }()
	environ := settings("1")
	environ["PROBER_API_KEY_FILE"] = path
	files := NewFiles()
	for range 2 {
		c, err := Load(config.Options{Environ: environ, URLs: urls([]string{"a", "b"})}, engine.NewAssets(files.Read))
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
	path := writeFile(t, t.TempDir(), "book", "the first book")
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
	writeFile(t, filepath.Dir(path), "book", "another book altogether")
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
	for name, times := range map[string]int{"same": 1, "other": 1, "gone": 1, "book": large, "rewritten": large} {
		writeFile(t, dir, name, strings.Repeat("1", times))
	}
	if err := syscall.Mkfifo(path("pipe"), 0o600); err != nil {
		t.Fatal(err)
	}

	f := NewFiles()
	for _, name := range []string{"same", "other", "gone", "new", "book", "rewritten"} {
		_, _ = f.Read(path(name))
	}
	f.held[path("pipe")] = withoutReading(path("pipe")) // who reads it waits for a writer
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
