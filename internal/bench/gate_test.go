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
	"github.com/llm-prober/prober/internal/stats"
)

// eightRequests returns a run of eight requests, of which the sixth is slow and the last two fail, with objectives.
func eightRequests(t *testing.T, objectives ...probe.Objective) *testRun {
	t.Helper()
	r := newRig(t, "fast", "it")
	r.servers.FailAfter(4500*time.Millisecond, "it", sim.Fault{TTFT: 10})
	r.servers.FailAfter(5500*time.Millisecond, "it", sim.Fault{Status: 503})
	run := r.newRun(CommandLine{Requests: 8}, []string{"it"}, "QPS", "1")
	run.Plan.Lengths[0].Targets[0].GivenObjectives = objectives
	return run
}

// TestGoodputCountsRequestsThatMeetAllObjectives holds that a failed request meets none, that a goal may be met
// exactly, and that the run does not fail on a goal that is missed unless that was asked for.
func TestGoodputCountsRequestsThatMeetAllObjectives(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		run := eightRequests(t,
			probe.Objective{Signal: probe.SignalTTFT, Limit: 50 * time.Millisecond, Goal: 0.625},
			probe.Objective{Signal: probe.SignalTPOT, Limit: time.Second, Goal: 0.8})
		equal(t, "goodput", run.measure(t).Summaries[0].Throughput().Goodput, stats.Number(5.0/8))
		contains(t, "output", run.out.String(), "Met ttft<50ms@62.5%:                     62.5% (5 of 8)\n"+
			"Missed tpot<1s@80%:                      75% (6 of 8)\n")
		contains(t, "output", run.out.String(), "warning: too few requests to show at 95% confidence that a goal "+
			"holds, even if\n  all are good: tpot<1s@80% takes 14")
		equal(t, "what the run fails on", run.gate(), nil)
		if errs := run.errs.String(); strings.Contains(errs, "missed") {
			t.Error(errs)
		}
	})
}

// TestFailOnObjective holds that each objective that is missed is named, and none that is met.
func TestFailOnObjective(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		run := eightRequests(t,
			probe.Objective{Signal: probe.SignalTTFT, Limit: 50 * time.Millisecond, Goal: 0.625},
			probe.Objective{Signal: probe.SignalTPOT, Limit: time.Second, Goal: 0.8},
			probe.Objective{Signal: probe.SignalMaxGap, Limit: time.Microsecond, Goal: 0.5},
			probe.Objective{Signal: probe.SignalAvailability, Goal: 0.75})
		run.Plan.Gate.Objective = true
		run.measure(t)
		run.errs.Reset()
		if err := run.gate(); !errors.Is(err, report.ErrMissed) {
			t.Errorf("%v, want that an objective is missed", err)
		}
		const missed = "missed by it, 1 QPS, prompts of 80 tokens"
		equal(t, "errs", run.errs.String(), ""+
			"objective tpot<1s@80%: "+missed+": 75% (6 of 8), worst 1.00 ms, 2 failed\n"+
			"objective max_gap<1µs@50%: "+missed+": 0% (0 of 8), worst 1.00 ms, 2 failed\n")
	})
}

// TestFailOnRegression holds that a run fails on a second target that is slower, and on nothing that is not shown.
func TestFailOnRegression(t *testing.T) {
	for name, test := range map[string]struct {
		fault sim.Fault // of the second target
		why   string    // the run fails; empty: it does not
	}{
		"as fast":         {sim.Fault{}, ""},
		"faster":          {sim.Fault{ITL: 0.5}, ""},
		"a higher TPOT":   {sim.Fault{ITL: 2}, "regression, concurrency 1: TPOT: new is "},
		"does not answer": {sim.Fault{Status: 503}, "regression, concurrency 1: nothing was judged: "},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, "fast", "old", "new")
				r.servers.FailAfter(0, "new", test.fault)
				run := r.newRun(CommandLine{Requests: 10, Concurrency: 1}, []string{"old", "new"})
				run.Plan.Gate.Regression = true
				run.measure(t)
				run.errs.Reset()
				equal(t, "whether the run fails", errors.Is(run.gate(), report.ErrMissed), test.why != "")
				contains(t, "errs", run.errs.String(), test.why)
				equal(t, "whether anything is said", run.errs.Len() > 0, test.why != "")
			})
		})
	}
}

// TestNothingToCompareIsARegression holds that a gate which compared nothing does not pass.
func TestNothingToCompareIsARegression(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		run := newRig(t, "fast", "old", "new").newRun(CommandLine{Requests: 1, Concurrency: 1}, []string{"old", "new"})
		run.steps = 1
		equal(t, "whether the gate passes", run.gateRegressions(), false)
		equal(t, "errs", run.errs.String(), "regression: a target was not asked: nothing to compare\n")
	})
}
