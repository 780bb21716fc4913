package daemon

import (
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// rejectedTarget is the message that is logged for each problem of a target that is not probed.
const rejectedTarget = "target rejected: it is not probed"

// expectRejected expects whether the target b is shown as rejected, everywhere.
func (i *instance) expectRejected(want bool) {
	i.t.Helper()
	metric, _ := i.metric(`llm_prober_target_rejected{target="b"}`)
	got := map[string]bool{
		"/metrics":        metric == 1,
		"/?target=b":      strings.Contains(i.get("/?target=b"), `data-state="rejected"`),
		"/api/v1/targets": strings.Contains(i.get("/api/v1/targets"), `"state":"rejected","problems":[{"place":`),
	}
	if diff := cmp.Diff(map[string]bool{"/metrics": want, "/?target=b": want, "/api/v1/targets": want}, got); diff != "" {
		i.t.Errorf("whether b is rejected (-want +got):\n%s", diff)
	}
	i.expectLastReload(true)
	i.expectReady(true)
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
		servers := newNetwork(t, "a", "b")
		prober := servers.start(&Daemon{},
			"PROBER_TARGETS_FILE", writeFile(t, dir, "targets.yaml", targets))
		time.Sleep(time.Minute)
		prober.expectRejected(true)
		prober.expectShown("/?target=b", "no such file or directory")
		prober.expectLogged(1, rejectedTarget)
		prober.expectSlots("a", "ok=6")

		writeFile(t, dir, "set", good)
		time.Sleep(time.Minute)
		prober.expectRejected(false)
		prober.expectLogged(1, "target is no longer rejected")
		results := strings.Count(prober.get("/api/v1/results?target=b"), `"target":"b"`)
		if results == 0 {
			t.Error("b is not probed")
		}

		writeFile(t, dir, "set", "")
		time.Sleep(time.Minute)
		prober.expectRejected(true)
		prober.expectLogged(2, rejectedTarget)
		prober.expectTargets("a")
		status, text := prober.ask(http.MethodPost, "/-/reload")
		if status != http.StatusOK || !strings.HasPrefix(text, "reloaded\ntarget b is rejected: 1 problem:\n  target b: ") {
			t.Errorf("%d %s", status, text)
		}
		prober.expectLogged(2, rejectedTarget)

		writeFile(t, dir, "set", good)
		time.Sleep(time.Minute)
		prober.expectRejected(false)
		if n := strings.Count(prober.get("/api/v1/results?target=b"), `"target":"b"`); n <= results {
			t.Errorf("b has %d results, and had %d before it was rejected", n, results)
		}
		prober.expectSlots("a", "ok=24")

		writeFile(t, dir, "set", "no JSON")
		time.Sleep(time.Minute)
		writeFile(t, dir, "targets.yaml", strings.SplitAfter(targets, "http://a}\n")[0])
		time.Sleep(time.Minute)
		prober.expectTargets("a")
		prober.expectNotShown("/api/v1/targets", `"name":"b"`)
	})
}

// TestNothingRight holds that a configuration in which no target is right is refused: at the start, and in a reload,
// where the previous one stays in force.
func TestNothingRight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		path := filepath.Join(dir, "targets.yaml")
		writeFile(t, dir, "targets.yaml", "targets:\n- {name: a, url: http://a}\n")
		servers := newNetwork(t, "a")
		prober := servers.start(&Daemon{}, "PROBER_TARGETS_FILE", path)
		writeFile(t, dir, "set", "no JSON")
		writeFile(t, dir, "targets.yaml", "prompt: dataset\ndataset_file: set\ntargets:\n- {url: http://a}\n- {url: http://b}\n")
		time.Sleep(time.Minute)
		prober.expectLastReload(false)
		prober.expectReady(true)
		prober.expectSlots("a", "ok=6")
		prober.expectShown("/", "2 problems:")
	})
}
