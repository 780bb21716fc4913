package probe

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/llm-prober/prober/internal/wire"
)

// Capabilities are what a server has taught about itself.
type Capabilities struct {
	Dialect wire.Dialect // nil until known
	Server  wire.Server  // its kind; the zero value if that is not known
	Version string       // that it says it is; empty if it does not
	Model   string       // empty until known
	Omit    []wire.Field // fields that it rejects
	Context int          // tokens that prompt and answer may have together; 0 if it did not say

	Asked       bool // it was asked what it is, and there is nothing to gain by asking again
	Answered    bool // a probe succeeded
	Unlimited   bool // it generated more tokens than it was asked for
	ExactLimit  bool // it has shown that an answer which ends for its length has the length asked for
	ExactOutput bool // it has shown that it generates exactly what is asked

	// What its answers showed; empty until one did.
	Continuous wire.Claim // usage on every frame
	Cached     wire.Claim // tokens that came from its cache
	Tokenizes  wire.Claim // a route that counts tokens
}

// An Ability is something that a server can be held to, or not.
type Ability struct {
	Name  string // label and JSON key; one of a closed set
	Claim wire.Claim
	Shown bool // by the server's answers; else it is what its kind is known for
}

// Means is the ability in words.
func (a Ability) Means() string {
	return map[string]string{
		"exact_output":     "answers are exactly as long as asked",
		"continuous_usage": "every frame tells the tokens so far",
		"cached_tokens":    "the server tells how much of a prompt its cache had",
		"tokenize":         "the server has a route that counts tokens",
		"cache_salt":       "prompts with different salts are apart in its cache",
	}[a.Name]
}

// Abilities are what the server can be held to, always the same ones in the same
// order.
func (l Capabilities) Abilities() []Ability {
	exact := wire.Claim("")
	if l.ExactOutput {
		exact = wire.Always
	}
	return []Ability{
		l.ability("exact_output", exact, l.Server.Exact(), wire.FieldIgnoreEOS),
		l.ability("continuous_usage", l.Continuous, l.Server.Continuous(), wire.FieldContinuousUsage),
		{Name: "cached_tokens", Claim: cmp.Or(l.Cached, l.Server.TellsCached()), Shown: l.Cached != ""},
		{Name: "tokenize", Claim: cmp.Or(l.Tokenizes, wire.Unknown), Shown: l.Tokenizes != ""},
		l.ability("cache_salt", "", l.Server.Salted(), wire.FieldCacheSalt),
	}
}

// ability is what was shown or, before that, what the kind is known for. A server
// that rejects the field f, or is not asked for it in its dialect, cannot do what
// it asks for.
func (l Capabilities) ability(name string, shown, known wire.Claim, f wire.Field) Ability {
	if slices.Contains(l.Omit, f) {
		shown = cmp.Or(shown, wire.Never)
	}
	if l.Dialect != nil && !slices.Contains(l.Dialect.Fields(), f) {
		known = wire.Never
	}
	return Ability{Name: name, Claim: cmp.Or(shown, known), Shown: shown != ""}
}

// sends reports whether a request holds field f.
func (l Capabilities) sends(f wire.Field) bool {
	return slices.Contains(l.Dialect.Fields(), f) && !(wire.Ask{Server: l.Server, Omit: l.Omit}).Omits(f)
}

func claim(does bool) wire.Claim {
	if does {
		return wire.Always
	}
	return wire.Never
}

// Notes tells the capabilities to a person, one sentence each.
func (l Capabilities) Notes() []string {
	var notes []string
	if l.Server.Note != "" {
		notes = append(notes, l.Server.Note)
	}
	for _, f := range l.Omit {
		notes = append(notes, fmt.Sprintf("rejects the field %s: asked without it", f))
	}
	if l.Unlimited {
		notes = append(notes, "ignores the limit of an answer's length: a probe is canceled when more tokens than asked have arrived")
	}
	if l.ExactOutput {
		notes = append(notes, "generates exactly as many tokens as asked: held to it")
	}
	return notes
}
