package server

import (
	"cmp"
	"slices"

	"github.com/llm-prober/prober/internal/wire"
)

// An Ability is a feature that a server has, or not.
type Ability struct {
	Name  string     `json:"-"` // label and JSON key; one of a closed set
	Help  string     `json:"-"` // what a server with it does
	Claim wire.Claim `json:"claim"`
	Shown bool       `json:"shown"` // by the server's answers; else by its type
}

// Abilities returns all abilities: always the same ones in the same order.
func (k Knowledge) Abilities() []Ability {
	var exact wire.Claim // answers that end early do not show that it cannot
	if k.ExactOutput {
		exact = wire.Always
	}
	return []Ability{
		k.ability("exact_output", "answers are exactly as long as asked", exact, wire.FieldIgnoreEOS),
		k.ability("continuous_usage", "every frame reports how many tokens there are so far", k.ContinuousUsage,
			wire.FieldContinuousUsage),
		{
			Name: "cached_tokens", Help: "the server reports how many tokens of a prompt came from its cache",
			Claim: cmp.Or(k.ReportsCached, k.Type.ReportsCached, wire.Unknown), Shown: k.ReportsCached != "",
		},
		{
			Name: "tokenize", Help: "the server has a route that counts tokens",
			Claim: cmp.Or(k.Tokenizes, wire.Unknown), Shown: k.Tokenizes != "",
		},
		k.ability("cache_salt", "prompts with different salts share no cache", "", wire.FieldCacheSalt),
	}
}

// ability returns an ability that a field of the request asks for: what answers have shown, else what the server's type
// is known for. A server that rejects the field does not have it, nor has one whose API lacks the field.
func (k Knowledge) ability(name, help string, shown wire.Claim, f wire.Field) Ability {
	byType := k.Type.Claim(f)
	if slices.Contains(k.Omit, f) {
		shown = cmp.Or(shown, wire.Never)
	}
	if k.Dialect != nil && !slices.Contains(k.Dialect.Fields, f) {
		byType = wire.Never
	}
	return Ability{Name: name, Help: help, Claim: cmp.Or(shown, byType), Shown: shown != ""}
}
