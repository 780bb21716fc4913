package daemon

import (
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/llm-prober/prober/internal/config"
	"github.com/llm-prober/prober/internal/engine"
)

// TestPauseAndProbe holds that the admin API is off unless asked for, that a paused target's slots are skipped and counted, across a
// reload too, until the pause is over or ended, and outside its active hours, and that a probe on request is shown but is in no metric.
func TestPauseAndProbe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, &Daemon{}, []string{"a"})
		if status, _ := w.ask(http.MethodPost, "/api/v1/targets/a:80/pause"); status != http.StatusNotFound {
			t.Errorf("%d though it is off", status)
		}
		w.end()
		environ := []string{"PROBER_ADMIN_API", "on", "PROBER_LISTEN_ADDRESS", "127.0.0.1:9464", "PROBER_ACTIVE", "00:00-00:08"}
		w = newWorld(t, &Daemon{}, []string{"a", "b"}, environ...)
		post := func(path string, want int, header ...string) string {
			t.Helper()
			status, text := w.ask(http.MethodPost, "/api/v1/targets/"+path, header...)
			if status != want {
				t.Errorf("%s: %d %s, want %d", path, status, text, want)
			}
			return text
		}
		if text := post("a:80/pause", http.StatusForbidden); !strings.Contains(text, "needs a login") {
			t.Error("from another host: ", text)
		}
		w.host = "localhost:9464"
		post("c:80/pause", http.StatusNotFound)
		post("a:80/pause?for=200h", http.StatusBadRequest)
		post("a:80/pause?for=999ms", http.StatusBadRequest)
		post("a:80/pause", http.StatusForbidden, "Sec-Fetch-Site", "cross-site")
		time.Sleep(time.Minute)
		post("a:80/pause?for=10m", http.StatusOK)
		post("b:80/pause?for=1m", http.StatusOK)
		w.expectPage("/", `data-state="paused"`, true)
		time.Sleep(2 * time.Minute)
		w.mustReload([]string{"a", "b"}, append(environ, "PROBER_MAX_TOKENS", "10")...)
		time.Sleep(3 * time.Minute)
		w.expectSlots("a:80", "ok=6 paused=30")
		w.expectSlots("b:80", "ok=30 paused=6")
		w.expect("9.4668546e+08", "llm_probe_paused_until_timestamp_seconds", `target="a:80"`)

		before := w.get("/metrics")
		if text := post("a:80/probe", http.StatusOK); !strings.Contains(text, `"outcome":"ok"`) {
			t.Error(text)
		}
		if slots(w.get("/metrics"), "a:80") != slots(before, "a:80") {
			t.Error("a probe on request was counted")
		}
		w.expectPage("/api/v1/results?target=a:80&limit=1", `"round":4294967297`, true)
		w.expectLogged(1, "probe on request")
		w.expectPage("/", "on request: in no statistic", true)
		page := post("a:80/resume", http.StatusOK, "Accept", "text/html", "Referer", "http://elsewhere/x?target=a:80")
		if !strings.Contains(page, "all 2 targets") || strings.Contains(page, `data-target="b:80"`) {
			t.Errorf("a button of the page of one target leads to %s", page)
		}
		time.Sleep(time.Minute)
		w.expectSlots("a:80", "ok=12 paused=30")
		w.expect("", "llm_probe_paused_until_timestamp_seconds", `target="a:80"`)
		time.Sleep(2 * time.Minute)
		w.expectSlots("a:80", "ok=18 paused=36")
		w.expect("9.467712e+08", "llm_probe_paused_until_timestamp_seconds", `target="a:80"`) // the next midnight
	})
}

// TestAdminNeedsALogin unless only this machine can ask.
func TestAdminNeedsALogin(t *testing.T) {
	login := writeFile(t, t.TempDir(), "users.yaml", users)
	for address, file := range map[string]string{":9464": "", "10.0.0.1:9464": "", "127.0.0.1:9464": "ok", "[::1]:9464": "ok", "0.0.0.0:9464": login} {
		environ := []string{"PROBER_ADMIN_API", "on", "PROBER_LISTEN_ADDRESS", address}
		if file == login {
			environ = append(environ, "PROBER_WEB_CONFIG_FILE", login)
		}
		_, err := Load(configured([]string{"a"}, environ...), engine.NewAssets(config.ReadFile))
		if refused := err != nil; refused != (file == "") {
			t.Errorf("%s with %q: %v", address, file, err)
		}
	}
}
