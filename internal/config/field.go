package config

import (
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// prefix begins the name of every variable of ours.
const prefix = "PROBER_"

// The two lists, as variables spell them.
const (
	targetList    = "TARGETS"
	objectiveList = "OBJECTIVES"
)

// A scope says where a setting may be given.
type scope int

const (
	proberScope    scope = iota // PROBER_X: about the prober itself
	sharedScope                 // PROBER_X for all targets, and PROBER_TARGETS_n_X for one
	targetScope                 // PROBER_TARGETS_n_X
	objectiveScope              // PROBER_OBJECTIVES_n_X
)

// A field is one setting: a struct field with its tags.
type field struct {
	reflect.StructField
	name  string // without PROBER_ and TARGETS_n_, in upper case
	scope scope
	words []string // what is allowed; nil for any
}

// A schema is a list of settings.
type schema []field

// settings is every setting there is, in the order of the documentation. apis and
// servers are the names of the dialects and server types that [Options] brings.
func settings(apis, servers []string) schema {
	var all schema
	for sc, of := range []reflect.Type{reflect.TypeFor[Config](), reflect.TypeFor[Settings](), reflect.TypeFor[Target](), reflect.TypeFor[Objective]()} {
		for f := range of.Fields() {
			name := f.Tag.Get("env")
			if name == "" {
				continue
			}
			words := strings.Fields(f.Tag.Get("oneof"))
			switch name {
			case "API":
				words = append(words, apis...)
			case "SERVER":
				words = append(words, servers...)
			}
			all = append(all, field{StructField: f, name: name, scope: scope(sc), words: words})
		}
	}
	return all
}

// find returns the setting called name in one of scopes.
func (s schema) find(name string, scopes ...scope) (field, bool) {
	at := slices.IndexFunc(s, func(f field) bool { return f.name == name && slices.Contains(scopes, f.scope) })
	if at < 0 {
		return field{}, false
	}
	return s[at], true
}

// in returns the settings of scopes, in order.
func (s schema) in(scopes ...scope) schema {
	return slices.DeleteFunc(slices.Clone(s), func(f field) bool { return !slices.Contains(scopes, f.scope) })
}

// tagged returns the settings whose tag has that value.
func (s schema) tagged(tag, value string) schema {
	return slices.DeleteFunc(slices.Clone(s), func(f field) bool { return f.Tag.Get(tag) != value })
}

// variables returns the names of all variables, without prefix; those of lists
// with index.
func (s schema) variables(index string) []string {
	var names []string
	for _, f := range s {
		if f.scope == proberScope || f.scope == sharedScope {
			names = append(names, f.name)
		}
		if f.scope == targetScope || f.scope == sharedScope {
			names = append(names, targetList+"_"+index+"_"+f.name)
		}
		if f.scope == objectiveScope {
			names = append(names, objectiveList+"_"+index+"_"+f.name)
		}
	}
	return names
}

// of is the value of the setting in a struct that has it.
func (f field) of(v any) reflect.Value {
	return reflect.Indirect(reflect.ValueOf(v)).FieldByName(f.Name)
}

// secret reports whether values of f are never to be shown.
func (f field) secret() bool {
	return f.Type == reflect.TypeFor[Secret]() || f.Type == reflect.TypeFor[Headers]()
}

// flag is the name of the flag: PROMPT_TOKENS is prompt-tokens. Objectives have none, and URLs are arguments.
func (f field) flag() string {
	if f.scope == objectiveScope || f.name == "URL" {
		return ""
	}
	return flagName(f.name)
}

func flagName(name string) string { return strings.ReplaceAll(strings.ToLower(name), "_", "-") }

// hint says what a right value looks like; "" for any.
func (f field) hint() string {
	want := f.Tag.Get("want")
	if len(f.words) > 0 {
		want = alternatives(f.words)
	}
	if want == "" {
		return ""
	}
	return "want " + want
}

// alternatives spells a choice: "a", "a or b", "a, b or c".
func alternatives(words []string) string {
	last := len(words) - 1
	if last < 1 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

// label is how a problem shows s, given for f: word="s", or word alone if s may
// be secret.
func (f field) label(word, s string) string {
	if f.secret() {
		return word
	}
	if f.name == "URL" && strings.ContainsAny(s, "@?#") { // it may hold credentials
		scheme, _, ok := strings.Cut(s, "://")
		s = "***"
		if ok && (scheme == "http" || scheme == "https") {
			s = scheme + "://***"
		}
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
