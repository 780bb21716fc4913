package server

import (
	"slices"

	"github.com/llm-prober/prober/internal/wire"
)

// UnnamedModel is the name under which a router lists models that it does not know (sglang-router, for workers that are
// not SGLang).
const UnnamedModel = "unknown"

// UsableModel returns the name of the model that is asked for where none is configured, out of the list of a server,
// which must not be empty. It is the one that was asked for before, if it is still listed. Else it is the first one in
// memory, because to load another one may push out one that others use. Else it is the first one with a name.
func UsableModel(models []wire.Model, before string) string {
	isSame := func(m wire.Model) bool { return m.ID == before }
	hasName := func(m wire.Model) bool { return m.ID != UnnamedModel }
	isLoaded := func(m wire.Model) bool { return hasName(m) && !m.Unloaded }
	for _, fits := range []func(wire.Model) bool{isSame, isLoaded, hasName} {
		i := slices.IndexFunc(models, fits)
		if i >= 0 {
			return models[i].ID
		}
	}
	return models[0].ID
}
