package config

import (
	"reflect"
	"slices"
	"strings"

	"github.com/llm-prober/prober/internal/wire"
)

const (
	prefix        = "PROBER_" // of every variable
	targetList    = "TARGETS" // the two lists as variables spell them
	objectiveList = "OBJECTIVES"
)

// A Key is one setting, as the tags of its field and its description define it.
type Key struct {
	Variable string   // PROBER_QPS, PROBER_TARGETS_n_MODEL, PROBER_OBJECTIVES_n_GOAL
	Flag     string   // name of the flag, without dashes; "" if it has none
	Default  string   // "" where the help tells it
	Help     string   // meaning, unit and bounds in one phrase, without full stop
	Type     string   // of its values: duration, number, file, …
	Topic    string   // which settings it stands with in help
	Switch   bool     // takes on or off; its flag alone means on
	Restart  bool     // a change takes effect with a restart only
	For      []string // commands that have a use for it; none: all

	name      string // without PROBER_ and TARGETS_n_, in upper case
	fieldName string
	tag       reflect.StructTag
	kind      kind
	words     []string // what is allowed; nil for any
	format    string   // see [formats]
	secret    bool     // its value is never to be shown
}

type keys []Key

// A schema is every setting there is, in the order of the documentation.
type schema struct {
	prober    keys
	shared    keys // of all targets, and of each
	own       keys // of each target only
	objective keys
	target    keys // shared and own
}

func settings() schema {
	known := described()
	s := schema{
		prober:    keysOf[Config](prefix, "", known),
		shared:    keysOf[Settings](prefix, "", known),
		own:       keysOf[Target](prefix+targetList+"_n_", "", known),
		objective: keysOf[Objective](prefix+objectiveList+"_n_", objectiveList+"_", known),
	}
	for i := range s.prober {
		s.prober[i].Restart = !slices.Contains(reloaded, s.prober[i].name)
	}
	s.target = slices.Concat(s.shared, s.own)
	return s
}

// Reference returns every setting in the order of the documentation.
func Reference() []Key {
	s := settings()
	return slices.Concat(s.prober, s.target, s.objective)
}

// keysOf returns the settings that are fields of T. Their variables begin with before. known has their descriptions, by names
// that begin with list.
func keysOf[T any](before, list string, known map[string]Key) keys {
	var all keys
	for f := range reflect.TypeFor[T]().Fields() {
		name := f.Tag.Get("env")
		if name == "" || name == "-" {
			continue
		}
		k := known[list+name]
		k.Variable, k.Default, k.Switch = before+name, f.Tag.Get("envDefault"), f.Type.Kind() == reflect.Bool
		k.name, k.fieldName, k.tag, k.kind = name, f.Name, f.Tag, kindOf(f)
		k.format, k.words = f.Tag.Get("format"), strings.Fields(f.Tag.Get("oneof"))
		k.secret = f.Type == reflect.TypeFor[Secret]() || f.Type == reflect.TypeFor[Headers]()
		switch name {
		case "API":
			k.words = append(k.words, wire.APIs()...)
		case "SERVER":
			k.words = append(k.words, wire.Servers()...)
		}
		// URLs are arguments, and other users of the machine can see flags.
		if list == "" && name != "URL" && !k.secret {
			k.Flag = flagName(name)
		}
		k.Type = k.kind.name
		if len(k.words) > 0 {
			k.Type = "word"
		}
		k.Help += k.allowed()
		all = append(all, k)
	}
	return all
}

// allowed returns the end of the help: which words or numbers are allowed, and none.
func (k Key) allowed() string {
	switch {
	case len(k.words) > 0 && strings.Contains(k.Help, k.words[len(k.words)-1]): // the help names them
		return ""
	case len(k.words) > 0:
		return "; one of " + strings.Join(k.words, ", ")
	case k.kind.optional:
		return "; or " + none
	case k.tag.Get("min") != "" && k.tag.Get("max") != "":
		return "; " + k.tag.Get("min") + " to " + k.tag.Get("max")
	}
	return ""
}

// described returns what [descriptions] say, by name.
func described() map[string]Key {
	all := map[string]Key{}
	for _, t := range descriptions {
		for _, d := range t.settings {
			all[d.name] = Key{Topic: t.heading, For: strings.Fields(d.commands), Help: d.help}
		}
	}
	return all
}

// usedBy reports whether a command has a use for the setting.
func (k Key) usedBy(command string) bool { return len(k.For) == 0 || slices.Contains(k.For, command) }

// SecretFlag says what to use in place of a flag that would hold a secret. ok is false for all other words.
func SecretFlag(flag string) (instead string, ok bool) {
	switch flag {
	case flagName("API_KEY"):
		return "use --api-key-file FILE, or PROBER_API_KEY", true
	case flagName("HEADERS"):
		return "write the target and its headers into a targets file, or use PROBER_TARGETS_0_URL and " +
			"PROBER_TARGETS_0_HEADERS", true
	}
	return "", false
}

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

// keyName spells a name as a key of the targets file: PROMPT_TOKENS is prompt_tokens.
func (k Key) keyName() string { return k.tag.Get("yaml") }
