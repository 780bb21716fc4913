package bench

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/llm-prober/prober/internal/probe"
	"github.com/llm-prober/prober/internal/report"
	"github.com/llm-prober/prober/internal/sim"
)

// TestGoodput holds that the requests which met all objectives count: of eight, the sixth is slow and the last two
// fail. And that the run fails on an objective only if the plan says so.
func TestGoodput(t *testing.T) {
	for _, failOn := range []string{"", "objective"} {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, map[string]sim.Config{"it": simConfig(t, "fast", 1)})
			var out, errs strings.Builder
			settings := map[string]string{"PROMPT_TOKENS": "80", "MAX_TOKENS": "5", "QPS": "1"}
			s := r.setup(t, []string{"it"}, Options{Requests: 8}, settings, &out, &errs)
			s.Plan.Gate.Objective = failOn != ""
			s.Plan.Lengths[0].Given = []probe.Objective{
				{Signal: probe.SignalTTFT, Limit: 50 * time.Millisecond, Goal: 0.625}, // exactly met
				{Signal: probe.SignalTPOT, Limit: time.Second, Goal: 0.8},
				{Signal: probe.SignalMaxGap, Limit: time.Microsecond, Goal: 0.5},
				{Signal: probe.SignalAvailability, Goal: 0.75},
			}
			if failOn == "" {
				s.Plan.Lengths[0].Given = s.Plan.Lengths[0].Given[:2]
			}
			for _, f := range []struct {
				after time.Duration
				sim.Fault
			}{{4500 * time.Millisecond, sim.Fault{TTFT: 10}}, {5500 * time.Millisecond, sim.Fault{Status: 503}}} {
				faulty := time.AfterFunc(f.after, func() {
					if err := r.servers["it"].SetFault(f.Fault); err != nil {
						t.Error(err)
					}
				})
				defer faulty.Stop()
			}
			run := newRun(s)
			if err := run.measureAll(t.Context()); err != nil {
				t.Fatal(err)
			}
			goodput := report.Number(5.0 / 8)
			if err := run.gate(); errors.Is(err, report.ErrMissed) != (failOn != "") {
				t.Errorf("failing on %q: %v", failOn, err)
			} else if failOn != "" {
				goodput = 0 // no gap is that short
			}
			equal(t, "goodput", run.document.Summaries[0].Throughput().Good, goodput)
			const block = "Met ttft<50ms@62.5%:                     62.5% (5 of 8)\n" +
				"Missed tpot<1s@80%:                      75% (6 of 8)\n"
			const few = "warning: too few requests to show at 95% confidence that a goal holds, even if\n" +
				"  all are good: tpot<1s@80% takes 14"
			if text := out.String(); !strings.Contains(text, block) || !strings.Contains(text, few) {
				t.Error(text)
			}
			const by = "missed by it, 1 QPS, prompts of 80 tokens"
			const missed = "\nobjective tpot<1s@80%: " + by + ": 75% (6 of 8), worst 1.00 ms, 2 failed\n" +
				"objective max_gap<1µs@50%: " + by + ": 0% (0 of 8), worst 1.00 ms, 2 failed\n"
			if strings.HasSuffix(errs.String(), missed) != (failOn != "") {
				t.Errorf("failing on %q: %s", failOn, errs.String())
			}
		})
	}
}
