package probe

import "github.com/llm-prober/prober/internal/wire"

// A CacheState is what a server's prefix cache knew of a prompt. The set is
// closed: it is a metric label.
type CacheState string

// The states.
const (
	CacheCold         CacheState = "cold"         // nothing but what all prompts begin with
	CacheWarm         CacheState = "warm"         // some of it, as was meant
	CacheContaminated CacheState = "contaminated" // some of what no server could know
	CacheUnknown      CacheState = "unknown"      // the server does not tell
)

// CacheStates returns every state.
func CacheStates() []CacheState {
	return []CacheState{CacheCold, CacheWarm, CacheContaminated, CacheUnknown}
}

// cacheState is what the cache knew of a prompt. A chat template begins all
// prompts of a server alike, so that a cold one may be found up to its first word
// of its own.
func cacheState(u wire.Usage, expect Expectation) CacheState {
	switch {
	case !u.Cached.Known:
		return CacheUnknown
	case u.Cached.N == 0:
		return CacheCold
	case expect.Fresh == 0:
		return CacheWarm
	}
	length := expect.Length
	if u.Prompt.Known {
		length = u.Prompt.N
	}
	if u.Cached.N > max(0, length-expect.Fresh) {
		return CacheContaminated
	}
	return CacheCold
}
