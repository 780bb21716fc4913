package config

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/llm-prober/prober/internal/format"
)

const (
	secondsPerDay  = 86400
	questionTokens = 64 // of a later question of the prompt sessions, as in package prompt
)

// TokensPerProbe returns the mean tokens of prompt and answer of a probe. A data set counts as if its prompts had the
// configured length: it is not read for this.
func (t Target) TokensPerProbe() int {
	prompt := t.PromptTokens
	if t.Prompt == "sessions" { // each round adds the answer before it and a question
		prompt += (t.SessionRounds - 1) * (t.MaxTokens + questionTokens) / 2
	}
	return prompt + t.MaxTokens
}

// TokensPerDay returns what the probes of t cost a day if none is skipped, whatever its budget. With dns+ each address
// costs as much.
func (t Target) TokensPerDay() int {
	return int(math.Round(float64(t.QPS) * secondsPerDay * float64(t.TokensPerProbe())))
}

// cappedTokensPerDay returns what t costs a day within its budget.
func (t Target) cappedTokensPerDay() int {
	if t.TokenBudgetPerDay > 0 {
		return min(t.TokensPerDay(), int(t.TokenBudgetPerDay))
	}
	return t.TokensPerDay()
}

// costKnown reports whether all that the cost of t is made of is right.
func (t entry) costKnown() bool {
	return t.right("QPS", "PROMPT_TOKENS", "MAX_TOKENS", "SESSION_ROUNDS", "TOKEN_BUDGET_PER_DAY")
}

// BudgetEnd says when the budget of t is spent, counted from 00:00 UTC, and which rate would last, as "the budget ends
// at 06:35 UTC; qps 0.027 would last all day". It is empty if the budget lasts. perDay are the tokens of a day without
// a budget, perProbe those of a probe.
func (t Target) BudgetEnd(perDay, perProbe int) string {
	if t.TokenBudgetPerDay == 0 || perDay <= int(t.TokenBudgetPerDay) {
		return ""
	}
	share := float64(t.TokenBudgetPerDay) / float64(perDay)
	end := time.Time{}.Add(time.Duration(share * secondsPerDay * float64(time.Second))).Round(time.Minute)
	lasting := roundDown(float64(t.TokenBudgetPerDay) / float64(secondsPerDay*perProbe))
	return fmt.Sprintf("the budget ends at %s UTC; qps %v would last all day", end.Format("15:04"), lasting)
}

// roundDown rounds v, above 0, down to two significant digits.
func roundDown(v float64) float64 {
	exponent := int(math.Floor(math.Log10(v))) - 1
	digits := math.Floor(v / math.Pow10(exponent) * (1 + rounding))
	rounded := digits * math.Pow10(exponent)
	if exponent < 0 { // exact as a decimal: 27 / 1000, not 27 * 0.001
		rounded = digits / math.Pow10(-exponent)
	}
	return rounded
}

// smallCost is what a target may cost a day, in tokens, without counting against the default limit: somewhat more than
// one costs by default.
const smallCost = 200_000_000

// limitCost refuses a configuration that costs more tokens a day than the limit. As long as this is the default, small
// costs are not counted: a hundred targets with the default rate start, with a warning.
func (l *loader) limitCost(limit int, prober origin, targets []entry) {
	if l.Finite || limit == 0 || !prober.right("MAX_TOKENS_PER_DAY") {
		return
	}
	written := prober.given("MAX_TOKENS_PER_DAY")
	sum, counted := 0, 0
	var large []entry
	for _, t := range targets {
		if !t.costKnown() {
			continue
		}
		cost := t.cappedTokensPerDay()
		sum += cost
		if written || cost > smallCost {
			counted += cost
			large = append(large, t)
		}
	}
	if sum <= limit {
		return
	}
	costs := fmt.Sprintf("the targets cost %s tokens a day", format.Grouped(sum))
	allow := fmt.Sprintf("set %sMAX_TOKENS_PER_DAY=%d (none: no limit)", prefix, sum)
	if counted <= limit {
		l.warn(prober.label("MAX_TOKENS_PER_DAY"), costs+"; if this is meant, "+allow)
		return
	}
	l.problem(prober.label("MAX_TOKENS_PER_DAY"), costs+": "+largest(large),
		"lower qps or prompt_tokens, give targets a token_budget_per_day or, if this is meant, "+allow)
}

// largest names the targets that cost most, three at most, and why.
func largest(targets []entry) string {
	slices.SortStableFunc(targets, func(a, b entry) int {
		return cmp.Compare(b.cappedTokensPerDay(), a.cappedTokensPerDay())
	})
	const shown = 3
	var parts []string
	for _, t := range targets[:min(shown, len(targets))] {
		parts = append(parts, fmt.Sprintf("%s %s (qps %v, %s tokens a probe)", quote(t.Name),
			format.Grouped(t.cappedTokensPerDay()), t.QPS, format.Grouped(t.TokensPerProbe())))
	}
	if more := len(targets) - shown; more > 0 {
		parts = append(parts, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(parts, ", ")
}
