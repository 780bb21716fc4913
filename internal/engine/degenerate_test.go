package engine

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/llm-prober/prober/internal/sim"
	"github.com/llm-prober/prober/internal/testing/exposition"
)

// TestAServerWhoseLogitsBecomeNaN holds what its target shows on /metrics: wrong answers, and answers that are all one
// repeated token. Where the API goes on with a bare text, there is only the latter.
func TestAServerWhoseLogitsBecomeNaN(t *testing.T) {
	for api, wantWrong := range map[string]float64{"openai-chat": 6, "openai-completions": 0} {
		t.Run(api, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := newDiary(t)
				d.apply("", "TARGETS_0_NAME=t", "TARGETS_0_URL=http://a", "TARGETS_0_API="+api, "QPS=0.1", "MAX_TOKENS=40")
				shows := func(name string, want float64) {
					t.Helper()
					got, ok := exposition.Value(d.metrics(), name)
					if !ok || got != want {
						t.Errorf("%s is %v (%t), want %v", name, got, ok, want)
					}
				}
				const wrong = `llm_probe_probes_total{target="t",outcome="wrong_answer"}`
				const repeated = `llm_probe_answer_repeated_ratio{target="t"}`

				time.Sleep(2*time.Minute + time.Second)
				synctest.Wait()
				shows(wrong, 0)
				shows(repeated, 0)

				d.servers.Fail("a", sim.Fault{Degenerate: true})
				time.Sleep(time.Minute)
				synctest.Wait()
				shows(wrong, wantWrong)
				shows(repeated, 1)
			})
		})
	}
}
