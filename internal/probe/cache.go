package probe

import (
	"cmp"
	"math"

	"github.com/llm-prober/prober/internal/wire"
)

// A CacheState is how much of a prompt a server's prefix cache had. The set is closed: it is a metric label.
type CacheState string

// The states.
const (
	CacheCold         CacheState = "cold"         // nothing but what all prompts begin with
	CacheWarm         CacheState = "warm"         // some of it, as intended
	CacheContaminated CacheState = "contaminated" // some of it, although the prompt is meant to be cold
	CacheUnknown      CacheState = "unknown"      // the server does not say, or counts none whatever its cache had
)

// CacheStates returns every state.
func CacheStates() []CacheState {
	return []CacheState{CacheCold, CacheWarm, CacheContaminated, CacheUnknown}
}

// cacheState judges a prompt's cached tokens. A chat template begins all prompts alike: what stands before the first
// token that is fresh may be cached, and the prompt is cold all the same.
func cacheState(u wire.Usage, expect Expectation) CacheState {
	length := expect.Length
	if u.Prompt.Known {
		length = u.Prompt.N
	}
	switch {
	case !u.Cached.Known, u.Cached.N == 0 && !expect.CacheCounts:
		return CacheUnknown
	case u.Cached.N == 0:
		return CacheCold
	case expect.Fresh == 0:
		return CacheWarm
	case u.Cached.N > max(0, length-expect.Fresh):
		return CacheContaminated
	}
	return CacheCold
}

// A CountedPrompt is a prompt of which no token came from a cache, as a server counted it.
type CountedPrompt struct{ Tokens, Words int }

// wholePrompt returns the tokens of the whole prompt, of which an answer reports u. Some servers count the tokens that
// a cache read or wrote apart from the others, as Anthropic does, and some within them: the count that fits what else
// is known of the prompt is right. apart says which one that is; it is empty if this answer does not show it. Then the
// server is believed to count as it did before. The count is unknown if the cache may be why it differs from what was
// expected.
func (q Question) wholePrompt(u wire.Usage) (prompt wire.Count, apart wire.Claim) {
	expect, cache := q.Expect, u.Cached.N+u.Written.N
	if !u.Prompt.Known || cache == 0 {
		wasWhole := expect.Again || q.warm() && expect.PromptTokens.Known
		countsCached := u.Cached.Known && expect.CacheCounts
		if wasWhole && !countsCached && !expect.Truncated && expect.isCut(u.Prompt) {
			return wire.Count{}, "" // a cache that is not counted may have the rest
		}
		return u.Prompt, ""
	}
	within, beside := u.Prompt.N, u.Prompt.N+cache
	least, most := q.promptBounds()
	offWithin := max(0, least-within, within-most)
	offBeside := max(0, least-beside, beside-most)
	fits := lengthTolerance*min(offWithin, offBeside) <= least
	believed := cmp.Or(expect.CacheApart, claim(q.Ask.Server.Apart))
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

// promptBounds returns between how many tokens a prompt should have: as many as it was calibrated to or, if it has
// other words than the last one that came from no cache, between as many more as it has words more, and in proportion
// to them. A chat template is the same for all, and no word of the list is less than a token. If nothing is known, the
// prompt has nine tenths of its words at least, see [Expectation.isCut].
func (q Question) promptBounds() (least, most int) {
	counted := q.Expect.Uncached
	switch {
	case q.Expect.Counted > 0:
		return q.Expect.Counted, q.Expect.Counted
	case q.Expect.PromptTokens.Known:
		return q.Expect.PromptTokens.N, q.Expect.PromptTokens.N
	case q.Words > 0 && counted.Words > 0:
		parallel := max(0, counted.Tokens+q.Words-counted.Words)
		inProportion := counted.Tokens * q.Words / counted.Words
		return min(parallel, inProportion), max(parallel, inProportion)
	}
	words := max(q.Words, q.Expect.Words)
	return words - words/10, math.MaxInt32
}
