package config

import (
	"maps"
	"strconv"
	"strings"
	"unicode/utf8"
)

// A value is one setting as somebody gave it.
type value struct {
	text    string // canonical, see [key.check]; "" if bad
	label   string // place for a problem with it: what was written and where
	bad     bool   // a problem with it was already reported
	assumed bool   // nobody gave it: it is a default
}

// Values are settings by the name of their key.
type values map[string]value

// overlay writes over onto v. A key and the file it is read from are one
// setting: either of them replaces both.
func (v values) overlay(over values) {
	_, inline := over["API_KEY"]
	_, file := over["API_KEY_FILE"]
	if inline || file {
		delete(v, "API_KEY")
		delete(v, "API_KEY_FILE")
	}
	maps.Copy(v, over)
}

// only returns the values of the keys in s.
func (v values) only(s schema) values {
	some := values{}
	for _, k := range s {
		if given, ok := v[k.name]; ok {
			some[k.name] = given
		}
	}
	return some
}

// An item is one target or objective before it is typed.
type item struct {
	values
	place string // stands before the name of a key: "PROBER_TARGETS_0_", "targets.yaml:5: " or "--"
	spell func(name string) string
}

// environmentItem stands in the environment, prefix is PROBER_TARGETS_0_.
func environmentItem(prefix string, v values) item {
	return item{values: v, place: prefix, spell: func(name string) string { return name }}
}

// fileItem stands in the targets file, where is targets.yaml:5.
func fileItem(where string, v values) item {
	return item{values: v, place: where + ": ", spell: strings.ToLower}
}

// argumentItem is a target that was given as an argument.
func argumentItem(v values) item {
	return item{values: v, place: argumentPlace, spell: flagName}
}

// argumentPlace stands before the keys of targets that are arguments.
const argumentPlace = "--"

// word is how the user would write the key called name for it.
func (it item) word(name string) string { return it.place + it.spell(name) }

// setting is word where a place was already named: without the file's line.
func (it item) setting(name string) string {
	if strings.HasPrefix(it.place, prefix) || it.place == argumentPlace {
		return it.word(name)
	}
	return it.spell(name)
}

// label is the place for a problem with the key called name.
func (it item) label(name string) string {
	if given, ok := it.values[name]; ok {
		return given.label
	}
	return it.word(name)
}

// given reports whether every name has a value and all of them are right.
func (it item) given(names ...string) bool {
	for _, name := range names {
		if v, ok := it.values[name]; !ok || v.bad {
			return false
		}
	}
	return true
}

// label is how a problem shows s, given for k: word="s", or word alone if s may
// be secret.
func (k key) label(word, s string) string {
	switch k.kind {
	case secretKind, headersKind:
		return word
	case urlKind:
		s = mask(s)
	}
	return word + "=" + quote(s)
}

// quote is s in quotes, without anything that would break the line, and cut
// after 80 characters.
func quote(s string) string {
	if utf8.RuneCountInString(s) > 80 {
		s = string([]rune(s)[:80]) + "…"
	}
	return strconv.Quote(s)
}

// mask hides what follows the scheme of a URL that may hold credentials.
func mask(s string) string {
	if !strings.ContainsAny(s, "@?#") {
		return s
	}
	if scheme, _, ok := strings.Cut(s, "://"); ok && (scheme == "http" || scheme == "https") {
		return scheme + "://***"
	}
	return "***"
}
