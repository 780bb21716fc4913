package config

import (
	"fmt"
	"math"
	"testing"
)

// budgetHint is the hint about a goal that so many probes a second cannot measure; empty if they can.
func budgetHint(qps, goal float64) string {
	l, given := &loader{}, values{"QPS": {}, "GOAL": {}}
	l.measure(Objective{Goal: goal}, item{values: given}, []entry{{&Target{Settings: Settings{QPS: qps}}, item{values: given}}})
	if len(l.problems) == 0 {
		return ""
	}
	return l.problems[0].Hint
}

func measurable(qps, goal float64) bool { return budgetHint(qps, goal) == "" }

func TestEqualityOnPaperIsMeasurable(t *testing.T) {
	for _, goal := range []float64{0.99, 0.999} {
		if qps := 3.0 / 51840 / (1 - goal); !measurable(qps, goal) || measurable(qps*0.999999, goal) {
			t.Errorf("%v probes a second and %v: the bound is not exact", qps, goal)
		}
	}
}

func TestHintsOfTheBudgetRuleWouldDo(t *testing.T) {
	const words = "at this rate want a goal of at most %g, or for this goal want at least %g probes per second"
	for exponent := -4.0; exponent <= 3; exponent += 0.01 {
		var goal, rate float64
		qps, asked := math.Pow(10, exponent), 1-1e-9
		_, err := fmt.Sscanf(budgetHint(qps, asked), words, &goal, &rate)
		if better := goal + (1-goal)/9; err != nil || goal <= 0 || !measurable(qps, goal) || measurable(qps, better) {
			t.Errorf("%v probes per second: goal %v does not do, or %v would do: %v", qps, goal, better, err)
		}
		if !measurable(rate, asked) || measurable(rate*0.9, asked) {
			t.Errorf("%v probes per second are not the least that do", rate)
		}
	}
}
