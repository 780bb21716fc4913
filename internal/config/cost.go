package config

import (
	"fmt"
	"math"
	"time"

	"github.com/llm-prober/prober/internal/format"
)

const (
	secondsPerDay  = 86400
	questionTokens = 64 // of a later question of the prompt sessions, as in package prompt
)

// Interval returns the mean time between two probes of t.
func (t Target) Interval() time.Duration {
	return time.Duration(math.Round(float64(time.Second) / t.QPS))
}

// TokensPerProbe returns the mean number of tokens in prompt and answer of a probe of t, rounded. The prompts of a data
// set, which is not read for this, count as if they had the configured length.
func (t Target) TokensPerProbe() int { return int(math.Round(t.meanTokens())) }

// meanTokens is [Target.TokensPerProbe] without rounding.
func (t Target) meanTokens() float64 {
	return t.MeanOfPrompts(func(i int) float64 {
		p := t.Prompts[i]
		tokens := p.Tokens + p.MaxTokens
		if p.Workload == "sessions" { // each round adds the answer before it and a question
			tokens += (t.SessionRounds - 1) * (p.MaxTokens + questionTokens) / 2
		}
		return float64(tokens)
	})
}

// TokensPerDay returns how many tokens the probes of t cost a day if none is skipped, whatever its budget. With dns+ or
// http_sd, each address costs as many.
func (t Target) TokensPerDay() int {
	return int(math.Round(t.QPS * secondsPerDay * t.meanTokens()))
}

// cappedTokensPerDay returns what t costs a day within its budget.
func (t Target) cappedTokensPerDay() int {
	if t.TokenBudgetPerDay > 0 {
		return min(t.TokensPerDay(), t.TokenBudgetPerDay)
	}
	return t.TokensPerDay()
}

// isCostKnown reports whether all settings that the cost of t depends on are right.
func (t *target) isCostKnown() bool {
	s := t.settings
	return t.promptsAreRight() && t.entry.right(&s.QPS, &s.SessionRounds, &s.TokenBudgetPerDay)
}

// BudgetEnd says when the budget of t is spent, counted from 00:00 UTC, and which rate would last, as "the budget ends
// at 06:35 UTC; qps 0.027 would last all day". It is empty if the budget lasts. perDay are the tokens of a day without
// a budget, perProbe those of a probe.
func (t Target) BudgetEnd(perDay, perProbe int) string {
	budget := float64(t.TokenBudgetPerDay)
	if budget == 0 || perDay <= t.TokenBudgetPerDay {
		return ""
	}
	spent := time.Duration(budget / float64(perDay) * 24 * float64(time.Hour))
	end := time.Time{}.Add(spent).Round(time.Minute)
	lasting := twoDigits(budget/float64(secondsPerDay*perProbe)*(1+rounding), math.Floor)
	return fmt.Sprintf("the budget ends at %s UTC; qps %v would last all day", end.Format("15:04"), lasting)
}

// warnOfBudget warns of a budget that does not last for a day. A probe that is too long for the rest of it is not sent.
func (l *loader) warnOfBudget(t *target) {
	s := t.settings
	if !t.isCostKnown() || !s.Enabled {
		return
	}
	least := 0 // tokens of the longest probe
	for _, p := range s.Prompts {
		least = max(least, p.Tokens+p.MaxTokens)
	}
	perDay := s.TokensPerDay()
	end := s.BudgetEnd(perDay, s.TokensPerProbe())
	place := t.entry.problemPlace(&s.TokenBudgetPerDay)
	switch {
	case s.TokenBudgetPerDay > 0 && s.TokenBudgetPerDay < least:
		l.warn(place, fmt.Sprintf("is less than the %d tokens of one probe", least))
	case end != "" && !l.options.Finite:
		l.warn(place, fmt.Sprintf("target %s costs %s tokens a day; %s", quote(s.Name), format.Grouped(perDay), end))
	}
}

// smallCost is the cost in tokens a day up to which a target does not count against the default limit. A target with
// all defaults costs 182 million.
const smallCost = 200_000_000

// limitCost reports a configuration that costs more tokens a day than the limit. The default limit does not count
// targets with a small cost: a hundred targets with the default rate start, with a warning.
func (l *loader) limitCost() {
	limit := &l.config.MaxTokensPerDay
	if l.options.Finite || *limit == 0 || !l.prober.right(limit) {
		return
	}
	sum := 0
	counted := 0
	highest := 0
	highestText := ""
	for _, t := range l.targets {
		s := t.settings
		if !t.isCostKnown() || !s.Enabled {
			continue
		}
		ofEach := s.cappedTokensPerDay()
		cost := ofEach
		if t.isListed { // nobody knows yet how many each source lists
			cost *= len(l.sources)
		}
		sum += cost
		if l.prober.given(limit) || ofEach > smallCost {
			counted += cost
		}
		if cost > highest {
			highest = cost
			highestText = fmt.Sprintf("%s costs the most: %s (qps %v, %s tokens a probe)", quote(s.Name),
				format.Grouped(cost), s.QPS, format.Grouped(s.TokensPerProbe()))
		}
	}
	costs := fmt.Sprintf("the targets cost %s tokens a day", format.Grouped(sum))
	switch {
	case sum <= *limit:
	case counted <= *limit:
		l.warn(l.prober.problemPlace(limit), fmt.Sprintf("%s, and are probed: by default the limit does not "+
			"count targets of up to %s; set one of your own, or none", costs, format.Grouped(smallCost)))
	default:
		l.prober.problem(limit, costs+", of which "+highestText, fmt.Sprintf("lower qps or prompt_tokens, "+
			"set a token_budget_per_day, or set %sMAX_TOKENS_PER_DAY=%d (none: no limit) to allow this", prefix, sum))
	}
}
