package config

import (
	"math"
	"strconv"
	"testing"
)

func TestProblemsOfObjectives(t *testing.T) {
	const goal = "\nOBJECTIVES_0_GOAL=0.9"
	for _, test := range []struct{ name, environ, want string }{
		{"a goal in percent", "OBJECTIVES_0_SIGNAL=availability\nOBJECTIVES_0_GOAL=99.9", `PROBER_OBJECTIVES_0_GOAL="99.9": must be above 0 and below 1; goals are ratios: 0.999`},
		{"a goal with a percent sign", "OBJECTIVES_0_SIGNAL=availability\nOBJECTIVES_0_GOAL=95%", `PROBER_OBJECTIVES_0_GOAL="95%": must be above 0 and below 1; goals are ratios: 0.95`},
		{"a goal of 1 leaves no budget", "OBJECTIVES_0_SIGNAL=availability\nOBJECTIVES_0_GOAL=1",
			`PROBER_OBJECTIVES_0_GOAL="1": must be above 0 and below 1; want a ratio between 0 and 1, for example 0.99`},
		{"a goal that is no number", "OBJECTIVES_0_SIGNAL=availability\nOBJECTIVES_0_GOAL=high",
			`PROBER_OBJECTIVES_0_GOAL="high": not a number; want a ratio between 0 and 1, for example 0.99`},
		{"no goal", "OBJECTIVES_0_SIGNAL=availability", `PROBER_OBJECTIVES_0_GOAL: not given; want a ratio between 0 and 1, for example 0.99`},
		{"no signal", "OBJECTIVES_0_GOAL=0.9", `PROBER_OBJECTIVES_0_SIGNAL: not given; want ttft, server_ttft, ttfat, tpot, max_gap, e2el or availability`},
		{"an unknown signal", "OBJECTIVES_0_SIGNAL=tfft" + goal,
			`PROBER_OBJECTIVES_0_SIGNAL="tfft": unknown (did you mean "ttft"?); want ttft, server_ttft, ttfat, tpot, max_gap, e2el or availability`},
		{"a latency without limit", "OBJECTIVES_0_SIGNAL=e2el" + goal, `PROBER_OBJECTIVES_0_LIMIT: not given; e2el needs a limit, for example 2s`},
		{"availability with a limit", "OBJECTIVES_0_SIGNAL=availability\nOBJECTIVES_0_LIMIT=2s" + goal, `PROBER_OBJECTIVES_0_LIMIT="2s": availability has no limit; leave it out`},
		{"a name that no label should have", "OBJECTIVES_0_SIGNAL=availability\nOBJECTIVES_0_NAME=A b" + goal, `PROBER_OBJECTIVES_0_NAME="A b": not an identifier; want a-z, 0-9 and _ only`},
		{"one signal twice without names", "OBJECTIVES_0_SIGNAL=availability\nOBJECTIVES_1_SIGNAL=availability\nOBJECTIVES_1_GOAL=0.8" + goal,
			`PROBER_OBJECTIVES_1_SIGNAL="availability": the name "availability" is already taken by PROBER_OBJECTIVES_0_SIGNAL="availability"; set PROBER_OBJECTIVES_1_NAME`},
		{"a gap in the indices", "OBJECTIVES_1_SIGNAL=availability\nOBJECTIVES_1_GOAL=0.8",
			`PROBER_OBJECTIVES_1_GOAL: not an entry of the list; number entries from 0 without a gap
PROBER_OBJECTIVES_1_SIGNAL: not an entry of the list; number entries from 0 without a gap`},
		{"a goal that the rate cannot measure", "QPS=0.01\nOBJECTIVES_0_SIGNAL=availability\nOBJECTIVES_0_GOAL=0.999",
			`PROBER_OBJECTIVES_0_GOAL="0.999": cannot be measured at the 0.01 probes per second of target "one:8000": ` +
				`a page (burn rate 14.4 over one hour) must need 3 bad probes; at this rate want a goal of at most 0.9942, or for this goal want at least 0.058 probes per second`},
		{"the slowest target counts", "OBJECTIVES_0_SIGNAL=availability\nOBJECTIVES_0_GOAL=0.999\nTARGETS_1_URL=http://slow\nTARGETS_1_QPS=0.02",
			`PROBER_OBJECTIVES_0_GOAL="0.999": cannot be measured at the 0.02 probes per second of target "slow:80": ` +
				`a page (burn rate 14.4 over one hour) must need 3 bad probes; at this rate want a goal of at most 0.9971, or for this goal want at least 0.058 probes per second`},
		{"a rate that no goal suits, and the default goal", "QPS=0.00001",
			`PROBER_OBJECTIVES_0_GOAL="0.99" (default): cannot be measured at the 1e-05 probes per second of target "one:8000": ` +
				`a page (burn rate 14.4 over one hour) must need 3 bad probes; for this goal want at least 0.0058 probes per second`},
	} {
		t.Run(test.name, func(t *testing.T) {
			problems(t, Options{Environ: withTarget(test.environ)}, test.want)
		})
	}
}

func TestEqualityOnPaperIsMeasurable(t *testing.T) {
	for _, goal := range []float64{0.99, 0.999} {
		if qps := 3.0 / 51840 / (1 - goal); !measurable(qps, goal) || measurable(qps*0.999999, goal) {
			t.Errorf("%v probes a second and %v: the bound is not exact", qps, goal)
		}
	}
}

func TestHintsOfTheBudgetRuleWouldDo(t *testing.T) {
	for exponent := -4.0; exponent <= 3; exponent += 0.01 {
		qps := math.Pow(10, exponent)
		text := largestGoal(qps)
		goal, err := strconv.ParseFloat(text, 64)
		if err != nil || goal <= 0 || goal >= 1 || !measurable(qps, goal) {
			t.Errorf("%v probes per second: goal %q does not do", qps, text)
		}
		if better := goal + (1-goal)/9; measurable(qps, better) {
			t.Errorf("%v probes per second: goal %q is hinted, but %v would do", qps, text, better)
		}
		rate, err := strconv.ParseFloat(smallestQPS(goal), 64)
		if err != nil || !measurable(rate, goal) || measurable(rate*0.9, goal) {
			t.Errorf("goal %v: %v probes per second is not the least that does", goal, rate)
		}
	}
}
