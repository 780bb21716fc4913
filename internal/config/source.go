package config

import (
	"maps"
	"strings"
)

// A source is one setting as it was given.
type source struct {
	text    string
	label   string // place for a problem with it: what was written and where
	bad     bool   // a problem with it was already reported
	assumed bool   // it was not given: it is the default
}

// Values are settings by their names.
type values map[string]source

// overlay lays values over each other, the last on top. A key and the file it is
// read from are one setting: either of them replaces both.
func overlay(layers ...values) values {
	all := values{}
	for _, over := range layers {
		_, inline := over["API_KEY"]
		_, file := over["API_KEY_FILE"]
		if inline || file {
			delete(all, "API_KEY")
			delete(all, "API_KEY_FILE")
		}
		maps.Copy(all, over)
	}
	return all
}

// An item is one target or objective before it is typed.
type item struct {
	values
	place string // stands before the name of a setting: "PROBER_TARGETS_0_", "targets.yaml:5: " or "--"
	spell func(name string) string
}

// argumentPlace stands before the settings of targets that are arguments.
const argumentPlace = "--"

// word is how the user would write the setting called name for it.
func (it item) word(name string) string { return it.place + it.spell(name) }

// setting is word without the line of the targets file.
func (it item) setting(name string) string {
	if strings.HasPrefix(it.place, prefix) || it.place == argumentPlace {
		return it.word(name)
	}
	return it.spell(name)
}

// label is the place for a problem with the setting called name.
func (it item) label(name string) string {
	if given, ok := it.values[name]; ok {
		return given.label
	}
	return it.word(name)
}

// given reports whether every name has a value and all of them are right.
func (it item) given(names ...string) bool {
	for _, name := range names {
		if s, ok := it.values[name]; !ok || s.bad {
			return false
		}
	}
	return true
}
