package engine

import (
	"cmp"
	"fmt"
	"math"
	"time"

	"github.com/llm-prober/prober/internal/config"
	"github.com/llm-prober/prober/internal/format"
	"github.com/llm-prober/prober/internal/wire"
)

// Misfit returns a sentence if prompt and answer of t do not fit a server's limits, with the length that does. It is
// empty if they fit, or if the limits are not known.
func (j *Job) Misfit(t config.Target, limits wire.Limits) string {
	const leastPrompt = 16 // tokens: the shortest that can be configured
	longest := j.Prompts.Longest()
	together, alone := 0, 0 // tokens above the limits
	if limits.Context > 0 {
		together = longest + t.MaxTokens - limits.Context
	}
	if limits.Input > 0 {
		alone = longest - limits.Input
	}
	if longest == 0 || together <= 0 && alone <= 0 {
		return ""
	}
	text := fmt.Sprintf("a prompt of %s tokens is longer than the %s that the server takes: ",
		format.Grouped(longest), format.Grouped(limits.Input))
	if together > 0 {
		text = fmt.Sprintf("a prompt of %s tokens and an answer of %s do not fit the server's context of %s: ",
			format.Grouped(longest), format.Grouped(t.MaxTokens), format.Grouped(limits.Context))
	}
	fits := t.PromptTokens - max(together, alone)
	if fits >= leastPrompt {
		return text + fmt.Sprintf("--prompt-tokens %d is the longest that fits (PROBER_PROMPT_TOKENS)", fits)
	}
	return text + "--max-tokens leaves no room for a prompt (PROBER_MAX_TOKENS)"
}

// Pieces returns what happens to the answers of t if the server generates long answers in pieces, and what to do about
// it. Both are empty if the server does not do so, or if the answers are short.
func Pieces(t config.Target, s wire.Server) (text, hint string) {
	piece := s.Piece
	if piece == 0 || t.MaxTokens <= piece {
		return "", ""
	}
	each := format.Grouped(piece)
	gap := fmt.Sprintf("each piece begins with a prefill of its own, so that a gap as long as TTFT follows "+
		"each %s tokens", each)
	pieces := fmt.Sprintf("the server generates answers of more than %s tokens in pieces of %s: ", each, each)
	if t.MaxTokens%piece == 0 {
		return pieces + gap, ""
	}
	shorter := t.MaxTokens / piece * piece
	longer := shorter + piece
	text = fmt.Sprintf("%san answer of %s would become %s, and is wrong_length; %s",
		pieces, format.Grouped(t.MaxTokens), format.Grouped(longer), gap)
	hint = fmt.Sprintf("--max-tokens %d and %d are lengths that it can be held to (PROBER_MAX_TOKENS)", shorter, longer)
	return text, hint
}

// probedShare returns the share of the slots that are probed if a probe takes so long. The other slots are skipped,
// because too many probes are in flight.
func probedShare(t config.Target, took time.Duration) float64 {
	return min(1, float64(t.MaxInFlight)/math.Ceil(float64(took)/float64(Interval(t))))
}

// Skips returns a sentence on how many slots are skipped if a probe takes so long, and which rate would skip none. It
// is empty if none is skipped.
func (j *Job) Skips(t config.Target, took time.Duration) string {
	share := probedShare(t, took)
	if share == 1 {
		return ""
	}
	rate := math.Floor(1000*float64(t.MaxInFlight)/took.Seconds()) / 1000
	atOnce := math.Ceil(float64(took) / float64(j.Plan.Interval))
	return fmt.Sprintf("a probe took %s and one is due every %s, with at most %d at a time: "+
		"about %.0f%% of the slots are skipped; --qps %v is the highest rate that skips none (PROBER_QPS), "+
		"or --max-in-flight %.0f (PROBER_MAX_IN_FLIGHT)",
		format.Duration(took), format.Short(j.Plan.Interval.Seconds()), t.MaxInFlight, 100*(1-share), rate, atOnce)
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
