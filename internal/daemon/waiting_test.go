package daemon

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/llm-prober/prober/internal/config"
	"github.com/llm-prober/prober/internal/engine"
	"github.com/llm-prober/prober/internal/usage"
)

// expectMeasured expects how many probes of a target were ok, that its server counted 80 tokens of prompt for each, and
// that each gave a sample of TTFT.
func (w *world) expectMeasured(target string, probes int) {
	w.t.Helper()
	name := fmt.Sprintf("target=%q", target)
	w.expect(fmt.Sprint(probes), "llm_probe_probes_total", name, `outcome="ok"`)
	w.expect(fmt.Sprint(80*probes), "llm_probe_tokens_total", name, `kind="prompt"`)
	w.expect(fmt.Sprint(probes), "llm_probe_ttft_seconds_count", name)
}

// TestInstanceWaitsForItsServer holds that a server that is being started is no failure: its slots are skipped and
// counted until it is ready, its prompts are then made exact before the first of them, and a failure after that is one.
func TestInstanceWaitsForItsServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, &Daemon{}, []string{"late"}, "PROBER_WAIT_FOR_READY", "30m",
			"PROBER_TARGETS_0_URL", "http://late", "PROBER_TARGETS_0_MODEL", "meta-llama/Llama-3.1-8B-Instruct")
		time.Sleep(10 * time.Minute)
		w.expectSlots("late:80", "waiting=60")
		w.expectPage("/api/v1/targets", "the server is not ready yet", true)

		w.loading.Store("late", true)
		w.closed.Delete("late") // it listens, and still loads
		time.Sleep(time.Minute)
		w.expectSlots("late:80", "waiting=66")

		w.loading.Delete("late")
		time.Sleep(time.Minute)
		w.expectSlots("late:80", "ok=6 waiting=66")
		w.expect("480", "llm_probe_tokens_total", `target="late:80"`, `kind="prompt"`)
		w.expectLogged(1, "the server is ready")
		w.expectPage("/api/v1/targets", "the server is not ready yet", false)

		w.closed.Store("late", true)
		time.Sleep(time.Minute)
		w.expectSlots("late:80", "connect=6 ok=6 waiting=66")
	})
}

// TestInstanceWaitsForOneOfAGroup holds that the others are probed meanwhile, with prompts that are as long as asked by
// their count, and that a server that is not ready in time is probed all the same: it is seen to be down.
func TestInstanceWaitsForOneOfAGroup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, &Daemon{}, []string{"late", "a"}, "PROBER_WAIT_FOR_READY", "2m",
			"PROBER_TARGETS_0_GROUP", "ab", "PROBER_TARGETS_1_GROUP", "ab",
			"PROBER_TARGETS_0_URL", "http://late", "PROBER_TARGETS_1_URL", "http://a")
		time.Sleep(3 * time.Minute)
		w.expectSlots("late:80", "connect=6 waiting=12")
		w.expectSlots("a:80", "ok=18")
		w.expectMeasured("a:80", 18)
		w.closed.Delete("late")
		time.Sleep(time.Minute)
		w.expectSlots("late:80", "ok=6") // under the model that it has by now
		w.expectSlots("a:80", "ok=24")
		w.expectMeasured("a:80", 24)
		w.expectMeasured("late:80", 6)
	})
}

// TestSidecarStaysWithAWrongConfiguration holds that a sidecar whose configuration is refused does not end, which would
// make its pod unready, that it says so, and that it probes once it can.
func TestSidecarStaysWithAWrongConfiguration(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, &Daemon{}, []string{"a"}, "PROBER_QPS", "fast", "PROBER_DRAIN_ENDPOINT", "on")
		time.Sleep(time.Hour)
		w.expectText("llm_prober_config_last_reload_successful 0")
		w.expectReady("not Ready")
		w.expectPage("/", "probing is disabled until it is fixed", true)
		w.expectPage("/", "PROBER_QPS=", true)
		w.expectPage("/-/healthy", "Prober is Healthy.", true)
		w.mustReload([]string{"a"}, "PROBER_DRAIN_ENDPOINT", "on")
		time.Sleep(time.Minute)
		w.expectSlots("a:80", "ok=6")
		w.expectText("llm_prober_config_last_reload_successful 1")
		w.expectReady("Ready")
	})
}

// TestIdle holds who stays with a wrong configuration, and where it serves then: not to everybody where it was to ask
// who they are.
func TestIdle(t *testing.T) {
	wrong := usage.Problems{{Place: "PROBER_QPS"}}
	for name, test := range map[string]struct {
		err            error
		environ, flags map[string]string
		address        string // empty: it ends
	}{
		"no sidecar":       {err: wrong},
		"no configuration": {err: errors.New("failed"), environ: map[string]string{"PROBER_DRAIN_ENDPOINT": "on"}},
		"sidecar":          {err: wrong, environ: map[string]string{"PROBER_DRAIN_ENDPOINT": "on", "PROBER_QPS": "fast"}, address: ":9464"},
		"by a flag":        {err: wrong, flags: map[string]string{"DRAIN_ENDPOINT": "on", "LISTEN_ADDRESS": ":1", "QPS": "fast"}, address: ":1"},
		"nowhere":          {err: wrong, environ: map[string]string{"PROBER_DRAIN_ENDPOINT": "on", "PROBER_LISTEN_ADDRESS": "x"}, address: "127.0.0.1:9464"},
		"no lock":          {err: wrong, environ: map[string]string{"PROBER_DRAIN_ENDPOINT": "on", "PROBER_WEB_CONFIG_FILE": "/nowhere"}, address: "127.0.0.1:9464"},
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
	got, ok := Idle(usage.Problems{{}}, environ, map[string]string{"LISTEN_ADDRESS": ":1"})
	want := &config.Config{
		ListenAddress: ":1", LogLevel: "info", LogFormat: "console", MaxTokensPerDay: 1_000_000_000, DrainEndpoint: true,
		ReloadInterval: time.Minute, DNSInterval: 2 * time.Minute,
		Objectives: []config.Objective{{Name: "availability", Signal: "availability", Goal: 0.99}},
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateComparable(config.Shard{})); diff != "" || !ok {
		t.Errorf("stays: %v (-want +got)\n%s", ok, diff)
	}
}

// TestFilesThatCannotBeParsed holds that a certificate, a key or a data set that can be read and is none is a
// problem of the configuration, in which a sidecar stays: not an error that comes later and ends it.
func TestFilesThatCannotBeParsed(t *testing.T) {
	dir := t.TempDir()
	newPair(t).write(t, dir, "client")
	newPair(t).write(t, dir, "other")
	path := func(name string) string { return filepath.Join(dir, name) }
	writeFile(t, dir, "none", "none")
	for want, settings := range map[string][]string{
		"holds no certificate in PEM":                          {"CA_FILE", path("none")},
		"failed to find any PEM data in certificate input":     {"CERT_FILE", path("none"), "KEY_FILE", path("client.key")},
		"failed to find any PEM data in key input":             {"CERT_FILE", path("client.crt"), "KEY_FILE", path("none")},
		"private key does not match public key":                {"CERT_FILE", path("client.crt"), "KEY_FILE", path("other.key")},
		"data set file " + path("none") + ": line 1: not JSON": {"PROMPT", "dataset", "DATASET_FILE", path("none")},
	} {
		environ := map[string]string{"PROBER_DRAIN_ENDPOINT": "on", "PROBER_TARGETS_0_URL": "https://a"}
		for i := 0; i < len(settings); i += 2 {
			environ["PROBER_TARGETS_0_"+settings[i]] = settings[i+1]
		}
		_, err := Load(config.Options{Environ: environ}, engine.NewFiles())
		if err == nil || !strings.Contains(err.Error(), want) || strings.Count(err.Error(), "\n") != 1 {
			t.Errorf("%v, want %s", err, want)
		}
		if _, ok := Idle(err, environ, nil); !ok {
			t.Errorf("%s: a sidecar ends", want)
		}
	}
}
