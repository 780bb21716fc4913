package daemon

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/llm-prober/prober/internal/config"
	"github.com/llm-prober/prober/internal/engine"
	"github.com/llm-prober/prober/internal/sim"
)

// reload makes the instance read a configuration with these hosts and settings, and returns the answer's status and
// text.
func (w *world) reload(hosts []string, environ map[string]string) (int, string) {
	w.t.Helper()
	w.load = func(assets *engine.Assets) (*config.Config, error) {
		return Load(config.Options{Environ: environ, URLs: urls(hosts)}, assets)
	}
	return w.post("/-/reload")
}

// mustReload is reload of a configuration that is right.
func (w *world) mustReload(hosts []string, environ map[string]string) {
	w.t.Helper()
	if status, text := w.reload(hosts, environ); status != http.StatusOK {
		w.t.Fatalf("%d %s", status, text)
	}
}

func settings(qps string) map[string]string {
	return map[string]string{"PROBER_QPS": qps, "PROBER_PROMPT_TOKENS": "80", "PROBER_MAX_TOKENS": "5"}
}

// TestReload holds that what did not change goes on, that what is gone ends, and that a server need not teach its
// capabilities twice.
func TestReload(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, time.Second, []string{"a", "b", "c"}, settings("0.1"))
		time.Sleep(time.Minute)
		w.mustReload([]string{"a", "c"}, settings("0.1"))
		time.Sleep(time.Minute)
		w.expect("12", "llm_probe_probes_total", `target="a:80"`, `outcome="ok"`)
		if page := w.get("/metrics"); strings.Contains(page, `target="b:80"`) {
			t.Error("a target that is gone has series")
		}

		asked := len(w.servers["a"].Sent())
		w.mustReload([]string{"a", "c"}, settings("0.2"))
		synctest.Wait()
		for _, label := range []string{`server="vllm"`, `exact_output="yes"`, `continuous_usage="yes"`, `cached_tokens="yes"`, `tokenize="yes"`} {
			if w.metric("llm_probe_target_info", `target="a:80"`, label) != "1" {
				t.Errorf("the capability %s did not survive a reload that changed the target", label)
			}
		}
		if !strings.Contains(w.get("/api/v1/targets"), `"server":"vllm"`) {
			t.Error("the page's data do not name the kind of server")
		}
		time.Sleep(time.Minute)
		if got := len(w.servers["a"].Sent()) - asked; got != 12 {
			t.Errorf("%d probes in a minute at the new rate, want 12", got)
		}
		w.expectText("llm_prober_config_last_reload_successful 1")
	})
}

// TestReloadOfWhatIsWrong holds that a wrong configuration changes nothing, and that everybody can see it.
func TestReloadOfWhatIsWrong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, time.Second, []string{"a"}, settings("0.1"))
		time.Sleep(30 * time.Second)
		status, text := w.reload([]string{"a"}, map[string]string{"PROBER_QPS": "often", "PROBER_API_KEY": "sk-secret"})
		if status != http.StatusInternalServerError || !strings.Contains(text, "PROBER_QPS") || strings.Contains(text, "sk-secret") {
			t.Errorf("%d %s", status, text)
		}
		time.Sleep(30 * time.Second)
		w.expect("6", "llm_probe_probes_total", `target="a:80"`, `outcome="ok"`)
		w.expectText("llm_prober_config_last_reload_successful 0")
		if page := w.get("/"); !strings.Contains(page, " ago, keeping the previous one: ") || !strings.Contains(page, "PROBER_QPS=") {
			t.Error("the page does not say that the configuration was rejected")
		}
		w.mustReload([]string{"a"}, settings("0.1"))
		if strings.Contains(w.get("/"), "configuration rejected") {
			t.Error("the page still says that the configuration was rejected")
		}
	})
}

// TestBudgetsAreOfTargets holds that targets which share a server spend from budgets of their own, and that what one
// has spent of its day stays spent whatever changes about it: its length, its URL, or that it was away for a while.
func TestBudgetsAreOfTargets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		environ := settings("0.1")
		for i, target := range []struct{ name, url string }{{"cold", "http://a"}, {"warm", "http://a"}} {
			prefix := fmt.Sprintf("PROBER_TARGETS_%d_", i)
			environ[prefix+"NAME"], environ[prefix+"URL"] = target.name, target.url
		}
		environ["PROBER_TARGETS_0_TOKEN_BUDGET_PER_DAY"] = "850" // ten probes
		environ["PROBER_TARGETS_1_TOKEN_BUDGET_PER_DAY"] = "8500"
		w := newWorld(t, time.Second, []string{"a", "b"}, environ)
		asked := func(when string, a, b int) {
			t.Helper()
			time.Sleep(3 * time.Minute)
			if gotA, gotB := len(w.servers["a"].Sent()), len(w.servers["b"].Sent()); gotA != a || gotB != b {
				t.Errorf("%s: %d and %d probes so far, want %d and %d", when, gotA, gotB, a, b)
			}
		}
		asked("at first", 10+18, 0)
		for i, change := range []struct{ when, name, value string }{
			{"after both changed", "PROBER_TIMEOUT", "100s"},
			{"after its server changed", "PROBER_TARGETS_0_URL", "http://b"},
		} {
			environ[change.name] = change.value
			w.mustReload(nil, environ)
			asked(change.when, 10+(i+2)*18, 0)
		}
		w.mustReload([]string{"a"}, settings("0.1"))
		time.Sleep(time.Minute)
		w.mustReload(nil, environ)
		asked("after it was away", 10+3*18+6+18, 0)
	})
}

// TestReloadAtTheEnd holds that nobody waits for a reload that does not come while the last probes end.
func TestReloadAtTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 10*time.Second, []string{"a"}, settings("0.1"))
		w.fault("a", sim.Fault{Hang: true})
		time.Sleep(15 * time.Second)
		w.stop()
		synctest.Wait()
		stopped := time.Now()
		status, text := w.reload([]string{"a"}, settings("0.1"))
		if status != http.StatusServiceUnavailable || time.Since(stopped) > 0 {
			t.Errorf("%d %s after %v", status, text, time.Since(stopped))
		}
		w.end()
	})
}

// TestReloadOfANeighbour holds that a member of a group which is taken over because another one changed is seen at work
// afterwards.
func TestReloadOfANeighbour(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		grouped := settings("0.1")
		for i, host := range []string{"a", "b"} {
			prefix := fmt.Sprintf("PROBER_TARGETS_%d_", i)
			grouped[prefix+"URL"], grouped[prefix+"GROUP"] = "http://"+host, "g"
		}
		w := newWorld(t, time.Second, []string{"a", "b"}, grouped)
		time.Sleep(time.Minute)
		grouped["PROBER_TARGETS_1_TIMEOUT"] = "100s"
		w.mustReload(nil, grouped)
		time.Sleep(time.Minute)
		w.fault("a", sim.Fault{Hang: true})
		time.Sleep(30 * time.Second)
		w.expect("1", "llm_probe_in_flight", `target="a:80"`)
	})
}
