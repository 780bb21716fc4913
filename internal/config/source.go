package config

import (
	"maps"
	"strings"
)

// A source is one setting as it was given.
type source struct {
	text    string // "" if bad
	label   string // place for a problem with it: what was written and where
	bad     bool   // a problem with it was already reported
	assumed bool   // it was not given: it is the default
}

// Values are settings by their names.
type values map[string]source

// A layer is what one source says.
type layer struct {
	values     // of the prober and, as defaults, of all targets
	targets    []item
	objectives []item
}

// has reports whether a setting was given, right or wrong.
func (v values) has(name string) bool {
	_, ok := v[name]
	return ok
}

// overlay lays values over each other, the last on top. A key and the file it is
// read from are one setting: either of them replaces both.
func overlay(layers ...values) values {
	all := values{}
	for _, over := range layers {
		if over.has("API_KEY") || over.has("API_KEY_FILE") {
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
}

const argumentPlace = "--" // before the settings of targets that are arguments

// spell is how the user would write the setting called name for it.
func (it item) spell(name string) string {
	switch {
	case it.place == argumentPlace:
		return flagName(name)
	case strings.HasPrefix(it.place, prefix):
		return name
	}
	return strings.ToLower(name)
}

// setting is spell with what stands before it, but for the line of a file.
func (it item) setting(name string) string {
	if strings.HasSuffix(it.place, " ") {
		return it.spell(name)
	}
	return it.place + it.spell(name)
}

// label is the place for a problem with the setting called name.
func (it item) label(name string) string {
	if it.has(name) {
		return it.values[name].label
	}
	return it.place + it.spell(name)
}

// given reports whether every name has a value and all of them are right.
func (it item) given(names ...string) bool {
	for _, name := range names {
		if !it.has(name) || it.values[name].bad {
			return false
		}
	}
	return true
}

// origin is the place that its name comes from: that of the setting called other, if it has none of its own.
func (it item) origin(other string) string {
	if it.given("NAME") {
		return it.label("NAME")
	}
	return it.label(other)
}
