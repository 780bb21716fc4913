package probe

import (
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

// cacheState judges a prompt's cached tokens. A chat template begins all prompts alike: what stands before the part
// that no cache can have may be cached, and the prompt is cold all the same.
func (q Question) cacheState(u wire.Usage) CacheState {
	expect := q.Expect
	length := expect.Length
	if u.Prompt.Known {
		length = u.Prompt.N
	}
	switch {
	case !u.Cached.Known, u.Cached.N == 0 && !q.known.CountsCached(expect.SentBefore):
		return CacheUnknown
	case u.Cached.N == 0:
		return CacheCold
	case expect.Uncacheable == 0:
		return CacheWarm
	case u.Cached.N > max(0, length-expect.Uncacheable):
		return CacheContaminated
	}
	return CacheCold
}

// wholePrompt returns the tokens of the whole prompt, of which an answer reports u, and whether the answer shows that
// cached tokens are counted apart from the others: see [server.Knowledge.WholePrompt].
func (q Question) wholePrompt(u wire.Usage) (prompt wire.Count, apart wire.Claim) {
	expect := q.Expect
	mayBeCached := expect.SentBefore || q.warm() && expect.Confirmed.Known
	saysNone := u.Cached.Known && q.known.CountsCached(expect.SentBefore)
	isUncounted := u.Cached.N+u.Written.N == 0 && !saysNone
	if mayBeCached && isUncounted && !expect.Truncated && expect.isCut(u.Prompt) {
		return wire.Count{}, "" // the cache may have the rest
	}
	least, most := q.promptBounds()
	return q.known.WholePrompt(u, least, most)
}

// promptBounds returns between how many tokens a prompt should have: as many as it was calibrated to, else as its words
// make on this server. If neither is known, the prompt has nine tenths of its words at least, see [Expectation.isCut].
func (q Question) promptBounds() (least, most int) {
	switch {
	case q.Expect.Counted > 0:
		return q.Expect.Counted, q.Expect.Counted
	case q.Expect.Confirmed.Known:
		return q.Expect.Confirmed.N, q.Expect.Confirmed.N
	}
	least, most, ok := q.known.PromptLength(q.Words)
	if ok {
		return least, most
	}
	words := max(q.Words, q.Expect.Words)
	return words - words/10, math.MaxInt32
}
