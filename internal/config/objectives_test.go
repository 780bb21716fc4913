package config

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/llm-prober/prober/internal/usage"
)

// TestObjectivesOfFlags holds that they replace the configured ones, need not be measurable, and that each mistake is named.
func TestObjectivesOfFlags(t *testing.T) {
	for text, want := range map[string][]Objective{
		"ttft<2s@95%":                {{Name: "ttft", Signal: "ttft", Limit: 2 * time.Second, Goal: 0.95}},
		"max_gap = 500ms @ 99.9999%": {{Name: "max_gap", Signal: "max_gap", Limit: 500 * time.Millisecond, Goal: 0.999999}},
		"tpot<1m30s":                 {{Name: "tpot", Signal: "tpot", Limit: 90 * time.Second, Goal: 0.99}},
		"availability@0.5":           {{Name: "availability", Signal: "availability", Goal: 0.5}},
		"e2el<9s@90%,ttft<1s@90%,e2el<1s@50%": {
			{Name: "e2el", Signal: "e2el", Limit: 9 * time.Second, Goal: 0.9}, {Name: "ttft", Signal: "ttft", Limit: time.Second, Goal: 0.9},
			{Name: "e2el_3", Signal: "e2el", Limit: time.Second, Goal: 0.5},
		},
	} {
		c := load(t, Options{Environ: withTarget("OBJECTIVES_0_SIGNAL=availability"), Objectives: strings.Split(text, ",")})
		if diff := cmp.Diff(want, c.Given); diff != "" || cmp.Diff(c.Given, c.Objectives) != "" {
			t.Errorf("%s: -want +got\n%s", text, diff)
		}
		if again := load(t, Options{Environ: withTarget(""), Objectives: []string{c.Given[0].String()}}); again.Given[0] != want[0] {
			t.Errorf("%s is written as %s, which means %+v", text, c.Given[0], again.Given[0])
		}
	}
	for text, want := range map[string]string{
		"":                "not an objective; want a signal",
		"TTFT<2s":         "not an objective; want a signal",
		"ttft<2s@95%@":    "not a number; want a ratio",
		"ttfx<1s":         `unknown (did you mean "ttft"?)`,
		"ttft@95%":        "not given; ttft needs a limit",
		"ttft<2":          "has no unit; want a duration with its unit",
		"ttft<-2s":        "must be at least 1us",
		"ttft<2s@100%":    "must be 0.001 to 0.999999",
		"availability<2s": "availability has no limit",
	} {
		_, err := Load(Options{Environ: withTarget(""), Objectives: []string{text}})
		if problems, ok := errors.AsType[usage.Problems](err); !ok || len(problems) != 1 || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), usage.FlagPlace("objective", text)) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
	goal := withTarget("OBJECTIVES_0_GOAL=0.999999")
	if c := load(t, Options{Environ: goal, Finite: true}); len(c.Given) != 1 {
		t.Errorf("given: %v", c.Given)
	}
	if c := load(t, Options{Environ: withTarget("")}); c.Given != nil {
		t.Errorf("given, though not: %v", c.Given)
	}
}

// budgetHint is the hint about a goal that so many probes a second cannot measure; empty if they can.
func budgetHint(qps, goal float64) string {
	slow := &target{origin: newOrigin(nil, variableAt(""))}
	slow.QPS = qps
	l := &loader{targets: []*target{slow}}
	o := &objective{objectiveSettings: objectiveSettings{Goal: goal}, origin: newOrigin(nil, variableAt(""))}
	o.says["GOAL"] = value{text: fmt.Sprint(goal)}
	l.validateGoal(o)
	if len(o.problems) == 0 {
		return ""
	}
	return o.problems[0].Hint
}

func measurable(qps, goal float64) bool { return budgetHint(qps, goal) == "" }

// TestBudgetRule holds its bound, that an hour must have three probes at all, and that what its hints tell would do.
func TestBudgetRule(t *testing.T) {
	const least = 3.0 / 3600 // three probes an hour: any goal that is low enough
	for exponent := -4.0; exponent <= 3; exponent += 0.01 {
		qps, asked := math.Pow(10, exponent), 1-1e-9
		hint := budgetHint(qps, asked)
		var goal, rate float64
		if qps < least {
			if _, err := fmt.Sscanf(hint, "want at least %g probes per second", &rate); err != nil {
				t.Errorf("%v probes per second: %q: %v", qps, hint, err)
			}
			if measurable(qps, 0.001) {
				t.Errorf("%v probes per second: a goal would do", qps)
			}
		} else {
			_, err := fmt.Sscanf(hint, "want a goal of at most %g, or at least %g probes per second", &goal, &rate)
			if better := goal + (1-goal)/9; err != nil || goal <= 0 || !measurable(qps, goal) || measurable(qps, better) {
				t.Errorf("%v probes per second: goal %v does not do, or %v would do: %v", qps, goal, better, err)
			}
		}
		if !measurable(rate, asked) || measurable(rate*0.9, asked) {
			t.Errorf("%v probes per second are not the least that do", rate)
		}
	}
	for _, goal := range []float64{0.99, 0.999} {
		if qps := 3.0 / 51840 / (1 - goal); !measurable(qps, goal) || measurable(qps*0.999999, goal) {
			t.Errorf("%v probes a second and %v: the bound is not exact", qps, goal)
		}
	}
	for _, goal := range []float64{0.1, 0.5, 0.85, 1 - 1/14.4} {
		if !measurable(least, goal) || measurable(least*0.999999, goal) {
			t.Errorf("three probes an hour and %v: the bound is not exact", goal)
		}
	}
}

// TestDefaultGoalIsNoReasonNotToStart holds that a goal that nobody wrote is warned of where it cannot page, with what
// to do, and that one that somebody wrote is refused.
func TestDefaultGoalIsNoReasonNotToStart(t *testing.T) {
	const (
		reason = `goal 0.99 by default (PROBER_OBJECTIVES_0_GOAL), is not reliable: cannot page at the `
		few    = ` probes per second of target "one:8000": fewer than 3 bad probes an hour would burn its budget fast enough; `
	)
	for environ, want := range map[string][]string{
		"QPS=0.0058": nil,
		"QPS=0.001": {`the alert of objective "availability", ` + reason + "0.001" + few +
			"want a goal of at most 0.942, or at least 0.0058 probes per second"},
		"QPS=0.0001": {`the alert of objective "availability", ` + reason + "0.0001" + few +
			"want at least 0.0058 probes per second"},
		"QPS=0.001\nOBJECTIVES_0_SIGNAL=ttft\nOBJECTIVES_0_LIMIT=2s": {`the alert of objective "ttft", ` + reason + "0.001" + few +
			"want a goal of at most 0.942, or at least 0.0058 probes per second"},
	} {
		if diff := cmp.Diff(want, load(t, Options{Environ: withTarget(environ)}).Warnings); diff != "" {
			t.Errorf("%s: -want +got\n%s", environ, diff)
		}
	}
	if warnings := load(t, Options{Environ: withTarget("QPS=0.001"), Finite: true}).Warnings; warnings != nil {
		t.Errorf("a run that ends: %v", warnings)
	}
	if _, err := Load(Options{Environ: withTarget("QPS=0.001\nOBJECTIVES_0_GOAL=0.99")}); err == nil {
		t.Error("a goal that was written is not refused")
	}
	if c := load(t, Options{Environ: withTarget("QPS=0.001\nOBJECTIVES_0_GOAL=0.942")}); c.Warnings != nil {
		t.Errorf("what the warning tells to set: %v", c.Warnings)
	}
}
