package config

import (
	"cmp"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

const (
	prefix        = "PROBER_" // of every variable
	targetList    = "TARGETS" // the two lists as variables spell them
	objectiveList = "OBJECTIVES"
)

// A Key is one setting, as the tags of its field define it.
type Key struct {
	Variable  string   // PROBER_QPS, PROBER_TARGETS_n_MODEL, PROBER_OBJECTIVES_n_GOAL
	Flag      string   // name of the flag, without dashes; "" if it has none
	Default   string   // the default, or in words what happens without a value
	Help      string   // meaning, unit and bounds in one phrase, without full stop
	PerTarget bool     // may be given for one target: PROBER_TARGETS_n_…
	Secret    bool     // its value is never to be shown
	Switch    bool     // takes on or off; its flag alone means on
	Restart   bool     // a change takes effect with a restart only
	Not       []string // commands that have no use for it

	name  string       // without PROBER_ and TARGETS_n_, in upper case
	in    reflect.Type // struct that it is parsed into: Config, Target or Objective
	field reflect.StructField
	words []string // what is allowed; nil for any
	hint  string   // what a right value looks like; "" for any
}

type keys []Key

// A schema is every setting there is, in the order of the documentation.
type schema struct{ prober, shared, target, objective keys }

// settings returns the schema. apis and servers are the names of the dialects and
// server types that [Options] brings.
func settings(apis, servers []string) schema {
	more := map[string][]string{"API": apis, "SERVER": servers}
	return schema{
		keysOf[Config, Config](prefix, nil), keysOf[Settings, Target](prefix, nil),
		keysOf[Target, Target](prefix+targetList+"_n_", more), keysOf[Objective, Objective](prefix+objectiveList+"_n_", nil),
	}
}

// keysOf are the settings that are fields of T and are parsed into In, by the tags of
// package config. more are further words that are allowed.
func keysOf[T, In any](before string, more map[string][]string) keys {
	var all keys
	for f := range reflect.TypeFor[T]().Fields() {
		tag := f.Tag.Get
		k := Key{
			name: tag("env"), in: reflect.TypeFor[In](), field: f, words: append(strings.Fields(tag("oneof")), more[tag("env")]...), hint: tag("want"),
			Variable: before + tag("env"), Default: cmp.Or(tag("envDefault"), tag("otherwise")), Help: tag("help"),
			PerTarget: reflect.TypeFor[In]() == reflect.TypeFor[Target](),
			Secret:    f.Type == reflect.TypeFor[Secret]() || f.Type == reflect.TypeFor[Headers](),
			Switch:    f.Type.Kind() == reflect.Bool, Restart: tag("reload") == "restart",
		}
		if k.name == "" {
			continue
		}
		if !strings.Contains(before, objectiveList) && k.name != "URL" { // URLs are arguments
			k.Flag = flagName(k.name)
		}
		if tag("not") != "" {
			k.Not = strings.Split(tag("not"), ",")
		}
		if len(k.words) > 0 {
			k.hint = alternatives(k.words)
		}
		if len(k.words) > 1 {
			k.Help += ": " + k.hint
		}
		if k.hint != "" {
			k.hint = "want " + k.hint
		}
		all = append(all, k)
	}
	return all
}

// Reference returns every setting in the order of the documentation.
func Reference() []Key { return settings(nil, nil).all() }

func (s schema) all() keys { return slices.Concat(s.prober, s.shared, s.target, s.objective) }

// find returns the setting called name.
func (ks keys) find(name string) (Key, bool) {
	at := slices.IndexFunc(ks, func(k Key) bool { return k.name == name })
	if at < 0 {
		return Key{}, false
	}
	return ks[at], true
}

// flagName spells a name as a flag: PROMPT_TOKENS is prompt-tokens.
func flagName(name string) string { return strings.ReplaceAll(strings.ToLower(name), "_", "-") }

// of is the setting in a struct that has it, or in a pointer to one.
func (k Key) of(v any) reflect.Value {
	return reflect.Indirect(reflect.ValueOf(v)).FieldByName(k.field.Name)
}

// alternatives spells a choice: "a", "a or b", "a, b or c".
func alternatives(words []string) string {
	last := len(words) - 1
	return strings.TrimPrefix(strings.Join(words[:last], ", ")+" or "+words[last], " or ")
}

var webScheme = regexp.MustCompile(`^https?://`)

// given is s, which the user gave for k as word. Its label is word="s", or word alone if
// s may be secret.
func (k Key) given(word, s string) source {
	shown := s
	if k.name == "URL" && strings.ContainsAny(s, "@?#") { // it may hold credentials
		shown = webScheme.FindString(s) + "***"
	}
	if !k.Secret {
		word += "=" + quote(shown)
	}
	return source{text: s, label: word}
}

// quote is s in quotes, without anything that would break the line, and cut
// after 80 characters.
func quote(s string) string {
	if short := fmt.Sprintf("%.80s", s); short != s {
		s = short + "…"
	}
	return strconv.Quote(s)
}
