package server

import (
	"slices"

	"github.com/llm-prober/prober/internal/wire"
)

// UnnamedModel is the name under which a router lists models that it does not know (sglang-router, for workers that are
// not SGLang).
const UnnamedModel = "unknown"

// UsableModel returns the name of the model of a list, which is not empty, that is asked for where none is configured:
// the one before if it is still listed, else the first that is in memory, since to load another one may push out one
// that others use, else the first that has a name.
func UsableModel(models []wire.Model, before string) string {
	isBefore := func(m wire.Model) bool { return m.ID == before }
	isNamed := func(m wire.Model) bool { return m.ID != UnnamedModel }
	isReady := func(m wire.Model) bool { return isNamed(m) && !m.Unloaded }
	for _, fits := range []func(wire.Model) bool{isBefore, isReady, isNamed} {
		i := slices.IndexFunc(models, fits)
		if i >= 0 {
			return models[i].ID
		}
	}
	return models[0].ID
}
