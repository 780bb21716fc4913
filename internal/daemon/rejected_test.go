package daemon

import (
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// rejectedTarget is the message that is logged for each problem of a target that is not probed.
const rejectedTarget = "target rejected: it is not probed"

// expectRejected expects whether the target b is shown as rejected, everywhere.
func (w *world) expectRejected(want bool) {
	w.t.Helper()
	metric := w.metric("llm_prober_target_rejected", `target="b"`)
	if (metric == "1") != want {
		w.t.Errorf("llm_prober_target_rejected of b is %q", metric)
	}
	w.expectPage("/?target=b", `data-state="rejected"`, want)
	w.expectPage("/api/v1/targets", `"state":"rejected","problems":[{"place":`, want)
	w.expectText("llm_prober_config_last_reload_successful 1")
	w.expectReady("Ready")
}

// TestOneBadTargetStopsNoOther holds that a target which cannot be probed is shown and logged once while the others are
// probed, that it starts when the file that was missing is there, and that it keeps its results while it is rejected
// again.
func TestOneBadTargetStopsNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const targets = "targets:\n- {name: a, url: http://a}\n" +
			"- {name: b, url: http://b, prompt: dataset, dataset_file: set}\n"
		const good = `{"prompt": "Name a colour."}`
		dir := t.TempDir()
		w := newWorld(t, &Daemon{}, []string{"a", "b"},
			"PROBER_TARGETS_FILE", writeFile(t, dir, "targets.yaml", targets))
		time.Sleep(time.Minute)
		w.expectRejected(true)
		w.expectPage("/?target=b", "no such file or directory", true)
		w.expectLogged(1, rejectedTarget)
		w.expectSlots("a", "ok=6")

		writeFile(t, dir, "set", good)
		time.Sleep(time.Minute)
		w.expectRejected(false)
		w.expectLogged(1, "target is no longer rejected")
		results := strings.Count(w.get("/api/v1/results?target=b"), `"target":"b"`)
		if results == 0 {
			t.Error("b is not probed")
		}

		writeFile(t, dir, "set", "")
		time.Sleep(time.Minute)
		w.expectRejected(true)
		w.expectLogged(2, rejectedTarget)
		if series := w.metric("llm_probe_interval_seconds", `target="b"`); series != "" {
			t.Error("b has series although it is not probed")
		}
		status, text := w.ask(http.MethodPost, "/-/reload")
		if status != http.StatusOK || !strings.HasPrefix(text, "reloaded\ntarget b is rejected: 1 problem:\n  target b: ") {
			t.Errorf("%d %s", status, text)
		}
		w.expectLogged(2, rejectedTarget)

		writeFile(t, dir, "set", good)
		time.Sleep(time.Minute)
		w.expectRejected(false)
		if n := strings.Count(w.get("/api/v1/results?target=b"), `"target":"b"`); n <= results {
			t.Errorf("b has %d results, and had %d before it was rejected", n, results)
		}
		w.expectSlots("a", "ok=24")

		writeFile(t, dir, "set", "no JSON")
		time.Sleep(time.Minute)
		writeFile(t, dir, "targets.yaml", strings.SplitAfter(targets, "http://a}\n")[0])
		time.Sleep(time.Minute)
		w.expectTargets("a")
		w.expectPage("/api/v1/targets", `"name":"b"`, false)
	})
}

// TestNothingRight holds that a configuration in which no target is right is refused: at the start, and in a reload,
// where the previous one stays in force.
func TestNothingRight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		path := filepath.Join(dir, "targets.yaml")
		writeFile(t, dir, "targets.yaml", "targets:\n- {name: a, url: http://a}\n")
		w := newWorld(t, &Daemon{}, []string{"a"}, "PROBER_TARGETS_FILE", path)
		writeFile(t, dir, "set", "no JSON")
		writeFile(t, dir, "targets.yaml", "prompt: dataset\ndataset_file: set\ntargets:\n- {url: http://a}\n- {url: http://b}\n")
		time.Sleep(time.Minute)
		w.expectText("llm_prober_config_last_reload_successful 0")
		w.expectReady("Ready")
		w.expectSlots("a", "ok=6")
		w.expectPage("/", "2 problems:", true)
	})
}
