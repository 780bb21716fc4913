package engine

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/llm-prober/prober/internal/config"
	"github.com/llm-prober/prober/internal/prompt"
	"github.com/llm-prober/prober/internal/schedule"
	"github.com/llm-prober/prober/internal/wire"
)

// TestMisfit holds what is said of prompts that are longer than a context, and that nothing is said where they fit, or
// where that is unknown.
func TestMisfit(t *testing.T) {
	sessions := prompt.Options{Workload: prompt.Sessions, Tokens: 1000, Answer: 100, Rounds: 3}
	for _, test := range []struct {
		asks   prompt.Options
		limits wire.Limits
		want   string
	}{
		{prompt.Options{Tokens: 1000}, wire.Limits{Context: 0}, ""},
		{prompt.Options{Tokens: 1000}, wire.Limits{Context: 1100}, ""},
		{prompt.Options{Tokens: 1000}, wire.Limits{Context: 1099},
			"a prompt of 1,000 tokens and an answer of 100 do not fit the server's context of 1,099: " +
				"--prompt-tokens 999 is the longest that fits (PROBER_PROMPT_TOKENS)"},
		{prompt.Options{Tokens: 1000}, wire.Limits{Context: 110},
			"a prompt of 1,000 tokens and an answer of 100 do not fit the server's context of 110: " +
				"--max-tokens leaves no room for a prompt (PROBER_MAX_TOKENS)"},
		{prompt.Options{Tokens: 1000}, wire.Limits{Context: 1100, Input: 1000}, ""},
		{prompt.Options{Tokens: 1000}, wire.Limits{Context: 1100, Input: 900},
			"a prompt of 1,000 tokens is longer than the 900 that the server takes: " +
				"--prompt-tokens 900 is the longest that fits (PROBER_PROMPT_TOKENS)"},
		{prompt.Options{Tokens: 1000}, wire.Limits{Context: 1050, Input: 900},
			"a prompt of 1,000 tokens and an answer of 100 do not fit the server's context of 1,050: " +
				"--prompt-tokens 900 is the longest that fits (PROBER_PROMPT_TOKENS)"},
		{sessions, wire.Limits{Context: 1428}, ""},
		{sessions, wire.Limits{Context: 1400}, "a prompt of 1,328 tokens and an answer of 100 do not fit the " +
			"server's context of 1,400: " +
			"--prompt-tokens 972 is the longest that fits (PROBER_PROMPT_TOKENS)"},
		{prompt.Options{Workload: prompt.Dataset, Tokens: 1000}, wire.Limits{Context: 500}, ""},
	} {
		j := Job{Prompts: test.asks}
		target := config.Target{Settings: config.Settings{PromptTokens: 1000, MaxTokens: 100}}
		if got := j.Misfit(target, test.limits); got != test.want {
			t.Errorf("%+v: %q, want %q", test.limits, got, test.want)
		}
	}
}

// TestPieces holds what is said of answers that a server generates in pieces.
func TestPieces(t *testing.T) {
	tgi := wire.Server{Name: "tgi", Piece: 1024}
	const whole = "the server generates answers of more than 1,024 tokens in pieces of 1,024: each piece begins with a " +
		"prefill of its own, so that a gap as long as TTFT follows each 1,024 tokens"
	for _, test := range []struct {
		server     wire.Server
		tokens     int
		text, hint string
	}{
		{wire.Server{}, 1100, "", ""},
		{tgi, 1024, "", ""},
		{tgi, 1100, strings.Replace(whole, ": ", ": an answer of 1,100 would become 2,048, and is wrong_length; ", 1),
			"--max-tokens 1024 and 2048 are lengths that it can be held to (PROBER_MAX_TOKENS)"},
		{tgi, 2048, whole, ""},
	} {
		text, hint := Pieces(config.Target{Settings: config.Settings{MaxTokens: test.tokens}}, test.server)
		if text != test.text || hint != test.hint {
			t.Errorf("answers of %d: %q, %q", test.tokens, text, hint)
		}
	}
}

// TestSkips holds which share of the slots goes without a probe because the one before takes too long, which rate and
// which number at a time skip none, and what that leaves of the tokens a day.
func TestSkips(t *testing.T) {
	for _, test := range []struct {
		qps    float64
		atOnce int
		took   time.Duration
		perDay int
		text   string // the share, the rate and the number; empty: none is skipped
	}{
		{0.1, 1, 0, 182_304_000, ""}, // it is not known how long a probe takes
		{0.1, 1, 9900 * time.Millisecond, 182_304_000, ""},
		{0.1, 1, 10 * time.Second, 182_304_000, ""},
		{0.1, 1, 11400 * time.Millisecond, 91_152_000, "about 50% --qps 0.087 --max-in-flight 2"},
		{0.1, 2, 11400 * time.Millisecond, 182_304_000, ""},
		{100, 1, 796 * time.Millisecond, 2_278_800_000, "about 99% --qps 1.256 --max-in-flight 80"},
		{100, 8, 20 * time.Millisecond, 182_304_000_000, ""},
		{1000, 1, 5 * time.Millisecond, 364_608_000_000, "about 80% --qps 200 --max-in-flight 5"},
	} {
		target := config.Target{Settings: config.Settings{
			QPS: test.qps, MaxInFlight: test.atOnce, PromptTokens: 21000, MaxTokens: 100,
		}}
		j := Job{
			Plan:    schedule.Plan{Interval: Interval(target)},
			Prompts: prompt.Options{Workload: prompt.Cold, Tokens: 21000},
		}
		got := strings.Join(numbers.FindAllString(j.Skips(target, test.took), -1), " ")
		if got != test.text {
			t.Errorf("%v at %v: %q, want %q", test.took, test.qps, got, test.text)
		}
		if got := j.TokensPerDay(target, test.took); got != test.perDay {
			t.Errorf("%v at %v: %d tokens a day, want %d", test.took, test.qps, got, test.perDay)
		}
	}
}

// numbers are what is computed in the sentence of [Job.Skips].
var numbers = regexp.MustCompile(`about \d+%|--[a-z-]+ [\d.]+`)

// TestTokensPerDayOfTheConfiguration holds that the cost which the configuration limits is the one that is shown.
func TestTokensPerDayOfTheConfiguration(t *testing.T) {
	for _, workload := range []string{"cold", "warm", "sessions", "canary"} {
		target := config.Target{Settings: config.Settings{
			QPS: 0.1, Prompt: workload, PromptTokens: 21000, MaxTokens: 100, SessionRounds: 20, MaxInFlight: 1,
		}}
		asks := prompt.Options{Workload: prompt.Workload(workload), Tokens: 21000, Answer: 100, Rounds: 20}
		j := Job{Plan: schedule.Plan{Interval: Interval(target)}, Prompts: asks}
		if shown, limited := j.TokensPerDay(target, 0), target.TokensPerDay(); shown != limited {
			t.Errorf("%s: %d tokens a day are shown, %d are limited", workload, shown, limited)
		}
	}
}
