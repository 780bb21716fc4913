package daemon

import (
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/llm-prober/prober/internal/testing/simnet"
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

// TestOneBadTargetStopsNoOther holds that a target whose file is missing is shown and logged once while the other is
// probed, that a reload names it, and that it starts when the file is there. It keeps its results while it is rejected
// again, and is forgotten when it is left out.
func TestOneBadTargetStopsNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const a, b = "- {name: a, url: http://a}\n", "- {name: b, url: http://b, prompt: dataset, dataset_file: set}\n"
		dir := t.TempDir()
		path := writeFile(t, dir, "targets.yaml", "targets:\n"+a+b)
		prober := start(t, simnet.New(t, "a", "b"), &Daemon{}, "PROBER_TARGETS_FILE", path)
		time.Sleep(time.Minute)
		prober.expectRejected(true)
		prober.expectShown("/?target=b", "no such file or directory")
		prober.expectTargets("a")
		_, text := prober.ask(http.MethodPost, "/-/reload")
		if !strings.HasPrefix(text, "reloaded\ntarget b is rejected: 1 problem:\n") {
			t.Errorf("the reload says %s", text)
		}
		prober.expectLogged(1, rejectedTarget)

		writeFile(t, dir, "set", `{"prompt": "Name a colour."}`)
		time.Sleep(time.Minute)
		prober.expectRejected(false)
		prober.expectShown("/api/v1/results?target=b", `"target":"b"`)

		writeFile(t, dir, "set", "no JSON")
		time.Sleep(time.Minute)
		prober.expectRejected(true)
		prober.expectLogged(2, rejectedTarget)
		prober.expectShown("/api/v1/results?target=b", `"target":"b"`)

		writeFile(t, dir, "targets.yaml", "targets:\n"+a)
		time.Sleep(time.Minute)
		prober.expectNotShown("/api/v1/targets", `"name":"b"`)
		prober.expectSlots("a", "ok=24")
	})
}

// TestNothingRight holds that a configuration in which no target is right is refused: at the start, and in a reload,
// where the previous one stays in force.
func TestNothingRight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		path := filepath.Join(dir, "targets.yaml")
		writeFile(t, dir, "targets.yaml", "targets:\n- {name: a, url: http://a}\n")
		servers := simnet.New(t, "a")
		prober := start(t, servers, &Daemon{}, "PROBER_TARGETS_FILE", path)
		writeFile(t, dir, "set", "no JSON")
		const settings = "prompt: dataset\ndataset_file: set\n"
		writeFile(t, dir, "targets.yaml", settings+"targets:\n- {url: http://a}\n- {url: http://b}\n")
		time.Sleep(time.Minute)
		prober.expectLastReload(false)
		prober.expectReady(true)
		prober.expectSlots("a", "ok=6")
		prober.expectShown("/", "2 problems:")
	})
}
