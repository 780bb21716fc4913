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
		target := config.Target{QPS: test.qps, MaxInFlight: test.atOnce, PromptTokens: 21000, MaxTokens: 100}
		j := Job{meanPrompt: 21000}
		if got := j.TokensPerDay(target, test.took); got != test.want {
			t.Errorf("%v at %v: %d tokens a day, want %d", test.took, test.qps, got, test.want)
		}
	}
}

// TestTokensPerDayOfTheConfiguration holds that the cost which the configuration limits is the one that is shown.
func TestTokensPerDayOfTheConfiguration(t *testing.T) {
	for _, workload := range []string{"cold", "warm", "sessions", "canary"} {
		target := config.Target{
			QPS: 0.1, Prompt: workload, PromptTokens: 21000, MaxTokens: 100, SessionRounds: 20, MaxInFlight: 1,
		}
		asks := prompt.Options{Workload: prompt.Workload(workload), Tokens: 21000, Answer: 100, Rounds: 20}
		j := Job{meanPrompt: asks.Mean()}
		if shown, limited := j.TokensPerDay(target, 0), target.TokensPerDay(); shown != limited {
			t.Errorf("%s: %d tokens a day are shown, %d are limited", workload, shown, limited)
		}
	}
}
