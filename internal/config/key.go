package config

import (
	"cmp"
	"reflect"
	"slices"
	"strings"
	"time"

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
	kind      reflect.Type
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

// keysOf returns the settings that are fields of T. Their variables begin with before. In known, their names begin with list.
func keysOf[T any](before, list string, known map[string]Key) keys {
	var all keys
	for f := range reflect.TypeFor[T]().Fields() {
		name := f.Tag.Get("env")
		if name == "" || name == "-" {
			continue
		}
		k := known[list+name]
		k.Variable, k.Default, k.Switch = before+name, f.Tag.Get("envDefault"), f.Type.Kind() == reflect.Bool
		k.name, k.fieldName, k.tag, k.kind = name, f.Name, f.Tag, f.Type
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
		k.Type = k.typeName()
		k.Help += k.allowed()
		all = append(all, k)
	}
	return all
}

// allowed returns the end of the help: which words or numbers are allowed, and none.
func (k Key) allowed() string {
	isBounded := k.kind.Kind() == reflect.Int || k.kind == reflect.TypeFor[float64]()
	switch {
	case len(k.words) > 0 && strings.Contains(k.Help, k.words[len(k.words)-1]): // the help names them
		return ""
	case len(k.words) > 0:
		return "; one of " + strings.Join(k.words, ", ")
	case k.optional():
		return "; or none"
	case isBounded && k.tag.Get("max") != "":
		return "; " + k.tag.Get("min") + " to " + k.tag.Get("max")
	}
	return ""
}

// described returns what [descriptions] say, by name.
func described() map[string]Key {
	all := map[string]Key{}
	for _, t := range descriptions() {
		for _, d := range t.settings {
			all[d.name] = Key{Topic: t.heading, For: strings.Fields(d.commands), Help: d.help}
		}
	}
	return all
}

// usedBy reports whether a command has a use for the setting.
func (k Key) usedBy(command string) bool { return len(k.For) == 0 || slices.Contains(k.For, command) }

func (k Key) typeName() string {
	switch {
	case strings.HasSuffix(k.name, "_FILE"):
		return "file"
	case k.format == "address":
		return "host:port"
	case k.Switch:
		return "on|off"
	case len(k.words) > 0:
		return "word"
	case k.isDuration():
		return "duration"
	case k.isNumber():
		return "number"
	}
	if slices.Contains([]string{"header", "name", "path"}, k.format) {
		return k.format
	}
	return "text"
}

func (k Key) isDuration() bool {
	return slices.Contains([]reflect.Type{
		reflect.TypeFor[Duration](), reflect.TypeFor[OptionalDuration](), reflect.TypeFor[time.Duration](),
	}, k.kind)
}

func (k Key) isNumber() bool {
	whole := k.kind.Kind() == reflect.Int || k.kind == reflect.TypeFor[OptionalInt]()
	return whole || k.kind.Kind() == reflect.Float64
}

// optional reports whether the word none is a value of the setting.
func (k Key) optional() bool {
	return slices.Contains([]reflect.Type{
		reflect.TypeFor[OptionalDuration](), reflect.TypeFor[OptionalInt](), reflect.TypeFor[Tokens](),
	}, k.kind)
}

// hint returns what a right value looks like; nothing for any text.
func (k Key) hint() string {
	orNone := ""
	if k.optional() {
		orNone = ", or none"
	}
	want := ""
	switch last := len(k.words) - 1; {
	case last > 0:
		want = strings.Join(k.words[:last], ", ") + " or " + k.words[last]
	case k.kind == reflect.TypeFor[Shard]():
		want = "number/shards, numbered from 0, for example 0/3, or with the name of a StatefulSet's pod prober-0/3"
	case k.kind == reflect.TypeFor[Headers]():
		want = "NAME=value,NAME=value (a value with a comma in it goes into the targets file)"
	case k.kind == reflect.TypeFor[Rate]():
		want = "probes per second, for example 0.1"
	case k.kind == reflect.TypeFor[Tokens]():
		want = "tokens a day, for example " + cmp.Or(k.Default, "50000000") + orNone
	case k.Switch:
		want = "on or off"
	case k.isDuration():
		want = "a duration with its unit, for example " + cmp.Or(k.Default, "30s") + orNone
	case k.format != "" && k.format != "file":
		want = formats[k.format].want
	case k.kind.Kind() == reflect.Float64:
		want = "a number, for example " + k.Default
	case strings.HasSuffix(k.name, "_TOKENS"):
		want = "a number of tokens, for example " + k.Default
	case k.isNumber():
		want = "a number, for example " + cmp.Or(k.Default, "-10") + orNone
	}
	if want == "" {
		return ""
	}
	return "want " + want
}

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
