package server

import (
	"testing"

	"github.com/llm-prober/prober/internal/wire"
)

// TestUsableModel holds which of a list is asked for where none is configured: the one before, else the first that is
// in memory and has a name.
func TestUsableModel(t *testing.T) {
	loaded := func(name string) wire.Model { return wire.Model{ID: name} }
	unloaded := func(name string) wire.Model { return wire.Model{ID: name, Unloaded: true} }
	for name, test := range map[string]struct {
		list   []wire.Model
		before string
		want   string
	}{
		"the first":                       {[]wire.Model{loaded("a"), loaded("b")}, "", "a"},
		"the one before":                  {[]wire.Model{loaded("a"), unloaded("b")}, "b", "b"},
		"the one before is gone":          {[]wire.Model{loaded("a"), loaded("b")}, "c", "a"},
		"the first in memory":             {[]wire.Model{unloaded("a"), loaded("b")}, "", "b"},
		"none in memory":                  {[]wire.Model{unloaded("a"), unloaded("b")}, "", "a"},
		"a router that does not know one": {[]wire.Model{loaded(UnnamedModel), loaded("b")}, "", "b"},
		"the same, and it is not loaded":  {[]wire.Model{loaded(UnnamedModel), unloaded("b")}, "", "b"},
		"a router that does not know any": {[]wire.Model{loaded(UnnamedModel)}, "", UnnamedModel},
	} {
		if got := UsableModel(test.list, test.before); got != test.want {
			t.Errorf("%s: %s, want %s", name, got, test.want)
		}
	}
}
