package probe

import (
	"cmp"
	"slices"
	"time"

	"github.com/llm-prober/prober/internal/wire"
)

// Capabilities are what a server's answers have shown.
type Capabilities struct {
	Findings
	Omit        []wire.Field // fields that it rejects
	Answered    bool         // a probe succeeded
	Stale       bool         // it may be another server by now, and is asked again what it is
	AnsweredBy  string       // the model that answered last, by the name in the answer
	Doubted     bool         // a probe failed as if the server had ended: another one may be there by now
	Prompt      wire.Count   // the tokens that it counted of the last prompt
	Looked      time.Time    // when it was asked for its type and models last; zero: never
	Unlimited   bool         // it generated more tokens than asked
	LeavesOpen  bool         // it keeps connections open after answers, so that those that should be used again are lost
	ExactLimit  bool         // an answer that ends for its length has the length asked
	ExactOutput bool         // every answer has the length asked

	CacheApart wire.Claim    // its count of a prompt lacks the tokens from its cache; empty until an answer shows it
	Uncached   CountedPrompt // the last prompt of which no token came from its cache

	CacheHit    bool // it counted cached tokens in some answer
	CacheMissed bool // it counted none for a prompt that it had been sent before, and has not counted any yet

	Contradicted int // answers that contradict the above, in a row

	// Empty until an answer shows it.
	Continuous wire.Claim // usage on every frame
	Cached     wire.Claim // tokens that came from its cache
	Tokenizes  wire.Claim // a route that counts tokens
}

// countsCached reports whether a count of no cached tokens means that there were none. Some servers and gateways
// write a 0 whatever their cache did: so either the server has counted some before, or its type is known to count
// them, and no prompt that it had been sent before came with a 0. again says that it had been sent this prompt before.
func (c Capabilities) countsCached(again bool) bool {
	counts := c.Server.Cached == wire.Always || c.Server.Cached == wire.Optional
	return c.CacheHit || counts && !c.CacheMissed && !again
}

// learnCached learns from the usage of an answer whether the server counts cached tokens. again says that it had been
// sent the prompt before.
func (c *Capabilities) learnCached(u wire.Usage, again bool) {
	c.CacheHit = c.CacheHit || u.Cached.N > 0
	c.CacheMissed = !c.CacheHit && (c.CacheMissed || again && u.Cached.Known)
	switch {
	case c.CacheHit, u.Cached.Known && c.countsCached(again):
		c.Cached = wire.Always
	case c.CacheMissed:
		c.Cached = wire.Unknown
	case u.Cached.Known: // this 0 may be no count, so that the server's type decides
		c.Cached = ""
	case c.Cached == "":
		c.Cached = wire.Never
	}
}

// learnPromptCount learns how the server counts a prompt with that many words of the list. See [Question.wholePrompt].
func (c *Capabilities) learnPromptCount(r *Result, words int) {
	c.CacheApart = cmp.Or(r.cacheApart, c.CacheApart)
	u := r.Usage
	isWhole := u.Prompt.Known && u.Cached.N+u.Written.N == 0 && u.Prompt.N >= words-words/10
	if isWhole && words > 0 && !r.again {
		c.Uncached = CountedPrompt{Tokens: u.Prompt.N, Words: words}
	}
}

// An Ability is a feature that a server has, or not.
type Ability struct {
	Name  string     `json:"-"` // label and JSON key; one of a closed set
	Help  string     `json:"-"` // what a server with it does
	Claim wire.Claim `json:"claim"`
	Shown bool       `json:"shown"` // by the server's answers; else by its type
}

// Abilities returns all abilities: always the same ones in the same order.
func (c Capabilities) Abilities() []Ability {
	exact := wire.Claim("")
	if c.ExactOutput {
		exact = wire.Always
	}
	cached := cmp.Or(c.Cached, c.Server.Cached, wire.Unknown)
	tokenizes := cmp.Or(c.Tokenizes, wire.Unknown)
	return []Ability{
		c.ability("exact_output", "answers are exactly as long as asked", exact, wire.FieldIgnoreEOS),
		c.ability("continuous_usage", "every frame reports how many tokens there are so far", c.Continuous,
			wire.FieldContinuousUsage),
		{"cached_tokens", "the server reports how many tokens of a prompt came from its cache", cached, c.Cached != ""},
		{"tokenize", "the server has a route that counts tokens", tokenizes, c.Tokenizes != ""},
		c.ability("cache_salt", "prompts with different salts share no cache", "", wire.FieldCacheSalt),
	}
}

// ability returns what was shown, or what the server's type is known for: never with a field f that is rejected or not
// there.
func (c Capabilities) ability(name, help string, shown wire.Claim, f wire.Field) Ability {
	known := c.Server.Claim(f)
	if slices.Contains(c.Omit, f) {
		shown = cmp.Or(shown, wire.Never)
	}
	if c.Dialect != nil && !slices.Contains(c.Dialect.Fields, f) {
		known = wire.Never
	}
	return Ability{name, help, cmp.Or(shown, known), shown != ""}
}

// claim returns the claim of a server that does something, or does not.
func claim(does bool) wire.Claim {
	if does {
		return wire.Always
	}
	return wire.Never
}
