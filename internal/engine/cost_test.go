package engine

import (
	"testing"
	"time"

	"github.com/llm-prober/prober/internal/config"
	"github.com/llm-prober/prober/internal/prompt"
)

// TestTokensPerDay holds what a target costs a day if a share of the slots goes without a probe, because the one before
// takes too long.
func TestTokensPerDay(t *testing.T) {
	for _, test := range []struct {
		qps    float64
		atOnce int
		took   time.Duration
		want   int
	}{
		{0.1, 1, 0, 182_304_000}, // it is not known how long a probe takes
		{0.1, 1, 9900 * time.Millisecond, 182_304_000},
		{0.1, 1, 10 * time.Second, 182_304_000},
		{0.1, 1, 11400 * time.Millisecond, 91_152_000},
		{0.1, 2, 11400 * time.Millisecond, 182_304_000},
		{100, 1, 796 * time.Millisecond, 2_278_800_000},
		{100, 8, 20 * time.Millisecond, 182_304_000_000},
		{1000, 1, 5 * time.Millisecond, 364_608_000_000},
	} {
		prompts := []config.Prompt{{MaxTokens: 100, Share: 1}}
		target := config.Target{QPS: test.qps, MaxInFlight: test.atOnce, Prompts: prompts}
		j := Job{meanTokens: []int{21000}}
		if got := j.TokensPerDay(target, test.took); got != test.want {
			t.Errorf("%v at %v: %d tokens a day, want %d", test.took, test.qps, got, test.want)
		}
	}
}

// TestTokensPerDayOfTheConfiguration holds that the cost which the configuration limits is the one that is shown.
func TestTokensPerDayOfTheConfiguration(t *testing.T) {
	for _, workload := range []string{"cold", "warm", "sessions", "canary"} {
		target := config.Target{
			QPS: 0.1, SessionRounds: 20, MaxInFlight: 1,
			Prompts: []config.Prompt{
				{Workload: workload, Tokens: 21000, MaxTokens: 100, Share: 1},
				{Workload: "cold", Tokens: 1000, MaxTokens: 50, Share: 3},
			},
		}
		asks := prompt.Options{Workload: prompt.Workload(workload), Tokens: 21000, Answer: 100, Rounds: 20}
		j := Job{meanTokens: []int{asks.Mean(), 1000}}
		if shown, limited := j.TokensPerDay(target, 0), target.TokensPerDay(); shown != limited {
			t.Errorf("%s: %d tokens a day are shown, %d are limited", workload, shown, limited)
		}
		ofPrompts := j.TokensPerDayOf(target, 0, 0) + j.TokensPerDayOf(target, 1, 0)
		if ofPrompts != target.TokensPerDay() {
			t.Errorf("%s: the prompts cost %d tokens a day together, the target %d", workload, ofPrompts, target.TokensPerDay())
		}
	}
}
