package server

import (
	"cmp"

	"github.com/llm-prober/prober/internal/wire"
)

// CountsCached reports whether a count of no cached tokens means that there were none. Some servers and gateways write
// a 0 whatever their cache did. A server is believed that has counted some before. So is one whose type is known to
// count them, until a prompt that it had been sent before comes with a 0. sentBefore says that it had been sent the
// prompt in question.
func (k Knowledge) CountsCached(sentBefore bool) bool {
	typeCounts := k.Type.ReportsCached == wire.Always || k.Type.ReportsCached == wire.Optional
	return k.CacheHit || typeCounts && !k.CacheMissed && !sentBefore
}

// PromptLength returns between how many tokens a prompt of that many words of the list has, by the last prompt that
// came from no cache; ok is false if there was none. One bound is a token for each word that it has more than that
// prompt: no word of the list is less than a token. The other is in proportion to the words, as if the chat template,
// which is the same for all prompts, grew with them.
func (k Knowledge) PromptLength(words int) (least, most int, ok bool) {
	counted := k.Uncached
	if words == 0 || counted.Words == 0 {
		return 0, 0, false
	}
	parallel := max(0, counted.Tokens+words-counted.Words)
	inProportion := counted.Tokens * words / counted.Words
	return min(parallel, inProportion), max(parallel, inProportion), true
}

// WholePrompt returns how many tokens a prompt has by the usage u of an answer. The prompt should have between least
// and most. Some servers, such as Anthropic's, count the tokens that a cache read or wrote apart from the others, and
// some within them: the count that fits is right. apart says which one fits. If it is empty, this answer does not show
// it, and the server is believed to count as it did before. The count is unknown if the cache may be why it differs
// from what was expected.
func (k Knowledge) WholePrompt(u wire.Usage, least, most int) (prompt wire.Count, apart wire.Claim) {
	cache := u.Cached.N + u.Written.N
	if !u.Prompt.Known || cache == 0 {
		return u.Prompt, ""
	}
	const tolerance = 100 // a count fits if it is off by at most one part in this many
	ifWithin := u.Prompt.N
	ifApart := u.Prompt.N + cache
	offWithin := max(0, least-ifWithin, ifWithin-most)
	offApart := max(0, least-ifApart, ifApart-most)
	fits := tolerance*min(offWithin, offApart) <= least
	believed := cmp.Or(k.CacheApart, claim(k.Type.CacheApart))
	switch {
	case fits && offWithin != offApart:
		apart = claim(offApart < offWithin)
	case u.Cached.N > ifWithin: // a part of the prompt is not more than the whole
		apart = wire.Always
	case !fits && believed == wire.Never && ifWithin < least && ifApart > most:
		return wire.Count{}, "" // too short or too long: nothing shows which
	}
	if cmp.Or(apart, believed) == wire.Always {
		return wire.Tokens(ifApart), apart
	}
	return u.Prompt, apart
}
