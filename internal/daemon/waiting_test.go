package daemon

import (
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/llm-prober/prober/internal/config"
	"github.com/llm-prober/prober/internal/files"
	"github.com/llm-prober/prober/internal/testing/simnet"
	"github.com/llm-prober/prober/internal/usage"
)

// TestInstanceWaitsForItsServer holds that a server that is being started is no failure: its slots are skipped and
// counted until it is ready, its prompts are then made exact before the first of them, and a failure after that is one. One
// that is not ready in time is probed anyway.
func TestInstanceWaitsForItsServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		servers := simnet.New(t, "late", "never")
		servers.Down("late", "never")
		prober := start(t, servers, &Daemon{}, "PROBER_WAIT_FOR_READY", "30m", "PROBER_TARGETS_1_URL", "http://never",
			"PROBER_TARGETS_0_URL", "http://late", "PROBER_TARGETS_0_MODEL", "meta-llama/Llama-3.1-8B-Instruct")
		time.Sleep(10 * time.Minute)
		prober.expectSlots("late:80", "waiting=60")
		prober.expectShown("/?target=late:80", "the server is not ready yet")

		servers.Answer("late", func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "loading", http.StatusServiceUnavailable)
		})
		servers.Up("late")
		time.Sleep(time.Minute)
		prober.expectSlots("late:80", "waiting=66")

		servers.Simulate("late")
		time.Sleep(time.Minute)
		prober.expectSlots("late:80", "ok=6 waiting=66")
		prober.expectMetrics(map[string]float64{`llm_probe_tokens_total{target="late:80",kind="prompt"}`: 6 * 80})
		prober.expectLogged(1, "the server is ready")
		prober.expectNotShown("/?target=late:80", "the server is not ready yet")

		servers.Down("late")
		time.Sleep(time.Minute)
		prober.expectSlots("late:80", "connect=6 ok=6 waiting=66")

		time.Sleep(17 * time.Minute) // half an hour in all
		prober.expectSlots("never:80", "waiting=180")
		time.Sleep(time.Minute)
		prober.expectSlots("never:80", "connect=6 waiting=180")
		prober.expectLogged(1, "the server is not ready in time; probing it anyway")
	})
}

// TestSidecarStaysWithAWrongConfiguration holds that a sidecar whose configuration is refused does not end, which would
// make its pod unready, that it says so, and that it probes once it can.
func TestSidecarStaysWithAWrongConfiguration(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		servers := simnet.New(t, "a")
		prober := start(t, servers, &Daemon{}, "PROBER_QPS", "fast", "PROBER_DRAIN_ENDPOINT", "on")
		time.Sleep(time.Hour)
		prober.expectLastReload(false)
		prober.expectReady(false)
		prober.expectShown("/", "probing is disabled until it is fixed")
		prober.expectShown("/", "PROBER_QPS=")
		prober.expectShown("/-/healthy", "Prober is Healthy.")
		prober.mustReload([]string{"a"}, "PROBER_DRAIN_ENDPOINT", "on")
		time.Sleep(time.Minute)
		prober.expectSlots("a:80", "ok=6")
		prober.expectLastReload(true)
		prober.expectReady(true)
	})
}

// TestIdle holds which prober stays with a wrong configuration, and where it serves then: not to everybody if it was to
// ask who they are.
func TestIdle(t *testing.T) {
	wrong := usage.Problems{{Place: "PROBER_QPS"}}
	for name, test := range map[string]struct {
		err     error
		sidecar string // PROBER_DRAIN_ENDPOINT
		name    string // of another variable
		value   string
		address string // empty: the prober ends
	}{
		"no sidecar":                     {err: wrong},
		"nobody knows whether a sidecar": {err: wrong, sidecar: "perhaps"},
		"an error of another kind":       {err: errors.New("failed"), sidecar: "on"},
		"sidecar":                        {err: wrong, sidecar: "on", address: ":9464"},
		"sidecar elsewhere": {
			err: wrong, sidecar: "on", name: "PROBER_LISTEN_ADDRESS", value: ":1", address: ":1",
		},
		"sidecar that cannot tell where": {
			err: wrong, sidecar: "on", name: "PROBER_LISTEN_ADDRESS", value: "x", address: "127.0.0.1:9464",
		},
		"sidecar that cannot tell whom": {
			err: wrong, sidecar: "on", name: "PROBER_WEB_CONFIG_FILE", value: "/none", address: "127.0.0.1:9464",
		},
		"sidecar that asks nobody": {
			err: wrong, sidecar: "on", name: "PROBER_WEB_CONFIG_FILE", value: os.DevNull, address: "127.0.0.1:9464",
		},
	} {
		environ := map[string]string{"PROBER_DRAIN_ENDPOINT": test.sidecar, test.name: test.value}
		c, ok := LoadIdle(test.err, environ, nil)
		switch {
		case ok != (test.address != ""):
			t.Errorf("%s: stays: %v", name, ok)
		case ok && (c.ListenAddress != test.address || len(c.Targets) > 0):
			t.Errorf("%s: serves on %s, targets %v", name, c.ListenAddress, c.Targets)
		}
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
		"holds no certificate in PEM":                      {"CA_FILE", path("none")},
		"failed to find any PEM data in certificate input": {"CERT_FILE", path("none"), "KEY_FILE", path("client.key")},
		"failed to find any PEM data in key input":         {"CERT_FILE", path("client.crt"), "KEY_FILE", path("none")},
		"private key does not match public key":            {"CERT_FILE", path("client.crt"), "KEY_FILE", path("other.key")},
		"line 1: not JSON":                                 {"PROMPT", "dataset", "DATASET_FILE", path("none")},
	} {
		environ := map[string]string{"PROBER_DRAIN_ENDPOINT": "on", "PROBER_TARGETS_0_URL": "https://a"}
		for i := 0; i < len(settings); i += 2 {
			environ["PROBER_TARGETS_0_"+settings[i]] = settings[i+1]
		}
		_, err := Load(config.Options{Environ: environ}, files.New())
		if err == nil || !strings.Contains(err.Error(), want) || strings.Count(err.Error(), "\n") != 1 {
			t.Errorf("%v, want %s", err, want)
		}
		if _, ok := LoadIdle(err, environ, nil); !ok {
			t.Errorf("%s: a sidecar ends", want)
		}
	}
}
