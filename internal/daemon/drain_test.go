package daemon

import (
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// expectDrain expects what /-/drain answers to a method, and whether the prober is ready afterwards.
func (w *world) expectDrain(method, answer, ready string) {
	w.t.Helper()
	if status, text := w.ask(method, "/-/drain"); status != http.StatusOK || text != answer+"\n" {
		w.t.Errorf("%s: %d %q, want %q", method, status, text, answer)
	}
	w.expectReady(ready)
}

// TestDrain holds that after a POST of /-/drain no probe begins, that one under way is counted, that the prober serves
// on, that draining again changes nothing, that a GET does nothing, and that a DELETE ends it.
func TestDrain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, &Daemon{}, []string{"a"}, "PROBER_MAX_TOKENS", "4000", "PROBER_DRAIN_ENDPOINT", "on")
		w.awaitProbe("a:80")
		w.expectPage("/-/drain", "Method Not Allowed", true)
		w.expectReady("Ready")
		w.expectDrain(http.MethodPost, "draining", "not Ready")
		time.Sleep(5 * time.Second)
		w.expectSlots("a:80", "ok=1")
		w.closed.Store("a", true)
		time.Sleep(5 * time.Minute)
		w.expectDrain(http.MethodPost, "draining", "not Ready")
		time.Sleep(5 * time.Minute)
		w.expectSlots("a:80", "ok=1 draining=60")

		w.closed.Delete("a")
		w.expectDrain(http.MethodDelete, "not draining", "Ready")
		w.expectDrain(http.MethodDelete, "not draining", "Ready")
		time.Sleep(time.Minute)
		w.expectSlots("a:80", "ok=7 draining=60")
		w.expectLogged(1, "draining: no more probes start")
		w.expectLogged(1, "no longer draining: probes start again")

		w.expectDrain(http.MethodPost, "draining", "not Ready")
		time.Sleep(time.Minute)
		w.expectSlots("a:80", "ok=7 draining=66")
	})
}

// TestDrainIsOff holds that a prober which is not configured for it cannot be drained.
func TestDrainIsOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, &Daemon{}, []string{"a"})
		for _, method := range []string{http.MethodPost, http.MethodDelete} {
			if status, answer := w.ask(method, "/-/drain"); status != http.StatusNotFound {
				t.Errorf("%s: %d %q", method, status, answer)
			}
		}
		w.expectReady("Ready")
	})
}

// TestDrainExpires holds that a drain ends 15 minutes after the last request for it, that this is a warning, and that
// one which was ended before does not end the next.
func TestDrainExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, &Daemon{}, []string{"a"}, "PROBER_DRAIN_ENDPOINT", "on")
		w.expectDrain(http.MethodPost, "draining", "not Ready")
		time.Sleep(time.Minute)
		w.expectDrain(http.MethodDelete, "not draining", "Ready")
		time.Sleep(9 * time.Minute)
		w.expectSlots("a:80", "ok=54 draining=6")

		w.expectDrain(http.MethodPost, "draining", "not Ready")
		time.Sleep(10 * time.Minute)
		w.expectDrain(http.MethodPost, "draining", "not Ready")
		time.Sleep(15*time.Minute - time.Nanosecond)
		w.expectReady("not Ready")
		w.expectLogged(0, drainExpired)
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		w.expectReady("Ready")
		w.expectLogged(1, drainExpired)
		w.expectSlots("a:80", "ok=54 draining=156")
		time.Sleep(time.Hour)
		w.expectSlots("a:80", "ok=414 draining=156")
		w.expectLogged(1, drainExpired)
	})
}

// TestReloadWhileDraining holds that no reload ends a drain, by request or because of a changed file: the targets that
// come, go, change and stay are not probed before its end. A server that is waited for still is afterwards.
func TestReloadWhileDraining(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMount(t, "targets.yaml", twoTargets)
		w := newWorld(t, &Daemon{}, []string{"a", "b", "late"}, "PROBER_DRAIN_ENDPOINT", "on",
			"PROBER_WAIT_FOR_READY", "30m", "PROBER_TARGETS_FILE", m.file("targets.yaml"))
		time.Sleep(time.Minute)
		w.expectDrain(http.MethodPost, "draining", "not Ready")

		m.swap("targets.yaml", strings.ReplaceAll(twoTargets, "{name: b, url: http://b}", "{name: late, url: http://late}"))
		time.Sleep(time.Minute)
		w.expectLogged(1, "reloaded")
		w.expectReady("not Ready")
		w.expectTargets("a", "late")
		w.expectSlots("a", "ok=6 draining=6")

		m.swap("targets.yaml", strings.ReplaceAll(twoTargets, "http://b", "http://b, timeout: 100s"))
		if status, answer := w.ask(http.MethodPost, "/-/reload"); status != http.StatusOK {
			t.Errorf("%d %s", status, answer)
		}
		w.expectReady("not Ready")
		time.Sleep(time.Minute)
		w.expectSlots("a", "ok=6 draining=12")
		w.expectSlots("b", "draining=6")

		m.swap("targets.yaml", "targets: 3")
		if status, _ := w.ask(http.MethodPost, "/-/reload"); status != http.StatusInternalServerError {
			t.Errorf("a wrong configuration: %d", status)
		}
		time.Sleep(time.Minute)
		w.expectSlots("a", "ok=6 draining=18")
		w.expectSlots("b", "draining=12")

		w.expectDrain(http.MethodDelete, "not draining", "Ready")
		time.Sleep(time.Minute)
		w.expectSlots("a", "ok=12 draining=18")
		w.expectSlots("b", "ok=6 draining=12")
	})
}

// TestDrainWhileWaiting holds that a server that is waited for still is after a drain, and one that has been ready is
// not waited for again.
func TestDrainWhileWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		environ := []string{"PROBER_WAIT_FOR_READY", "30m", "PROBER_DRAIN_ENDPOINT", "on"}
		w := newWorld(t, &Daemon{}, []string{"a", "late"}, environ...)
		time.Sleep(time.Minute)
		w.expectDrain(http.MethodPost, "draining", "not Ready")
		time.Sleep(time.Minute)
		w.expectSlots("a:80", "ok=6 draining=6")
		w.expectSlots("late:80", "draining=6 waiting=6")

		w.expectDrain(http.MethodDelete, "not draining", "Ready")
		time.Sleep(time.Minute)
		w.expectSlots("a:80", "ok=12 draining=6")
		w.expectSlots("late:80", "draining=6 waiting=12")
		w.closed.Delete("late")
		time.Sleep(time.Minute)
		w.expectSlots("late:80", "ok=6") // under the model that it has by now

		w.closed.Store("a", true)
		w.mustReload([]string{"a"}, append(environ, "PROBER_MAX_TOKENS", "10")...)
		time.Sleep(time.Minute)
		w.expectSlots("a:80", "connect=6 ok=18 draining=6")
	})
}

// TestDrainRequest holds that one request drains a prober, whether it did so before or not, and what is said where it
// cannot.
func TestDrainRequest(t *testing.T) {
	dir, certificate := t.TempDir(), newPair(t)
	certificate.write(t, dir, "server")
	password := writeFile(t, dir, "password", "secret\n")
	wrong := writeFile(t, dir, "wrong", "sesame")
	locked := writeFile(t, dir, "web.yaml", users+"tls_server_config: {cert_file: server.crt, key_file: server.key}\n")
	start := func(settings ...string) (address string) {
		settings = append(settings, "PROBER_QPS", "0.01")
		address, _ = serve(t, &Daemon{}, configured([]string{"127.0.0.1:1"}, settings...))
		return address
	}
	open := start("PROBER_DRAIN_ENDPOINT", "on")
	secure := start("PROBER_DRAIN_ENDPOINT", "on", "PROBER_WEB_CONFIG_FILE", locked)
	off := start()
	for _, test := range []struct{ url, passwordFile, err string }{
		{url: "http://" + open},
		{url: "http://" + open},
		{url: "https://prometheus@" + secure, passwordFile: password},
		{url: "https://prometheus@" + secure, passwordFile: wrong,
			err: "401 Unauthorized; give the user in the URL and the password by --password-file"},
		{url: "https://" + secure, err: "401 Unauthorized"},
		{url: "https://" + secure, passwordFile: password, err: "name the user in the URL"},
		{url: "https://prometheus@" + secure, passwordFile: filepath.Join(dir, "none"), err: "no such file"},
		{url: "https://prometheus:secret@" + secure, err: "a password in the URL is not accepted"},
		{url: "http://" + off, err: "404 Not Found; the prober needs PROBER_DRAIN_ENDPOINT=on"},
		{url: "localhost:9464", err: "want the URL of a prober"},
		{url: "http://127.0.0.1:1", err: "connection refused"},
	} {
		err := DrainRequest{URL: test.url, PasswordFile: test.passwordFile}.Send(t.Context())
		if (err == nil) != (test.err == "") || err != nil && !strings.Contains(err.Error(), test.err) {
			t.Errorf("%s: %v, want %q", test.url, err, test.err)
		}
		if err != nil && (strings.Contains(err.Error(), "secret") || strings.Contains(err.Error(), "sesame")) {
			t.Errorf("%s: the error shows the password: %v", test.url, err)
		}
	}
	for address, want := range map[string]int{open: http.StatusServiceUnavailable, off: http.StatusOK} {
		if status := ask(t, nil, "GET /-/ready", address, "", ""); status != want {
			t.Errorf("ready: %d, want %d", status, want)
		}
	}
}
