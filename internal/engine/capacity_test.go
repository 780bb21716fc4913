package engine

import (
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
		if got := j.Misfit(config.Target{Settings: config.Settings{PromptTokens: 1000, MaxTokens: 100}},
			test.limits); got != test.want {
			t.Errorf("%+v: %q, want %q", test.limits, got, test.want)
		}
	}
}

// TestPieces holds what is said of answers that a server generates in pieces.
func TestPieces(t *testing.T) {
	tgi := wire.Server{Name: "tgi", Piece: 1024}
	for _, test := range []struct {
		server     wire.Server
		tokens     int
		text, hint string
	}{
		{wire.Server{}, 1100, "", ""},
		{tgi, 1024, "", ""},
		{tgi, 1100, "an answer of 1,100 would become 2,048, and is wrong_length", "--max-tokens 1024 and 2048 are lengths"},
		{tgi, 2048, "a gap as long as TTFT follows each 1,024 tokens", ""},
	} {
		text, hint := Pieces(config.Target{Settings: config.Settings{MaxTokens: test.tokens}}, test.server)
		if !strings.Contains(text, test.text) || !strings.HasPrefix(hint, test.hint) || (text == "") != (test.text == "") ||
			(hint == "") != (test.hint == "") {
			t.Errorf("answers of %d: %q, %q", test.tokens, text, hint)
		}
	}
}

// TestSkips holds which slots go without a probe because the one before takes too long, what that leaves of the tokens
// a day, and which rate is named.
func TestSkips(t *testing.T) {
	for _, test := range []struct {
		qps     float64
		flights int
		took    time.Duration
		perDay  int
		want    string
	}{
		{0.1, 1, 9900 * time.Millisecond, 182_304_000, ""},
		{0.1, 1, 10 * time.Second, 182_304_000, ""},
		{0.1, 1, 0, 182_304_000, ""}, // not known
		{0.1, 2, 11400 * time.Millisecond, 182_304_000, ""},
		{0.1, 1, 11400 * time.Millisecond, 91_152_000, "a probe took 11.4 s and one is due every 10 s, with at most 1 at a time: about 50% of the slots are skipped; " +
			"--qps 0.087 is the highest rate that skips none (PROBER_QPS), or --max-in-flight 2 (PROBER_MAX_IN_FLIGHT)"},
		{100, 1, 796 * time.Millisecond, 2_278_800_000, "a probe took 796 ms and one is due every 10 ms, with at most 1 at a time: about 99% of the slots are skipped; " +
			"--qps 1.256 is the highest rate that skips none (PROBER_QPS), or --max-in-flight 80 (PROBER_MAX_IN_FLIGHT)"},
		{100, 8, 20 * time.Millisecond, 182_304_000_000, ""},
		{1000, 1, 5 * time.Millisecond, 364_608_000_000, "a probe took 5.00 ms and one is due every 1 ms, with at most 1 at a time: about 80% of the slots are skipped; " +
			"--qps 200 is the highest rate that skips none (PROBER_QPS), or --max-in-flight 5 (PROBER_MAX_IN_FLIGHT)"},
	} {
		target := config.Target{Settings: config.Settings{QPS: test.qps, MaxInFlight: test.flights, PromptTokens: 21000, MaxTokens: 100}}
		j := Job{Plan: schedule.Plan{Interval: Interval(target)}, Prompts: prompt.Options{Workload: prompt.Cold, Tokens: 21000}}
		if got := j.Skips(target, test.took); got != test.want {
			t.Errorf("%v at %v: %q, want %q", test.took, test.qps, got, test.want)
		}
		if got := j.TokensPerDay(target, test.took); got != test.perDay {
			t.Errorf("%v at %v: %d tokens a day, want %d", test.took, test.qps, got, test.perDay)
		}
	}
}

// TestTokensPerDayOfTheConfiguration holds that the cost which the configuration is limited by is the one that is told.
func TestTokensPerDayOfTheConfiguration(t *testing.T) {
	for _, workload := range []string{"cold", "warm", "sessions", "canary"} {
		target := config.Target{Settings: config.Settings{QPS: 0.1, Prompt: workload, PromptTokens: 21000, MaxTokens: 100,
			SessionRounds: 20, MaxInFlight: 1}}
		asks := prompt.Options{Workload: prompt.Workload(workload), Tokens: 21000, Answer: 100, Rounds: 20}
		j := Job{Plan: schedule.Plan{Interval: Interval(target)}, Prompts: asks}
		if told, limited := j.TokensPerDay(target, 0), target.TokensPerDay(); told != limited {
			t.Errorf("%s: %d tokens a day are told, %d are limited", workload, told, limited)
		}
	}
}
