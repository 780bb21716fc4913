package server

import (
	"cmp"

	"github.com/llm-prober/prober/internal/wire"
)

// CountsCached reports whether a count of no cached tokens means that there were none. Some servers and gateways write
// a 0 whatever their cache did: so either the server has counted some before, or its type is known to count them, and
// no prompt that it had been sent before came with a 0. sentBefore says that it had been sent the prompt in question.
func (k Knowledge) CountsCached(sentBefore bool) bool {
	typeCounts := k.Type.ReportsCached == wire.Always || k.Type.ReportsCached == wire.Optional
	return k.CacheHit || typeCounts && !k.CacheMissed && !sentBefore
}

// PromptLength returns between how many tokens a prompt of that many words of the list has: between as many more than
// the last prompt that came from no cache as it has words more, and in proportion to the words. A chat template is the
// same for all, and no word of the list is less than a token. ok is false if there was no such prompt.
func (k Knowledge) PromptLength(words int) (least, most int, ok bool) {
	counted := k.Uncached
	if words == 0 || counted.Words == 0 {
		return 0, 0, false
	}
	parallel := max(0, counted.Tokens+words-counted.Words)
	inProportion := counted.Tokens * words / counted.Words
	return min(parallel, inProportion), max(parallel, inProportion), true
}

// WholePrompt returns how many tokens a prompt has of which an answer reports u, if it should have between least and
// most. Some servers count the tokens that a cache read or wrote apart from the others, as Anthropic does, and some
// within them: the count that fits is right. apart says which one that is; it is empty if this answer does not show it.
// Then the server is believed to count as it did before. The count is unknown if the cache may be why it differs from
// what was expected.
func (k Knowledge) WholePrompt(u wire.Usage, least, most int) (prompt wire.Count, apart wire.Claim) {
	cache := u.Cached.N + u.Written.N
	if !u.Prompt.Known || cache == 0 {
		return u.Prompt, ""
	}
	const tolerance = 100 // a count fits if it is off by at most one part in so many
	within, beside := u.Prompt.N, u.Prompt.N+cache
	offWithin := max(0, least-within, within-most)
	offBeside := max(0, least-beside, beside-most)
	fits := tolerance*min(offWithin, offBeside) <= least
	believed := cmp.Or(k.CacheApart, claim(k.Type.CacheApart))
	switch {
	case fits && offWithin != offBeside:
		apart = claim(offBeside < offWithin)
	case u.Cached.N > within: // more than the whole prompt
		apart = wire.Always
	case !fits && believed == wire.Never && within < least && beside > most:
		return wire.Count{}, ""
	}
	if cmp.Or(apart, believed) == wire.Always {
		return wire.Tokens(beside), apart
	}
	return u.Prompt, apart
}
