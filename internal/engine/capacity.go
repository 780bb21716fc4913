package engine

import (
	"cmp"
	"math"
	"time"

	"github.com/llm-prober/prober/internal/config"
	"github.com/llm-prober/prober/internal/report"
)

// Lengths returns the lengths of the prompts and answers of t, which is a target of j.
func (j *Job) Lengths(t config.Target) report.Lengths {
	return report.Lengths{Prompt: t.PromptTokens, Longest: j.Prompts.Longest(), Answer: t.MaxTokens}
}

// TokensPerDay returns how many tokens t costs a day if a probe takes so long. Skipped slots cost nothing; if took is
// 0, it is not known, and no slot is assumed to be skipped. Prompts of a data set are assumed to have one token per
// word.
func (j *Job) TokensPerDay(t config.Target, took time.Duration) int {
	perProbe := float64(cmp.Or(j.meanPrompt, j.Prompts.Mean()) + t.MaxTokens)
	perDay := int(math.Round(t.QPS * 86400 * probedShare(t, took) * perProbe))
	if t.TokenBudgetPerDay > 0 {
		return min(perDay, t.TokenBudgetPerDay)
	}
	return perDay
}

// probedShare returns the share of the slots that are probed if a probe takes so long. The other slots are skipped,
// because too many probes are in flight.
func probedShare(t config.Target, took time.Duration) float64 {
	return min(1, float64(t.MaxInFlight)/math.Ceil(float64(took)/float64(t.Interval())))
}
