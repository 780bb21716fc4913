package probe

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/llm-prober/prober/internal/wire"
)

// Capabilities are what a server's answers have shown.
type Capabilities struct {
	Dialect wire.Dialect // nil until known
	Server  wire.Server  // its type; the zero value if unknown
	Version string       // of the server; empty if unknown
	Model   string       // empty until known
	Omit    []wire.Field // fields that it rejects
	Context int          // tokens that prompt and answer may have together; 0 if unknown

	Asked       bool // it was asked for its type and models, and need not be again
	Answered    bool // a probe succeeded
	Unlimited   bool // it generated more tokens than asked
	ExactLimit  bool // an answer that ends for its length has the length asked
	ExactOutput bool // every answer has the length asked

	// Empty until an answer shows it.
	Continuous wire.Claim // usage on every frame
	Cached     wire.Claim // tokens that came from its cache
	Tokenizes  wire.Claim // a route that counts tokens
}

// An Ability is a feature that a server has, or not.
type Ability struct {
	Name  string // label and JSON key; one of a closed set
	Claim wire.Claim
	Shown bool // by the server's answers; else by its type
}

// Means describes the ability.
func (a Ability) Means() string {
	return map[string]string{
		"exact_output":     "answers are exactly as long as asked",
		"continuous_usage": "every frame tells the tokens so far",
		"cached_tokens":    "the server tells how much of a prompt its cache had",
		"tokenize":         "the server has a route that counts tokens",
		"cache_salt":       "prompts with different salts are apart in its cache",
	}[a.Name]
}

// Abilities are always the same ones in the same order.
func (c Capabilities) Abilities() []Ability {
	exact := wire.Claim("")
	if c.ExactOutput {
		exact = wire.Always
	}
	return []Ability{
		c.ability("exact_output", exact, wire.FieldIgnoreEOS),
		c.ability("continuous_usage", c.Continuous, wire.FieldContinuousUsage),
		{Name: "cached_tokens", Claim: cmp.Or(c.Cached, c.Server.Cached, wire.Unknown), Shown: c.Cached != ""},
		{Name: "tokenize", Claim: cmp.Or(c.Tokenizes, wire.Unknown), Shown: c.Tokenizes != ""},
		c.ability("cache_salt", "", wire.FieldCacheSalt),
	}
}

// ability is what was shown or, before that, what the server's type is known for. A server that
// rejects field f, or whose dialect lacks it, does not have the ability.
func (c Capabilities) ability(name string, shown wire.Claim, f wire.Field) Ability {
	known := c.Server.Claim(f)
	if slices.Contains(c.Omit, f) {
		shown = cmp.Or(shown, wire.Never)
	}
	if c.Dialect != nil && !slices.Contains(c.Dialect.Fields(), f) {
		known = wire.Never
	}
	return Ability{Name: name, Claim: cmp.Or(shown, known), Shown: shown != ""}
}

// sends reports whether requests have field f.
func (c Capabilities) sends(f wire.Field) bool {
	return slices.Contains(c.Dialect.Fields(), f) && !(wire.Ask{Server: c.Server, Omit: c.Omit}).Omits(f)
}

func claim(does bool) wire.Claim {
	if does {
		return wire.Always
	}
	return wire.Never
}

// Notes describes the unusual capabilities, one sentence each.
func (c Capabilities) Notes() []string {
	var notes []string
	if c.Server.Note != "" {
		notes = append(notes, c.Server.Note)
	}
	for _, f := range c.Omit {
		notes = append(notes, fmt.Sprintf("rejects the field %s: asked without it", f))
	}
	if c.Unlimited {
		notes = append(notes, "ignores the limit of an answer's length: probes are canceled once more tokens than asked have arrived")
	}
	if c.ExactOutput {
		notes = append(notes, "output length is enforced")
	}
	return notes
}
