package daemon

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"
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

// TestNothingIsMeasuredOfOtherLengths holds that every recorded probe has a prompt of the configured length, whatever
// was not there when it was to be calibrated, and that a server that is down is seen to be down meanwhile.
func TestNothingIsMeasuredOfOtherLengths(t *testing.T) {
	group := []string{"PROBER_TARGETS_0_GROUP", "ab", "PROBER_TARGETS_1_GROUP", "ab",
		"PROBER_TARGETS_0_URL", "http://late", "PROBER_TARGETS_1_URL", "http://a"}
	configured := []string{"PROBER_TARGETS_0_URL", "http://late", "PROBER_TARGETS_0_API", "openai-chat",
		"PROBER_TARGETS_0_MODEL", "meta-llama/Llama-3.1-8B-Instruct"}
	for name, test := range map[string]struct {
		hosts   []string
		environ []string
		down    string // the slots of late in the first minute; empty: it is not among them
		up      string // those of its second minute, in which it is up
		late    int    // its probes that are measured by then
		a       int    // those of a, if it is among them
	}{
		"a dead first member": {
			hosts: []string{"late", "a"}, environ: group, down: "connect=6", up: "ok=6", late: 6, a: 12,
		},
		"a server that comes after the prober": {
			hosts: []string{"late"}, down: "connect=6", up: "ok=5 waiting=1", late: 5,
		},
		"one of which all is configured": {
			hosts: []string{"late"}, environ: configured, down: "connect=6", up: "connect=6 ok=5 waiting=1", late: 5,
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, &Daemon{}, test.hosts, test.environ...)
				time.Sleep(time.Minute)
				w.expectSlots("late:80", test.down)
				w.closed.Delete("late")
				time.Sleep(time.Minute)
				w.expectSlots("late:80", test.up)
				w.expectMeasured("late:80", test.late)
				if test.a > 0 {
					w.expectMeasured("a:80", test.a)
					w.expectPage("/api/v1/targets", "is exact by the count of a:80", true)
				}
			})
		})
	}
}

// TestATokenizerThatTimesOutOnce holds that the prompts are then exact by the usage of requests that are recorded
// nowhere.
func TestATokenizerThatTimesOutOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, &Daemon{}, []string{"slow"})
		time.Sleep(time.Minute + 10*time.Second)
		w.expectMeasured("slow:80", 6)
		w.expectLogged(1, "the length of the prompts is known")
	})
}
