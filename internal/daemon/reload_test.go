package daemon

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/zap/zapcore"

	"github.com/llm-prober/prober/internal/sim"
	"github.com/llm-prober/prober/internal/testing/exposition"
	"github.com/llm-prober/prober/internal/testing/simnet"
)

// TestWarningsAreLogged holds that what is legal and probably not meant is a warning at the start and in each reload.
func TestWarningsAreLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		prober := start(t, simnet.New(t, "a"), &Daemon{}, "PROBER_QPS", "0.001") // at which the default goal cannot page
		prober.expectLogged(1, "configuration")
		prober.mustReload([]string{"a"}, "PROBER_QPS", "0.001")
		prober.expectLogged(2, "configuration")
		for _, entry := range prober.logs.FilterMessage("configuration").All() {
			expectEqual(t, "level", entry.Level, zapcore.WarnLevel)
		}
	})
}

// TestReloadOfLabels holds that another value begins new series while the schedule goes on, and that another name needs
// a restart, which the log says: until then the series go on without it.
func TestReloadOfLabels(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hosts := simnet.New(t, "a")
		prober := start(t, hosts, &Daemon{}, "PROBER_LABELS", "region=eu")
		time.Sleep(time.Minute)
		prober.expectMetrics(map[string]float64{`llm_probe_probes_total{target="a:80",outcome="ok",region="eu"}`: 6})
		prober.mustReload([]string{"a"}, "PROBER_LABELS", "region=us")
		time.Sleep(time.Minute)
		prober.expectMetrics(map[string]float64{`llm_probe_probes_total{target="a:80",outcome="ok",region="us"}`: 6})
		expectEqual(t, "probes in two minutes", len(hosts.Simulator("a").Sent()), 12)

		const told = "the names of labels have changed: restart the prober, so that its metrics have them"
		prober.expectLogged(0, told)
		prober.mustReload([]string{"a"}, "PROBER_LABELS", "region=us,team=search")
		prober.expectLogged(1, told)
		time.Sleep(time.Minute)
		prober.expectMetrics(map[string]float64{`llm_probe_probes_total{target="a:80",outcome="ok",region="us"}`: 12})
		prober.expectNotShown("/metrics", `team="`)
		prober.expectShown("/api/v1/targets", `"labels":{"region":"us","team":"search"}`)
		prober.expectShown("/api/v1/results?limit=1", `"labels":{"region":"us","team":"search"}`)
	})
}

// TestVantage holds that the vantage is on /metrics, the page and the API, as where people find the page and Grafana
// are, and that another one needs a restart, which the log says.
func TestVantage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hosts := simnet.New(t, "a")
		prober := start(t, hosts, &Daemon{}, "PROBER_VANTAGE", "eu-1",
			"PROBER_EXTERNAL_URL", "https://prober.example", "PROBER_GRAFANA_URL", "https://grafana.example")
		time.Sleep(time.Minute)
		const probed = `llm_probe_probes_total{target="a:80",outcome="ok",vantage="eu-1"}`
		prober.expectMetrics(map[string]float64{probed: 6})
		prober.expectShown("/", "vantage <bdi>eu-1</bdi>")
		prober.expectShown("/", "https://grafana.example")
		prober.expectShown("/metrics", `external_url="https://prober.example"`)
		prober.expectShown("/api/v1/targets", `"vantage":"eu-1"`)
		prober.mustReload([]string{"a"}, "PROBER_VANTAGE", "us-1")
		prober.expectLogged(1, "changed settings that take effect only with a restart")
		time.Sleep(time.Minute)
		prober.expectMetrics(map[string]float64{probed: 12})
	})
}

// TestReloadOfADisabledTarget holds that a target which is disabled keeps its series and its results, and is not due,
// and that it goes on where it was.
func TestReloadOfADisabledTarget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hosts := simnet.New(t, "a")
		prober := start(t, hosts, &Daemon{})
		const probed, enabled = `llm_probe_probes_total{target="a:80",outcome="ok"}`, `llm_probe_enabled{target="a:80"}`
		time.Sleep(time.Minute)
		prober.expectMetrics(map[string]float64{probed: 6, enabled: 1, `llm_probe_interval_seconds{target="a:80"}`: 10})

		prober.mustReload(nil, "PROBER_TARGETS_0_URL", "http://a", "PROBER_TARGETS_0_ENABLED", "off")
		time.Sleep(time.Minute)
		prober.expectMetrics(map[string]float64{probed: 6, enabled: 0})
		prober.expectNotShown("/metrics", "llm_probe_interval_seconds{")
		prober.expectSlots("a:80", "ok=6")
		prober.expectShown("/api/v1/targets", `"state":"disabled"`)
		prober.expectShown("/", ": 6 of 6 ok")
		prober.expectReady(true)

		prober.mustReload([]string{"a"})
		time.Sleep(time.Minute)
		prober.expectMetrics(map[string]float64{probed: 12, enabled: 1})
		expectEqual(t, "probes", len(hosts.Simulator("a").Sent()), 12)
	})
}

// TestReloadOfObjectives holds that a target can be given objectives of its own while its schedule goes on, and that
// others keep theirs.
func TestReloadOfObjectives(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		targets := []string{"PROBER_TARGETS_0_URL", "http://a", "PROBER_TARGETS_1_URL", "http://b"}
		hosts := simnet.New(t, "a", "b")
		prober := start(t, hosts, &Daemon{}, targets...)
		time.Sleep(time.Minute)
		own := []string{
			"PROBER_TARGETS_0_OBJECTIVES_0_NAME", "fast", "PROBER_TARGETS_0_OBJECTIVES_0_SIGNAL", "e2el",
			"PROBER_TARGETS_0_OBJECTIVES_0_LIMIT", "9s", "PROBER_TARGETS_0_OBJECTIVES_0_GOAL", "0.9",
		}
		prober.mustReload(nil, append(own, targets...)...)
		time.Sleep(time.Minute)
		prober.expectMetrics(map[string]float64{
			`llm_probe_objective_goal_ratio{target="a:80",objective="fast"}`:                          0.9,
			`llm_probe_objective_limit_seconds{target="a:80",objective="fast"}`:                       9,
			`llm_probe_objective_events_total{target="a:80",objective="fast",verdict="good"}`:         6,
			`llm_probe_objective_goal_ratio{target="b:80",objective="availability"}`:                  0.99,
			`llm_probe_objective_events_total{target="b:80",objective="availability",verdict="good"}`: 12,
		})
		prober.expectNotShown("/metrics", `objective="fast",prompt="cold",target="b:80"`)
		prober.expectNotShown("/metrics", `objective="availability",prompt="cold",target="a:80"`)
		expectEqual(t, "probes of a in two minutes", len(hosts.Simulator("a").Sent()), 12)
	})
}

// TestReloadOfWhatIsWrong holds that a wrong configuration changes nothing, and that everybody can see it. A page of
// another origin that is open in a browser which reaches the prober can make it POST, and is refused.
func TestReloadOfWhatIsWrong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		servers := simnet.New(t, "a")
		prober := start(t, servers, &Daemon{})
		time.Sleep(30 * time.Second)
		prober.options = configured([]string{"a"}, "PROBER_QPS", "often", "PROBER_API_KEY", "sk-secret")
		status, text := prober.ask(http.MethodPost, "/-/reload")
		if status != http.StatusInternalServerError || !strings.Contains(text, "PROBER_QPS") ||
			strings.Contains(text, "sk-secret") {
			t.Errorf("%d %s", status, text)
		}
		time.Sleep(30 * time.Second)
		prober.expectSlots("a:80", "ok=6")
		prober.expectLastReload(false)
		prober.expectShown("/", " ago, keeping the previous one: ")
		prober.expectShown("/", "PROBER_QPS=")
		prober.options = configured([]string{"a"})
		for _, foreign := range [][]string{
			{"Sec-Fetch-Site", "cross-site"}, {"Sec-Fetch-Site", "same-site"}, {"Origin", "https://evil.example"},
		} {
			if status, text := prober.ask(http.MethodPost, "/-/reload", foreign...); status != http.StatusForbidden {
				t.Errorf("with %s: %d %s", foreign, status, text)
			}
		}
		if status, text := prober.ask(http.MethodPost, "/-/reload", "Origin", "http://prober"); status != http.StatusOK {
			t.Errorf("from the prober's own page: %d %s", status, text)
		}
		prober.expectNotShown("/", "keeping the previous one")
	})
}

// TestReloadBySignal holds that SIGHUP reloads, and that settings which take effect only with a restart are named.
func TestReloadBySignal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hangups := make(chan os.Signal)
		prober := start(t, simnet.New(t, "a"), &Daemon{Hangups: hangups})
		prober.options = configured([]string{"a"}, "PROBER_DNS_INTERVAL", "1m", "PROBER_LOG_LEVEL", "warn")
		hangups <- syscall.SIGHUP
		synctest.Wait()
		prober.expectLogged(1, "reloaded")
		const restart = "changed settings that take effect only with a restart"
		prober.expectLogged(1, restart)
		expectEqual(t, "settings", prober.logs.FilterMessage(restart).All()[0].ContextMap(),
			map[string]any{"settings": []any{"PROBER_LOG_LEVEL", "PROBER_DNS_INTERVAL"}})
	})
}

// TestReloadAtTheEnd holds that nobody waits for a reload that does not come while the last probes end.
func TestReloadAtTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		servers := simnet.New(t, "a")
		prober := start(t, servers, &Daemon{Grace: 10 * time.Second})
		servers.Fail("a", sim.Fault{Hang: true})
		time.Sleep(15 * time.Second)
		prober.stop()
		synctest.Wait()
		stopped := time.Now()
		status, text := prober.ask(http.MethodPost, "/-/reload")
		if status != http.StatusServiceUnavailable || time.Since(stopped) > 0 {
			t.Errorf("%d %s after %v", status, text, time.Since(stopped))
		}
	})
}

// TestReloadUnderLoad reloads while twelve targets are probed once a second. Of four, one stays as it is, two change
// and one goes. Every request that a server got is counted once, no series begins anew, a target that did not change
// misses no slot, and only one with other prompts is calibrated again. A goroutine that is left fails the bubble.
func TestReloadUnderLoad(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir, hosts := t.TempDir(), []string(nil)
		for n := range 12 {
			hosts = append(hosts, fmt.Sprintf("h%02d", n))
		}
		const removed = "-"
		write := func(settings ...string) (path string) {
			text := "targets:\n"
			for n, host := range hosts {
				more := settings[n%len(settings)]
				if more != removed {
					text += fmt.Sprintf("- {name: %s, url: \"http://%s\"%s}\n", host, host, more)
				}
			}
			return writeFile(t, dir, "targets.yaml", text)
		}
		servers := simnet.New(t, hosts...)
		var calibrated sync.Map // when its tokenizer was asked last, by host
		for _, host := range hosts {
			servers.Answer(host+"/tokenize", func(w http.ResponseWriter, r *http.Request) {
				calibrated.Store(host, time.Now())
				servers.Simulator(host).ServeHTTP(w, r)
			})
		}
		prober := start(t, servers, &Daemon{}, "PROBER_QPS", "1", "PROBER_TARGETS_FILE", write(""),
			"PROBER_RELOAD_INTERVAL", "1s")
		time.Sleep(5*time.Second + 300*time.Millisecond)
		changed := time.Now()
		write("", ", timeout: 100s, max_tokens: 6", ", prompt_tokens: 90", removed)
		time.Sleep(5*time.Second - 300*time.Millisecond)
		prober.expectLogged(1, "reloaded")

		recorded := map[string]int{}
		for _, entry := range prober.logs.FilterMessage("probe").All() {
			recorded[entry.ContextMap()["target"].(string)]++
		}
		page := prober.get("/metrics")
		for n, host := range hosts {
			sent := len(servers.Simulator(host).Sent())
			inFlight, hasSeries := exposition.Value(page, `llm_probe_in_flight{target="`+host+`"}`)
			last, _ := calibrated.Load(host)
			switch n % 4 {
			case 0:
				expectEqual(t, host+" did not change: requests in ten seconds", sent, 10)
				expectEqual(t, host+" did not change: calibrated again", last.(time.Time).After(changed), false)
			case 1:
				expectEqual(t, host+" has prompts as before: calibrated again", last.(time.Time).After(changed), false)
			case 2:
				expectEqual(t, host+" has longer prompts: calibrated again", last.(time.Time).After(changed), true)
			case 3:
				expectEqual(t, host+" is gone: has series", hasSeries, false)
				expectEqual(t, host+" is gone: requests that were recorded", recorded[host], sent)
				continue
			}
			expectEqual(t, host+": requests that are recorded or in flight", recorded[host]+int(inFlight), sent)
			expectEqual(t, host+": slots", exposition.Slots(page)[host], fmt.Sprintf("ok=%d", recorded[host]))
		}
	})
}

func expectEqual(t *testing.T, what string, got, want any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
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

// startMounted starts an instance with a targets file in a mount.
func startMounted(t *testing.T) (*instance, *mount) {
	t.Helper()
	m := newMount(t, "targets.yaml", twoTargets)
	return start(t, simnet.New(t, "a", "b", "c"), &Daemon{}, "PROBER_TARGETS_FILE", m.file("targets.yaml")), m
}

// TestAChangedFileIsTakenUp holds that a targets file in a ConfigMap needs no reload by hand, and that it is read when
// it changed and not else. A wrong one changes nothing, is told of once, and the way back is found: also from a pipe,
// without waiting for its data.
func TestAChangedFileIsTakenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		prober, m := startMounted(t)
		time.Sleep(time.Minute)
		m.swap("targets.yaml", twoTargets)
		time.Sleep(time.Minute)
		prober.expectLogged(0, "reloaded")

		m.swap("targets.yaml", strings.ReplaceAll(twoTargets, "b", "c"))
		time.Sleep(11 * time.Second) // two looks
		prober.expectTargets("a", "c")
		time.Sleep(49 * time.Second)
		prober.expectSlots("a", "ok=18")
		prober.expectLogged(1, "reloaded")
		prober.expectLastReload(true)

		for n, bad := range []string{"targets: 3", twoTargets + "qps: fast\n", "pipe"} {
			m.swap("targets.yaml", bad)
			if bad == "pipe" {
				m.must(os.Remove(m.file("..data/targets.yaml")))
				m.must(syscall.Mkfifo(m.file("..data/targets.yaml"), 0o600))
			}
			time.Sleep(time.Minute)
			prober.expectLastReload(false)
			prober.expectLogged(n+1, "configuration rejected, keeping the previous one")
		}
		prober.expectSlots("a", "ok=36")
		m.swap("targets.yaml", twoTargets)
		time.Sleep(time.Minute)
		prober.expectLastReload(true)
		prober.expectTargets("a", "b")
	})
}

// TestAFileThatIsBeingReplaced holds that neither a file that is away for a moment nor one half of which is written
// ends any target, and that one which stays away is told of.
func TestAFileThatIsBeingReplaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		prober, m := startMounted(t)
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
		prober.expectLogged(0, "files changed")
		m.must(os.Remove(path))
		time.Sleep(10 * time.Second)
		prober.expectLastReload(false)
	})
}

// TestAKeyIsRotated holds that a new key in the file of the old one is used without a restart, that the series go on,
// and that neither the capabilities of the server nor the length of the prompts are found out again, nor are there more
// tokens to spend. Neither the start
// nor a reload, one that is refused included, leaves the content of the file in memory.
func TestAKeyIsRotated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMount(t, "key", "sk-old")
		servers := simnet.New(t, "a")
		d := &Daemon{}
		expectReleased := func(after string) {
			t.Helper()
			synctest.Wait()
			data, err := d.Files.Read(m.file("key"))
			if err != nil || len(data) > 0 {
				t.Errorf("after %s the content of the key file is still there: %q, %v", after, data, err)
			}
		}
		prober := start(t, servers, d, "PROBER_API_KEY_FILE", m.file("key"),
			"PROBER_TOKEN_BUDGET_PER_DAY", "850") // ten probes
		time.Sleep(time.Minute)
		servers.Answer("a/tokenize", func(http.ResponseWriter, *http.Request) { t.Error("the prompts are calibrated again") })
		prober.expectSlots("a:80", "ok=6")
		expectReleased("the start")
		m.swap("key", "sk-new")
		time.Sleep(21 * time.Second) // reload intervals, in which the file changes and stays the same, and a slot after them
		expectLastRequest(t, servers, "a", "a", "Bearer sk-new")
		prober.expectLogged(1, "reloaded")
		expectReleased("a reload")
		prober.expectMetrics(map[string]float64{`llm_probe_target_info{target="a:80",exact_output="yes"}`: 1})
		time.Sleep(10 * time.Minute)
		prober.expectSlots("a:80", "ok=10 budget=58")

		prober.options.Environ["PROBER_QPS"] = "often"
		status, _ := prober.ask(http.MethodPut, "/-/reload") // as POST
		expectEqual(t, "status of a reload that is refused", status, http.StatusInternalServerError)
		expectReleased("a reload that was refused")
	})
}
