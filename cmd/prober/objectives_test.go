package main

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/model"

	"github.com/llm-prober/prober/internal/config"
)

// A burn is one of the alerts on the error budget: how fast it burns, over which
// windows, and for how long it must do so.
type burn struct {
	rate                 float64
	long, short, lasting model.Duration
}

const hour, minute = model.Duration(time.Hour), model.Duration(time.Minute)

// burns are three of the SRE workbook, as alerts/rules.yaml has them. The first two are one alert.
var burns = []burn{
	{14.4, hour, 5 * minute, 2 * minute},
	{6, 6 * hour, 30 * minute, 2 * minute},
	{1, 72 * hour, 6 * hour, 3 * hour},
}

// leastBad is how many probes that alerts count as bad at least: ProberErrorBudgetBurn.
const leastBad = 3

// TestBestGoals holds the table of docs/objectives.md against the rule by which the configuration refuses objectives.
func TestBestGoals(t *testing.T) {
	page := read(t, "docs/objectives.md")
	for qps, goal := range map[float64]float64{1: 0.999942, 0.1: 0.99942, 0.05: 0.9988, 0.01: 0.9942} {
		every := time.Duration(float64(time.Second) / qps)
		row := fmt.Sprintf("| %v | %v | %s | %s |\n", qps, goal, patience(200*every), patience(1000*every))
		if !strings.Contains(page, row) {
			t.Errorf("docs/objectives.md has no row\n%s", row)
		}
		_, decimals, _ := strings.Cut(fmt.Sprint(goal), ".")
		better := goal + math.Pow10(-len(decimals))
		if !accepted(qps, goal) || accepted(qps, better) {
			t.Errorf("%v probes a second: %v is accepted: %t, %v: %t", qps, goal, accepted(qps, goal), better, accepted(qps, better))
		}
	}
}

// TestBurnsAreThoseOfTheRules holds that the page speaks of the alerts there are.
func TestBurnsAreThoseOfTheRules(t *testing.T) {
	rules, page := read(t, "alerts/rules.yaml"), read(t, "docs/budgets.md")
	for _, b := range burns {
		factor := fmt.Sprintf("%v * ", b.rate)
		if b.rate == 1 {
			factor = ""
		}
		for _, window := range []model.Duration{b.long, b.short} {
			burns := fmt.Sprintf("bad_ratio_rate%v > clamp_max(%starget:llm_probe_objective_budget:ratio, 0.99)", window, factor)
			if strings.Count(rules, burns) != 1 && window != 5*minute {
				t.Errorf("the rules have %q %d times, want once", burns, strings.Count(rules, burns))
			}
		}
		if lasting := fmt.Sprintf("    for: %v\n", b.lasting); !strings.Contains(rules, lasting) {
			t.Errorf("no rule waits for %v", b.lasting)
		}
		if row := fmt.Sprintf("| %v | %v & %v | %v |", b.rate, b.long, b.short, b.lasting); !strings.Contains(page, row) {
			t.Errorf("docs/budgets.md has no row %s", row)
		}
	}
	if !strings.Contains(rules, "bad_increase1h > 2.5") {
		t.Errorf("a page does not need %d bad probes", leastBad)
	}
}

// patience is a time as people say it, rounded up to minutes below an hour.
func patience(d time.Duration) string {
	if d < time.Hour {
		return fmt.Sprintf("%.0f min", math.Ceil(d.Minutes()))
	}
	return fmt.Sprintf("%.1f h", math.Ceil(d.Hours()*10)/10)
}

// accepted reports whether the configuration takes a goal at a rate.
func accepted(qps, goal float64) bool {
	_, err := config.Load(config.Options{URLs: []string{"http://a"}, Environ: map[string]string{
		"PROBER_QPS":                 fmt.Sprint(qps),
		"PROBER_MAX_TOKENS_PER_DAY":  "none",
		"PROBER_OBJECTIVES_0_SIGNAL": "availability", "PROBER_OBJECTIVES_0_GOAL": strconv.FormatFloat(goal, 'g', 15, 64),
	}})
	return err == nil
}
