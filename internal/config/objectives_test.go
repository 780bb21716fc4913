package config

import (
	"math"
	"strconv"
	"testing"
)

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
