package daemon

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap/zapcore"

	"github.com/llm-prober/prober/internal/sim"
)

// TestReload holds that what did not change goes on, that what is gone ends, that a server need not teach its
// capabilities twice, and that a member of a group which is taken over because another one changed is seen at work.
func TestReload(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		grouped := []string{
			"PROBER_TARGETS_0_URL", "http://a", "PROBER_TARGETS_0_GROUP", "g",
			"PROBER_TARGETS_1_URL", "http://c", "PROBER_TARGETS_1_GROUP", "g",
		}
		w := newWorld(t, &Daemon{}, []string{"a", "b", "c"}, append(grouped, "PROBER_TARGETS_2_URL", "http://b")...)
		time.Sleep(time.Minute)
		w.mustReload(nil, grouped...)
		time.Sleep(time.Minute)
		w.expectSlots("a:80", "ok=12")
		w.expectTargets("a:80", "c:80")

		w.mustReload(nil, append(grouped, "PROBER_QPS", "0.2")...)
		synctest.Wait()
		w.expect("1", "llm_probe_target_info", `target="a:80"`, `server="vllm"`, `exact_output="yes"`, `continuous_usage="yes"`,
			`cached_tokens="yes"`, `tokenize="yes"`)
		w.expectPage("/api/v1/targets", `"server":"vllm"`, true)
		time.Sleep(time.Minute)
		w.expectSlots("a:80", "ok=24")
		w.expectText("llm_prober_config_last_reload_successful 1")

		w.mustReload(nil, append(grouped, "PROBER_QPS", "0.2", "PROBER_TARGETS_1_TIMEOUT", "100s")...)
		time.Sleep(time.Minute)
		w.fault("a", sim.Fault{Hang: true})
		time.Sleep(30 * time.Second)
		w.expect("1", "llm_probe_in_flight", `target="a:80"`)
	})
}

// TestReloadOfLabels holds that another value begins new series while the schedule goes on, and that another name needs
// a restart, which the log says: until then the series go on without it.
func TestReloadOfLabels(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, &Daemon{}, []string{"a"}, "PROBER_LABELS", "region=eu")
		time.Sleep(time.Minute)
		w.expect("1", "llm_probe_target_info", `region="eu",server="vllm",target="a:80"`)
		w.mustReload([]string{"a"}, "PROBER_LABELS", "region=us")
		time.Sleep(time.Minute)
		w.expectSlots("a:80", "ok=6")
		w.expect("6", "llm_probe_probes_total", `outcome="ok"`, `region="us",target="a:80"`)
		if sent := len(w.servers["a"].Sent()); sent != 12 {
			t.Errorf("%d probes in two minutes, want 12", sent)
		}
		const told = "the targets have labels of other names: restart, so that metrics have them"
		w.expectLogged(0, told)
		w.mustReload([]string{"a"}, "PROBER_LABELS", "region=us,team=search")
		w.expectLogged(1, told)
		time.Sleep(time.Minute)
		w.expectSlots("a:80", "ok=12")
		w.expectPage("/metrics", `team="`, false)
		w.expectPage("/api/v1/targets", `"labels":{"region":"us","team":"search"}`, true)
		w.expectPage("/api/v1/results?limit=1", `"labels":{"region":"us","team":"search"}`, true)
	})
}

// TestReloadOfWhatIsWrong holds that a wrong configuration changes nothing, and that everybody can see it. A page of
// another origin that is open in a browser which reaches the prober can make it POST, and is refused.
func TestReloadOfWhatIsWrong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, &Daemon{}, []string{"a"})
		time.Sleep(30 * time.Second)
		status, text := w.reload([]string{"a"}, "PROBER_QPS", "often", "PROBER_API_KEY", "sk-secret")
		if status != http.StatusInternalServerError || !strings.Contains(text, "PROBER_QPS") || strings.Contains(text, "sk-secret") {
			t.Errorf("%d %s", status, text)
		}
		time.Sleep(30 * time.Second)
		w.expectSlots("a:80", "ok=6")
		w.expectText("llm_prober_config_last_reload_successful 0")
		w.expectPage("/", " ago, keeping the previous one: ", true)
		w.expectPage("/", "PROBER_QPS=", true)
		w.options = configured([]string{"a"})
		for _, foreign := range [][]string{
			{"Sec-Fetch-Site", "cross-site"}, {"Sec-Fetch-Site", "same-site"}, {"Origin", "https://evil.example"},
		} {
			if status, text := w.ask(http.MethodPost, "/-/reload", foreign...); status != http.StatusForbidden {
				t.Errorf("with %s: %d %s", foreign, status, text)
			}
		}
		if status, text := w.ask(http.MethodPost, "/-/reload", "Origin", "http://prober"); status != http.StatusOK {
			t.Errorf("from the prober's own page: %d %s", status, text)
		}
		w.expectPage("/", "keeping the previous one", false)
	})
}

// TestBudgetsAreOfTargets holds that targets which share a server spend from budgets of their own, and that what one
// has spent of its day stays spent whatever changes about it: its length, its URL, or that it was away for a while.
func TestBudgetsAreOfTargets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		both := func(url string, more ...string) []string {
			return append(more,
				"PROBER_TARGETS_0_NAME", "cold", "PROBER_TARGETS_0_URL", url, "PROBER_TARGETS_0_TOKEN_BUDGET_PER_DAY", "850", // ten probes
				"PROBER_TARGETS_1_NAME", "warm", "PROBER_TARGETS_1_URL", "http://a", "PROBER_TARGETS_1_TOKEN_BUDGET_PER_DAY", "8500")
		}
		w := newWorld(t, &Daemon{}, []string{"a", "b"}, both("http://a")...)
		asked := func(when string, a, b int) {
			t.Helper()
			time.Sleep(3 * time.Minute)
			if gotA, gotB := len(w.servers["a"].Sent()), len(w.servers["b"].Sent()); gotA != a || gotB != b {
				t.Errorf("%s: %d and %d probes so far, want %d and %d", when, gotA, gotB, a, b)
			}
		}
		asked("at first", 10+18, 0)
		w.mustReload(nil, both("http://a", "PROBER_TIMEOUT", "100s")...)
		asked("after both changed", 10+2*18, 0)
		w.mustReload(nil, both("http://b", "PROBER_TIMEOUT", "100s")...)
		asked("after its server changed", 10+3*18, 0)
		w.mustReload([]string{"a"})
		time.Sleep(time.Minute)
		w.mustReload(nil, both("http://b")...)
		asked("after it was away", 10+3*18+6+18, 0)
	})
}

// TestReloadAtTheEnd holds that nobody waits for a reload that does not come while the last probes end.
func TestReloadAtTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, &Daemon{Drain: 10 * time.Second}, []string{"a"})
		w.fault("a", sim.Fault{Hang: true})
		time.Sleep(15 * time.Second)
		w.stop()
		synctest.Wait()
		stopped := time.Now()
		status, text := w.reload([]string{"a"})
		if status != http.StatusServiceUnavailable || time.Since(stopped) > 0 {
			t.Errorf("%d %s after %v", status, text, time.Since(stopped))
		}
	})
}

// TestReloadUnderLoad reloads while 40 targets are probed once a second: 20 change, 10 go, 10 stay as they are. Every
// request that a server got is counted once, no series begins anew, and what did not change misses no slot. A goroutine
// that is left fails the bubble.
func TestReloadUnderLoad(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir, hosts := t.TempDir(), []string(nil)
		for n := range 40 {
			hosts = append(hosts, fmt.Sprintf("h%02d", n))
		}
		write := func(settings ...string) string {
			t.Helper()
			text := "targets:\n"
			for n, host := range hosts {
				if given := settings[n%len(settings)]; given != "-" {
					text += fmt.Sprintf("- {name: %s, url: \"http://%s\"%s}\n", host, host, given)
				}
			}
			return writeFile(t, dir, "targets.yaml", text)
		}
		w := newWorld(t, &Daemon{}, hosts, "PROBER_QPS", "1", "PROBER_TARGETS_FILE", write(""), "PROBER_RELOAD_INTERVAL", "1s")
		time.Sleep(5*time.Second + 300*time.Millisecond)

		changed := time.Now()
		write("", ", timeout: 100s", ", max_tokens: 6", "-")
		time.Sleep(5*time.Second - 300*time.Millisecond)
		w.expectLogged(1, "reloaded")

		recorded := map[string]int{}
		for _, entry := range w.logs.FilterMessage("probe").All() {
			recorded[entry.ContextMap()["target"].(string)]++
		}
		page := w.get("/metrics")
		for n, host := range hosts {
			sent, underWay := len(w.servers[host].Sent()), seriesOf(page, "llm_probe_in_flight", `target="`+host+`"`)
			if n%4 == 3 {
				if underWay != "" || recorded[host] != sent {
					t.Errorf("%s is gone: it got %d requests, %d are recorded and %q under way", host, sent, recorded[host], underWay)
				}
				continue
			}
			counted, wanted := slots(page, host), fmt.Sprintf("ok=%d", recorded[host])
			if counted != wanted || fmt.Sprint(sent-recorded[host]) != underWay || sent < 8 {
				t.Errorf("%s got %d requests: %s is counted, %s recorded, %s under way", host, sent, counted, wanted, underWay)
			}
			if last, ok := w.fitted.Load(host); !ok || last.(time.Time).After(changed) != (n%4 != 0) {
				t.Errorf("%s was fitted last at %v, the change was at %v", host, last, changed)
			}
			if n%4 == 0 && sent != 10 {
				t.Errorf("%s did not change and was asked %d times in ten seconds, want 10", host, sent)
			}
		}
	})
}

// A mount is a directory as Kubernetes mounts a ConfigMap or a Secret: the files are links into ..data, which is a link
// to a directory that is replaced as a whole.
type mount struct {
	t    *testing.T
	path string
	n    int
}

func newMount(t *testing.T, name, content string) *mount {
	t.Helper()
	m := &mount{t: t, path: t.TempDir()}
	m.swap(name, content)
	m.must(os.Symlink(filepath.Join("..data", name), m.file(name)))
	return m
}

func (m *mount) file(name string) string { return filepath.Join(m.path, name) }

// swap replaces all files by one, as the kubelet does.
func (m *mount) swap(name, content string) {
	m.t.Helper()
	m.n++
	old, _ := os.Readlink(m.file("..data"))
	next := "..2026_" + strings.Repeat("x", m.n)
	m.must(os.Mkdir(m.file(next), 0o755))
	writeFile(m.t, m.file(next), name, content)
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
func watched(t *testing.T) (*world, *mount) {
	t.Helper()
	m := newMount(t, "targets.yaml", twoTargets)
	return newWorld(t, &Daemon{}, []string{"a", "b", "c"}, "PROBER_TARGETS_FILE", m.file("targets.yaml")), m
}

// TestAChangedFileIsTakenUp holds that a targets file in a ConfigMap needs no reload by hand, and that it is read when
// it changed and not else. A wrong one changes nothing, is told of once, and the way back is found: also from a pipe,
// without waiting for its data.
func TestAChangedFileIsTakenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, m := watched(t)
		time.Sleep(time.Minute)
		m.swap("targets.yaml", twoTargets)
		time.Sleep(time.Minute)
		w.expectLogged(0, "reloaded")

		m.swap("targets.yaml", strings.ReplaceAll(twoTargets, "b", "c"))
		time.Sleep(11 * time.Second) // two looks
		w.expectTargets("a", "c")
		time.Sleep(49 * time.Second)
		w.expectSlots("a", "ok=18")
		w.expectLogged(1, "reloaded")
		w.expectText("llm_prober_config_last_reload_successful 1")

		for n, bad := range []string{"targets: 3", twoTargets + "qps: fast\n", "pipe"} {
			m.swap("targets.yaml", bad)
			if bad == "pipe" {
				m.must(os.Remove(m.file("..data/targets.yaml")))
				m.must(syscall.Mkfifo(m.file("..data/targets.yaml"), 0o600))
			}
			time.Sleep(time.Minute)
			w.expectText("llm_prober_config_last_reload_successful 0")
			w.expectLogged(n+1, "configuration rejected, keeping the previous one")
		}
		w.expectSlots("a", "ok=36")
		m.swap("targets.yaml", twoTargets)
		time.Sleep(time.Minute)
		w.expectText("llm_prober_config_last_reload_successful 1")
		w.expectTargets("a", "b")
	})
}

// TestAFileThatIsBeingReplaced holds that neither a file that is away for a moment nor one half of which is written
// ends any target, and that one which stays away is told of.
func TestAFileThatIsBeingReplaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, m := watched(t)
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
		w.expectLogged(0, "files changed")
		m.must(os.Remove(path))
		time.Sleep(10 * time.Second)
		w.expectText("llm_prober_config_last_reload_successful 0")
	})
}

// TestAKeyIsRotated holds that a new key in the file of the old one is used without a restart, that the series go on,
// and that the new client need not be asked again for its capabilities nor has more tokens to spend.
func TestAKeyIsRotated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMount(t, "key", "sk-old")
		w := newWorld(t, &Daemon{}, []string{"a"}, "PROBER_API_KEY_FILE", m.file("key"), "PROBER_TOKEN_BUDGET_PER_DAY", "850") // ten probes
		time.Sleep(time.Minute)
		w.expectSlots("a:80", "ok=6")
		m.swap("key", "sk-new")
		time.Sleep(20 * time.Second)
		if last, _ := w.requests.Load("a"); last.(*http.Request).Header.Get("Authorization") != "Bearer sk-new" {
			t.Error("the server does not see the new key")
		}
		w.expectLogged(1, "reloaded")
		w.expect("1", "llm_probe_target_info", `target="a:80"`, `exact_output="yes"`)
		time.Sleep(10 * time.Minute)
		w.expectSlots("a:80", "ok=10 budget=58")
	})
}

// TestAKeyBesideTheTargetsFileIsRotated holds that a file which the targets file names is read from its folder,
// wherever the prober runs, and watched there; and that a reload which costs too much is refused as any other that is
// wrong.
func TestAKeyBesideTheTargetsFileIsRotated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		const targets = "api_key_file: keys/a\ntargets:\n- {name: a, url: http://a}\n"
		if err := os.Mkdir(filepath.Join(dir, "keys"), 0o700); err != nil {
			t.Fatal(err)
		}
		writeFile(t, dir, "keys/a", "sk-old")
		w := newWorld(t, &Daemon{}, []string{"a"}, "PROBER_TARGETS_FILE", writeFile(t, dir, "targets.yaml", targets))
		expectKey := func(want string) {
			t.Helper()
			if last, ok := w.requests.Load("a"); !ok || last.(*http.Request).Header.Get("Authorization") != "Bearer "+want {
				t.Errorf("the server does not see %s", want)
			}
		}
		time.Sleep(time.Minute)
		expectKey("sk-old")
		writeFile(t, dir, "keys/a", "sk-new")
		time.Sleep(30 * time.Second)
		w.expectLogged(1, "reloaded")
		expectKey("sk-new")

		writeFile(t, dir, "targets.yaml", targets+"qps: 300\n")
		time.Sleep(30 * time.Second)
		w.expectText("llm_prober_config_last_reload_successful 0")
		w.expectPage("/", "tokens a day", true)
		w.expectSlots("a", "ok=12")
	})
}

// TestALowRateStarts holds that the default objective, which cannot page at a low rate, is a warning at the start and
// in a reload, and that one that was written is refused there.
func TestALowRateStarts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, &Daemon{}, []string{"a"}, "PROBER_QPS", "0.001")
		warned := func(want int) {
			t.Helper()
			got := 0
			for _, entry := range w.logs.FilterMessage("configuration").All() {
				text, _ := entry.ContextMap()["warning"].(string)
				if entry.Level == zapcore.WarnLevel && strings.Contains(text,
					"want a goal of at most 0.942, or at least 0.0058 probes per second") {
					got++
				}
			}
			if got != want {
				t.Errorf("warned %d times, want %d: %v", got, want, w.logs.FilterMessage("configuration").All())
			}
		}
		warned(1)
		time.Sleep(time.Hour)
		w.expectSlots("a:80", "ok=4")
		w.mustReload([]string{"a"}, "PROBER_QPS", "0.001", "PROBER_TIMEOUT", "100s")
		warned(2)
		if status, text := w.reload([]string{"a"}, "PROBER_QPS", "0.001", "PROBER_OBJECTIVES_0_GOAL",
			"0.99"); status != http.StatusInternalServerError {
			t.Errorf("%d %s", status, text)
		}
	})
}
