package config

import (
	"fmt"
	"strings"
	"testing"
)

// TestCostLimit holds which configurations cost too much, and that those with defaults start, however many targets they
// have.
func TestCostLimit(t *testing.T) {
	for name, test := range map[string]struct {
		targets  int
		environ  string
		finite   bool
		disabled bool   // the first target
		refused  string // in the problem; empty: there is none
		warned   string // in the only warning; empty: there is none
	}{
		"five with the defaults": {targets: 5},
		"six with the defaults": {
			targets: 6,
			warned: "1,093,824,000 tokens a day, and are probed: by default the limit does not count targets of up to " +
				"200,000,000; set one of your own, or none",
		},
		"a hundred with the defaults":        {targets: 100, warned: "cost 18,230,400,000 tokens a day"},
		"a hundred within a limit":           {targets: 100, environ: "MAX_TOKENS_PER_DAY=18230400000"},
		"a hundred without limit":            {targets: 100, environ: "MAX_TOKENS_PER_DAY=none"},
		"a hundred with the prompt sessions": {targets: 100, environ: "PROMPT=sessions", warned: "tokens a day"},
		"six with the default limit, written": {
			targets: 6, environ: "MAX_TOKENS_PER_DAY=1000000000", refused: "1,093,824,000",
		},
		"one above a limit": {targets: 1, environ: "MAX_TOKENS_PER_DAY=182303999", refused: "182,304,000"},
		"one at its limit":  {targets: 1, environ: "MAX_TOKENS_PER_DAY=182304000"},
		"six with the default limit, written, of which one is disabled": {
			targets: 6, environ: "MAX_TOKENS_PER_DAY=1000000000", disabled: true,
		},
		"a high rate within a budget, disabled": {
			targets: 1, environ: "QPS=30\nTOKEN_BUDGET_PER_DAY=1000000000", disabled: true,
		},
		"a high rate": {targets: 1, environ: "QPS=30", refused: "54,691,200,000"},
		"a high rate within a budget": {
			targets: 1, environ: "QPS=30\nTOKEN_BUDGET_PER_DAY=1000000000",
			warned: "the budget ends at 00:26 UTC; qps 0.54 would last all day",
		},
		"a high rate of a finite run":    {targets: 1, environ: "QPS=30", finite: true},
		"a wrong rate, which costs none": {targets: 1, environ: "QPS=x\nPROMPT_TOKENS=1000000", refused: "not a number"},
	} {
		o := Options{Environ: environ(test.environ), Finite: test.finite}
		for i := range test.targets {
			o.Environ[fmt.Sprintf("PROBER_TARGETS_%d_URL", i)] = fmt.Sprintf("http://h%d", i)
		}
		if test.disabled {
			o.Environ["PROBER_TARGETS_0_ENABLED"] = "off"
		}
		c, err := Load(o)
		if err != nil {
			if test.refused == "" || !strings.Contains(err.Error(), test.refused) {
				t.Errorf("%s: refused with %v, want %q", name, err, test.refused)
			}
			continue
		}
		warned := strings.Join(c.Warnings, "\n")
		isRight := warned == "" && test.warned == "" || test.warned != "" && strings.Contains(warned, test.warned)
		if test.refused != "" || !isRight {
			t.Errorf("%s: starts with the warning %q, want %q or the problem %q", name, warned, test.warned, test.refused)
		}
	}
}

// TestBudgetEnd holds when a budget ends, and the rate at which it would last: rounded down, unless it is exact.
func TestBudgetEnd(t *testing.T) {
	for _, test := range []struct {
		qps    float64
		budget int
		want   string
	}{
		{0.1, 0, ""},
		{0.1, 182_304_000, ""},
		{0.1, 182_303_999, "the budget ends at 00:00 UTC; qps 0.099 would last all day"},
		{0.1, 50_000_000, "the budget ends at 06:35 UTC; qps 0.027 would last all day"},
		{0.1, 91_152_000, "the budget ends at 12:00 UTC; qps 0.05 would last all day"},
		{1, 21_100, "the budget ends at 00:00 UTC; qps 1.1e-05 would last all day"},
	} {
		target := budgeted(test.qps, test.budget)
		if got := target.BudgetEnd(target.TokensPerDay(), target.TokensPerProbe()); got != test.want {
			t.Errorf("%d of %d a day: %q, want %q", test.budget, target.TokensPerDay(), got, test.want)
		}
	}
}

func budgeted(qps float64, budget int) Target {
	prompts := []Prompt{{Tokens: 21000, MaxTokens: 100, Share: 1}}
	return Target{QPS: qps, Prompts: prompts, TokenBudgetPerDay: budget}
}
