package daemon

import (
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/llm-prober/prober/internal/testing/simnet"
)

// expectDrain expects what /-/drain answers to a method, and whether the prober is ready afterwards.
func (i *instance) expectDrain(method, answer string, ready bool) {
	i.t.Helper()
	if status, text := i.ask(method, "/-/drain"); status != http.StatusOK || text != answer+"\n" {
		i.t.Errorf("%s: %d %q, want %q", method, status, text, answer)
	}
	i.expectReady(ready)
}

// TestDrain holds that after a POST of /-/drain no probe begins, that one under way is counted, that the prober serves
// on, that draining again changes nothing, that a GET does nothing, and that a DELETE ends it.
func TestDrain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		servers := simnet.New(t, "a")
		prober := start(t, servers, &Daemon{}, "PROBER_MAX_TOKENS", "4000", "PROBER_DRAIN_ENDPOINT", "on")
		prober.awaitProbe("a:80")
		prober.expectShown("/-/drain", "Method Not Allowed")
		prober.expectReady(true)
		prober.expectDrain(http.MethodPost, "draining", false)
		time.Sleep(5 * time.Second)
		prober.expectSlots("a:80", "ok=1")
		servers.Down("a")
		time.Sleep(5 * time.Minute)
		prober.expectDrain(http.MethodPost, "draining", false)
		time.Sleep(5 * time.Minute)
		prober.expectSlots("a:80", "ok=1 draining=60")

		servers.Up("a")
		prober.expectDrain(http.MethodDelete, "not draining", true)
		prober.expectDrain(http.MethodDelete, "not draining", true)
		time.Sleep(time.Minute)
		prober.expectSlots("a:80", "ok=7 draining=60")
		prober.expectLogged(1, "draining: no more probes start")
		prober.expectLogged(1, "no longer draining: probes start again")

		prober.expectDrain(http.MethodPost, "draining", false)
		time.Sleep(time.Minute)
		prober.expectSlots("a:80", "ok=7 draining=66")
	})
}

// TestDrainIsOff holds that a prober which is not configured for it cannot be drained.
func TestDrainIsOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		servers := simnet.New(t, "a")
		prober := start(t, servers, &Daemon{})
		for _, method := range []string{http.MethodPost, http.MethodDelete} {
			if status, answer := prober.ask(method, "/-/drain"); status != http.StatusNotFound {
				t.Errorf("%s: %d %q", method, status, answer)
			}
		}
		prober.expectReady(true)
	})
}

// TestDrainExpires holds that a drain ends 15 minutes after the last request for it, that this is a warning, and that
// one which was ended before does not end the next.
func TestDrainExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		servers := simnet.New(t, "a")
		d := &Daemon{}
		prober := start(t, servers, d, "PROBER_DRAIN_ENDPOINT", "on")
		prober.expectDrain(http.MethodPost, "draining", false)
		time.Sleep(time.Minute)
		prober.expectDrain(http.MethodDelete, "not draining", true)
		time.Sleep(9 * time.Minute)
		prober.expectSlots("a:80", "ok=54 draining=6")

		prober.expectDrain(http.MethodPost, "draining", false)
		time.Sleep(10 * time.Minute)
		prober.expectDrain(http.MethodPost, "draining", false)
		d.expireDrain() // as the timer does if it fires at that moment
		prober.expectReady(false)
		time.Sleep(15*time.Minute - time.Nanosecond)
		prober.expectReady(false)
		prober.expectLogged(0, drainExpired)
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		prober.expectReady(true)
		prober.expectLogged(1, drainExpired)
		prober.expectSlots("a:80", "ok=54 draining=156")
		time.Sleep(time.Hour)
		prober.expectSlots("a:80", "ok=414 draining=156")
		prober.expectLogged(1, drainExpired)
	})
}

// TestReloadWhileDraining holds that no reload ends a drain, whether a file changed or it was asked for: neither
// targets that come nor targets that change are probed before its end, whether the configuration is right or not.
func TestReloadWhileDraining(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMount(t, "targets.yaml", strings.Split(twoTargets, "- {name: b")[0])
		prober := start(t, simnet.New(t, "a", "b"), &Daemon{}, "PROBER_DRAIN_ENDPOINT", "on",
			"PROBER_TARGETS_FILE", m.file("targets.yaml"))
		time.Sleep(time.Minute)
		prober.expectDrain(http.MethodPost, "draining", false)

		m.swap("targets.yaml", strings.Replace(twoTargets, "http://a", "http://a, timeout: 9s", 1))
		time.Sleep(time.Minute)
		prober.expectLogged(1, "reloaded")
		prober.expectReady(false)
		prober.ask(http.MethodPost, "/-/reload")
		prober.expectReady(false)
		m.swap("targets.yaml", "targets: 3")
		time.Sleep(time.Minute)
		prober.expectLastReload(false)
		prober.expectSlots("a", "ok=6 draining=12")
		prober.expectSlots("b", "draining=11")

		prober.expectDrain(http.MethodDelete, "not draining", true)
		time.Sleep(time.Minute)
		prober.expectSlots("a", "ok=12 draining=12")
	})
}

// TestDrainWhileWaiting holds that a server that is waited for still is after a drain, and one that has been ready is
// not waited for again.
func TestDrainWhileWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		environ := []string{"PROBER_WAIT_FOR_READY", "30m", "PROBER_DRAIN_ENDPOINT", "on"}
		servers := simnet.New(t, "a", "late")
		servers.Down("late")
		prober := start(t, servers, &Daemon{}, environ...)
		time.Sleep(time.Minute)
		prober.expectDrain(http.MethodPost, "draining", false)
		time.Sleep(time.Minute)
		prober.expectSlots("a:80", "ok=6 draining=6")
		prober.expectSlots("late:80", "draining=6 waiting=6")

		prober.expectDrain(http.MethodDelete, "not draining", true)
		time.Sleep(time.Minute)
		prober.expectSlots("a:80", "ok=12 draining=6")
		prober.expectSlots("late:80", "draining=6 waiting=12")
		servers.Up("late")
		time.Sleep(time.Minute)
		prober.expectSlots("late:80", "ok=6") // under the model that it has by now

		servers.Down("a")
		prober.mustReload([]string{"a"}, append(environ, "PROBER_MAX_TOKENS", "10")...)
		time.Sleep(time.Minute)
		prober.expectSlots("a:80", "connect=6 ok=18 draining=6")
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
	listen := func(settings ...string) *Daemon {
		listener, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // it does not wait
		if err != nil {
			t.Fatal(err)
		}
		d := &Daemon{Listener: listener}
		run(t, d, configured([]string{"127.0.0.1:1"}, append(settings, "PROBER_QPS", "0.01")...))
		return d
	}
	addressOf := func(d *Daemon) string { return d.Listener.Addr().String() }
	drainable, undrainable := listen("PROBER_DRAIN_ENDPOINT", "on"), listen()
	open, off := addressOf(drainable), addressOf(undrainable)
	secure := addressOf(listen("PROBER_DRAIN_ENDPOINT", "on", "PROBER_WEB_CONFIG_FILE", locked))
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
	for d, want := range map[*Daemon]bool{drainable: true, undrainable: false} {
		if got := d.runner.Draining(); got != want {
			t.Errorf("%s is draining: %t, want %t", addressOf(d), got, want)
		}
	}
}
