package config

import (
	"fmt"
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
		goal, err := strconv.ParseFloat(fmt.Sprintf("%.10g", largestGoal(qps)), 64)
		if better := goal + (1-goal)/9; err != nil || goal <= 0 || !measurable(qps, goal) || measurable(qps, better) {
			t.Errorf("%v probes per second: goal %v does not do, or %v would do", qps, goal, better)
		}
		rate, err := strconv.ParseFloat(fmt.Sprintf("%.10g", smallestQPS(goal)), 64)
		if err != nil || !measurable(rate, goal) || measurable(rate*0.9, goal) {
			t.Errorf("goal %v: %v probes per second is not the least that does", goal, rate)
		}
	}
}
