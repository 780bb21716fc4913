package probe

import "github.com/llm-prober/prober/internal/wire"

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
