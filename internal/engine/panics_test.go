package engine

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/llm-prober/prober/internal/testing/exposition"
)

// TestPanics holds that panics of the prober itself are logged with their group and their stack and counted, end
// nothing, and are no outcome of the target: while the length of prompts is made exact, and in a probe.
func TestPanics(t *testing.T) {
	for name, test := range map[string]struct {
		breaks func(j *Job)
		place  string // in the stack
		panics int
		slots  string
	}{
		"in probes":                            {func(j *Job) { j.Members[0].Budget = nil }, "(*Budget).Reserve", 6, "ok=6"},
		"in probes and in what is asked ahead": {func(j *Job) { j.Length.Prompts[0].Members = nil }, "length.(*Questions)", 12, "ok=6"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := newDiary(t)
				d.apply("", "TARGETS_0_URL=http://a")
				time.Sleep(time.Minute)
				d.logs.TakeAll()
				synctest.Wait()
				test.breaks(d.runner.jobs[0])
				d.runner.jobs[0].Members[0].Draining.Store(false) // as before; who probes loads it, and then sees what is broken
				time.Sleep(time.Minute)
				metrics := d.metrics()
				if got := exposition.Slots(metrics)["a:80"]; got != test.slots {
					t.Errorf("slots %q, want %q", got, test.slots)
				}
				bad, _ := exposition.Value(metrics, `llm_probe_objective_events_total{target="a:80",verdict="bad"}`)
				if bad > 0 {
					t.Errorf("%v bad events, want 0", bad)
				}
				if line := fmt.Sprintf("\nllm_prober_internal_errors_total %d\n", test.panics); !strings.Contains(metrics, line) {
					t.Errorf("metrics without %q", line)
				}
				entries := d.logs.FilterLevelExact(zapcore.ErrorLevel).FilterField(zap.String("group", "a:80")).All()
				if len(entries) != test.panics {
					t.Errorf("%d panics are logged, want %d", len(entries), test.panics)
				}
				for _, entry := range entries {
					if stack, _ := entry.ContextMap()["stack"].(string); !strings.Contains(stack, test.place) {
						t.Errorf("a stack without %s:\n%s", test.place, stack)
					}
				}
			})
		})
	}
}
