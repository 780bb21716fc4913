package report

import "github.com/llm-prober/prober/internal/probe"

// Why a probe with token frames lacks a value.
const (
	reasonAtOnce    = "all tokens arrived at once"
	reasonUncounted = "how many tokens the frames carry is unknown"
	reasonLate      = "the prober read too late"
)

// whyNoTPOT says why r has no TPOT.
func whyNoTPOT(r *ResultJSON) string {
	switch {
	case r.Frames == 1:
		return reasonOfSingleFrame(r)
	case arrivedAtOnce(r):
		return reasonAtOnce
	case r.Usage.Output == nil || r.JoinedTokens == 0:
		return reasonUncounted
	}
	return reasonLate
}

// whyNoITL says why r has no ITL.
func whyNoITL(r *ResultJSON) string {
	switch {
	case r.Frames == 1:
		return reasonOfSingleFrame(r)
	case arrivedAtOnce(r):
		return reasonAtOnce
	case r.Taint == nil:
		return reasonUncounted
	}
	return reasonLate
}

// whyNoMaxGap says why r has no longest gap.
func whyNoMaxGap(r *ResultJSON) string {
	switch {
	case r.Frames == 1:
		return reasonOfSingleFrame(r)
	case r.JoinedTokens == 0:
		return reasonAtOnce
	}
	return reasonLate + "; a longer gap may be hidden"
}

// reasonOfSingleFrame says why a single frame has neither gaps nor times per token.
func reasonOfSingleFrame(r *ResultJSON) string {
	if r.Usage.Output != nil && *r.Usage.Output == 1 {
		return "the answer has a single token"
	}
	return "all tokens arrived in a single frame"
}

// arrivedAtOnce reports whether the tokens of each frame are known, and yet there is no time between tokens: all
// arrived together, although the prober was not late.
func arrivedAtOnce(r *ResultJSON) bool {
	counted := r.Usage.Output != nil && r.TokenSource != probe.FromNothing
	return counted && r.JoinedTokens == 0 && r.TPOT == nil && len(r.ITL) == 0
}

// tokenSourceText says how it is known how many tokens each frame carries.
func tokenSourceText(r *ResultJSON) string {
	switch r.TokenSource {
	case probe.FromUsage:
		return "counted in each frame (usage)"
	case probe.FromIDs:
		return "counted in each frame (token ids, or one in each by the server's type)"
	case probe.FromTotal:
		if r.Usage.Output != nil && *r.Usage.Output == r.Frames+1 {
			return "one per frame, and one that no frame showed: the end of the answer"
		}
		return "one per frame: as many frames as tokens"
	case probe.FromNothing:
		return "unknown per frame: not every frame has its count (usage or token ids)"
	}
	return ""
}
