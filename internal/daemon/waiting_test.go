package daemon

import (
	"errors"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/llm-prober/prober/internal/config"
	"github.com/llm-prober/prober/internal/engine"
)

// TestInstanceWaitsForItsServer holds that a server that is being started is no failure: its slots are skipped and
// counted until it is ready, its prompts are then made exact before the first of them, and a failure after that is one.
func TestInstanceWaitsForItsServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, time.Second, []string{"late"}, small("PROBER_WAIT_FOR_READY", "30m",
			"PROBER_TARGETS_0_URL", "http://late", "PROBER_TARGETS_0_MODEL", "meta-llama/Llama-3.1-8B-Instruct"))
		time.Sleep(10 * time.Minute)
		w.expect("60", "llm_probe_skipped_total", `target="late:80"`, `reason="waiting"`)
		w.expect("0", "llm_probe_probes_total", `target="late:80"`, `outcome="connect"`)
		if !strings.Contains(w.get("/api/v1/targets"), "the server is not ready yet") {
			t.Error("nothing says that the server is waited for")
		}

		w.loading.Store("late", true)
		w.closed.Delete("late:80") // it listens, and still loads
		time.Sleep(time.Minute)
		w.expect("66", "llm_probe_skipped_total", `target="late:80"`, `reason="waiting"`)

		w.loading.Delete("late")
		time.Sleep(time.Minute)
		w.expect("66", "llm_probe_skipped_total", `target="late:80"`, `reason="waiting"`)
		w.expect("6", "llm_probe_probes_total", `target="late:80"`, `outcome="ok"`)
		w.expect("480", "llm_probe_tokens_total", `target="late:80"`, `kind="prompt"`)
		if strings.Contains(w.get("/api/v1/targets"), "the server is not ready yet") || w.logged("the server is ready") != 1 {
			t.Error("nothing says that the server is ready")
		}

		w.closed.Store("late:80", true)
		time.Sleep(time.Minute)
		w.expect("6", "llm_probe_probes_total", `target="late:80"`, `outcome="connect"`)
	})
}

// TestInstanceDoesNotWaitForEver holds that a server that is not ready in time is probed all the same, so that it is
// seen to be down.
func TestInstanceDoesNotWaitForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, time.Second, []string{"late"}, small("PROBER_WAIT_FOR_READY", "2m"))
		time.Sleep(3 * time.Minute)
		w.expect("12", "llm_probe_skipped_total", `target="late:80"`, `reason="waiting"`)
		w.expect("6", "llm_probe_probes_total", `target="late:80"`, `outcome="connect"`)
	})
}

// TestInstanceWaitsForOneOfAGroup holds that the others are probed meanwhile, also where the prompts' length is the
// late one's to tell.
func TestInstanceWaitsForOneOfAGroup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, time.Second, []string{"late", "a"}, small("PROBER_WAIT_FOR_READY", "30m",
			"PROBER_TARGETS_0_GROUP", "ab", "PROBER_TARGETS_1_GROUP", "ab",
			"PROBER_TARGETS_0_URL", "http://late", "PROBER_TARGETS_1_URL", "http://a"))
		time.Sleep(time.Minute)
		w.expect("6", "llm_probe_skipped_total", `target="late:80"`, `reason="waiting"`)
		w.expect("6", "llm_probe_probes_total", `target="a:80"`, `outcome="ok"`)
		w.closed.Delete("late:80")
		time.Sleep(time.Minute)
		w.expect("6", "llm_probe_probes_total", `target="late:80"`, `outcome="ok"`)
		w.expect("12", "llm_probe_probes_total", `target="a:80"`, `outcome="ok"`)
	})
}

// TestReloadWaitsOnce holds that a server that has been ready is not waited for again because something else about its
// target changed, and that one that is waited for is still.
func TestReloadWaitsOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, time.Second, []string{"a", "late"}, small("PROBER_WAIT_FOR_READY", "30m"))
		time.Sleep(time.Minute)
		w.closed.Store("a:80", true)
		w.reload([]string{"a", "late"}, small("PROBER_WAIT_FOR_READY", "30m", "PROBER_MAX_TOKENS", "10"))
		time.Sleep(time.Minute)
		w.expect("6", "llm_probe_probes_total", `target="a:80"`, `outcome="connect"`)
		w.expect("0", "llm_probe_skipped_total", `target="a:80"`, `reason="waiting"`)
		w.expect("12", "llm_probe_skipped_total", `target="late:80"`, `reason="waiting"`)
	})
}

// expectDrain expects what a POST of /-/drain is answered with, and whether the prober is ready afterwards.
func (w *world) expectDrain(answer, ready string) {
	w.t.Helper()
	if status, text := w.post("/-/drain"); status != http.StatusOK || text != answer+"\n" {
		w.t.Errorf("%d %q, want %q", status, text, answer)
	}
	w.expectReady(ready)
}

// TestInstanceDrains holds that after a POST of /-/drain no probe begins, that one under way is counted, and that the
// prober serves on; that nothing but a POST of ours does so, and that a second one ends it.
func TestInstanceDrains(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, time.Second, []string{"a"}, small("PROBER_MAX_TOKENS", "4000", "PROBER_QPS", "0.1", "PROBER_DRAIN_ENDPOINT", "on"))
		for w.metric("llm_probe_in_flight", `target="a:80"`) != "1" {
			time.Sleep(100 * time.Millisecond)
		}
		foreign, err := http.NewRequest(http.MethodPost, "http://prober/-/drain", nil)
		if err != nil {
			t.Fatal(err)
		}
		foreign.Header.Set("Sec-Fetch-Site", "cross-site")
		if status, text := w.answer(w.client.Do(foreign)); status != http.StatusForbidden {
			t.Errorf("a page of another origin: %d %s", status, text)
		}
		if answer := w.get("/-/drain"); answer != "Method Not Allowed\n" {
			t.Errorf("GET: %q", answer)
		}
		w.expectDrain("draining", "not Ready")
		time.Sleep(5 * time.Second)
		w.expect("1", "llm_probe_probes_total", `target="a:80"`, `outcome="ok"`)
		w.closed.Store("a:80", true)
		time.Sleep(10 * time.Minute)
		w.expect("1", "llm_probe_probes_total", `target="a:80"`, `outcome="ok"`)
		w.expect("60", "llm_probe_skipped_total", `target="a:80"`, `reason="draining"`)
		w.expect("0", "llm_probe_probes_total", `target="a:80"`, `outcome="connect"`)

		w.closed.Delete("a:80")
		w.expectDrain("no longer draining", "Ready")
		time.Sleep(time.Minute)
		w.expect("60", "llm_probe_skipped_total", `target="a:80"`, `reason="draining"`)
		w.expect("7", "llm_probe_probes_total", `target="a:80"`, `outcome="ok"`)
	})
}

// TestReloadEndsDraining holds that a prober which was drained probes again after a reload, what changed and what did
// not, and that a server that is waited for still is.
func TestReloadEndsDraining(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		environ := small("PROBER_WAIT_FOR_READY", "30m", "PROBER_DRAIN_ENDPOINT", "on")
		w := newWorld(t, time.Second, []string{"a", "late"}, environ)
		time.Sleep(time.Minute)
		w.expectDrain("draining", "not Ready")
		if status, _ := w.reload([]string{"a"}, map[string]string{"PROBER_QPS": "fast"}); status != http.StatusInternalServerError {
			t.Errorf("a wrong configuration: %d", status)
		}
		time.Sleep(time.Minute)
		w.expect("6", "llm_probe_skipped_total", `target="a:80"`, `reason="draining"`)
		w.expect("6", "llm_probe_skipped_total", `target="late:80"`, `reason="draining"`)

		w.mustReload([]string{"a", "late", "late-too"}, environ)
		w.expectReady("Ready")
		time.Sleep(time.Minute)
		w.expect("12", "llm_probe_probes_total", `target="a:80"`, `outcome="ok"`)
		w.expect("12", "llm_probe_skipped_total", `target="late:80"`, `reason="waiting"`)
		w.expect("6", "llm_probe_skipped_total", `target="late-too:80"`, `reason="waiting"`)
		w.closed.Delete("late:80")
		time.Sleep(time.Minute)
		w.expect("6", "llm_probe_probes_total", `target="late:80"`, `outcome="ok"`)
	})
}

// TestDrainIsOffUnlessAsked holds that nobody stops a prober that was not told to let them.
func TestDrainIsOffUnlessAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, time.Second, []string{"a"}, small())
		if status, answer := w.post("/-/drain"); status != http.StatusNotFound {
			t.Errorf("%d %q", status, answer)
		}
		time.Sleep(time.Minute)
		w.expect("6", "llm_probe_probes_total", `target="a:80"`, `outcome="ok"`)
	})
}

// TestSidecarStaysWithAWrongConfiguration holds that a sidecar whose configuration is refused does not end, which would
// make its pod unready, that it says so, and that it probes once it can.
func TestSidecarStaysWithAWrongConfiguration(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, time.Second, []string{"a"}, map[string]string{"PROBER_QPS": "fast", "PROBER_DRAIN_ENDPOINT": "on"})
		time.Sleep(time.Hour)
		w.expectText("llm_prober_config_last_reload_successful 0")
		w.expectReady("not Ready")
		if page := w.get("/"); !strings.Contains(page, "probing is disabled until it is fixed") || !strings.Contains(page, "PROBER_QPS=") {
			t.Error("the page does not say what is wrong")
		}
		if healthy := w.get("/-/healthy"); !strings.Contains(healthy, "Healthy") {
			t.Errorf("healthy: %q", healthy)
		}
		w.mustReload([]string{"a"}, map[string]string{"PROBER_PROMPT_TOKENS": "80", "PROBER_DRAIN_ENDPOINT": "on"})
		time.Sleep(time.Minute)
		w.expect("6", "llm_probe_probes_total", `target="a:80"`, `outcome="ok"`)
		w.expectText("llm_prober_config_last_reload_successful 1")
		w.expectReady("Ready")
	})
}

// TestIdle holds who stays with a wrong configuration, and where it serves then: not to everybody where it was to ask
// who they are.
func TestIdle(t *testing.T) {
	wrong := config.Problems{{Place: "PROBER_QPS"}}
	for name, test := range map[string]struct {
		err            error
		environ, flags map[string]string
		address        string // empty: it ends
	}{
		"no sidecar":       {err: wrong},
		"no configuration": {err: errors.New("failed"), environ: map[string]string{"PROBER_DRAIN_ENDPOINT": "on"}},
		"sidecar":          {err: wrong, environ: map[string]string{"PROBER_DRAIN_ENDPOINT": "on", "PROBER_QPS": "fast"}, address: ":9464"},
		"by a flag":        {err: wrong, flags: map[string]string{"DRAIN_ENDPOINT": "on", "LISTEN_ADDRESS": ":1", "QPS": "fast"}, address: ":1"},
		"elsewhere":        {err: wrong, environ: map[string]string{"PROBER_DRAIN_ENDPOINT": "on", "PROBER_LISTEN_ADDRESS": ":1"}, address: ":1"},
		"nowhere":          {err: wrong, environ: map[string]string{"PROBER_DRAIN_ENDPOINT": "on", "PROBER_LISTEN_ADDRESS": "x"}, address: "127.0.0.1:9464"},
		"no lock":          {err: wrong, environ: map[string]string{"PROBER_DRAIN_ENDPOINT": "on", "PROBER_WEB_CONFIG_FILE": "/nowhere"}, address: "127.0.0.1:9464"},
		"another setting":  {err: wrong, environ: map[string]string{"PROBER_DRAIN_ENDPOINT": "on", "PROBER_LISTEN_ADDRESS": ":1", "PROBER_LOG_LEVEL": "x"}, address: ":1"},
		"not said":         {err: wrong, environ: map[string]string{"PROBER_DRAIN_ENDPOINT": "perhaps"}},
	} {
		c, ok := Idle(test.err, test.environ, test.flags)
		switch {
		case ok != (test.address != ""):
			t.Errorf("%s: stays: %v", name, ok)
		case ok && (c.ListenAddress != test.address || len(c.Targets) > 0):
			t.Errorf("%s: serves on %s, targets %v", name, c.ListenAddress, c.Targets)
		}
	}
}

// TestIdleKeepsItsSettings holds that a sidecar which began with a wrong configuration works by every setting of the
// prober itself that is right, and so needs no restart when the rest is mended.
func TestIdleKeepsItsSettings(t *testing.T) {
	environ := map[string]string{
		"PROBER_DRAIN_ENDPOINT": "on", "PROBER_QPS": "fast", "PROBER_LOG_LEVEL": "loud", "PROBER_LOG_FORMAT": "console",
		"PROBER_GENAI_SEMCONV": "off", "PROBER_RELOAD_INTERVAL": "1m", "PROBER_DNS_INTERVAL": "2m",
	}
	got, ok := Idle(config.Problems{{}}, environ, map[string]string{"LISTEN_ADDRESS": ":1"})
	want := &config.Config{
		ListenAddress: ":1", LogLevel: "info", LogFormat: "console", DrainEndpoint: true,
		ReloadInterval: time.Minute, DNSInterval: 2 * time.Minute,
		Objectives: []config.Objective{{Name: "availability", Signal: "availability", Goal: 0.99}},
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateComparable(config.Shard{})); diff != "" || !ok {
		t.Errorf("stays: %v (-want +got)\n%s", ok, diff)
	}
}

// TestFilesThatCannotBeParsed holds that a certificate, a key, a book or a data set that can be read and is none is a
// problem of the configuration, in which a sidecar stays: not an error that comes later and ends it.
func TestFilesThatCannotBeParsed(t *testing.T) {
	dir := t.TempDir()
	newAuthority(t).issue(t, dir, "client")
	newAuthority(t).issue(t, dir, "other")
	path := func(name string) string { return filepath.Join(dir, name) }
	writeFile(t, dir, "none", "none")
	for name, test := range map[string]struct {
		settings []string
		want     string
	}{
		"CA":           {[]string{"CA_FILE", path("none")}, "holds no certificate in PEM"},
		"certificate":  {[]string{"CERT_FILE", path("none"), "KEY_FILE", path("client.key")}, "failed to find any PEM data in certificate input"},
		"key":          {[]string{"CERT_FILE", path("client.crt"), "KEY_FILE", path("none")}, "failed to find any PEM data in key input"},
		"key of other": {[]string{"CERT_FILE", path("client.crt"), "KEY_FILE", path("other.key")}, "private key does not match public key"},
		"data set":     {[]string{"PROMPT", "dataset", "DATASET_FILE", path("none")}, "data set file"},
		"book":         {[]string{"PROMPT", "book", "BOOK_FILE", path("none")}, "book file"},
	} {
		environ := map[string]string{"PROBER_DRAIN_ENDPOINT": "on", "PROBER_TARGETS_0_URL": "https://a"}
		for i := 0; i < len(test.settings); i += 2 {
			environ["PROBER_TARGETS_0_"+test.settings[i]] = test.settings[i+1]
		}
		_, err := Load(config.Options{Environ: environ}, engine.NewAssets(config.ReadFile))
		if err == nil || !strings.Contains(err.Error(), test.want) || strings.Count(err.Error(), "\n") != 1 {
			t.Errorf("%s: %v", name, err)
		}
		if _, ok := Idle(err, environ, nil); !ok {
			t.Errorf("%s: a sidecar ends", name)
		}
	}
}
