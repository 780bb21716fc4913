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

// A Key is one setting, as the tags of its field define it.
type Key struct {
	Variable string   // PROBER_QPS, PROBER_TARGETS_n_MODEL, PROBER_OBJECTIVES_n_GOAL
	Flag     string   // name of the flag, without dashes; "" if it has none
	Default  string   // the default, or in words what happens without a value
	Help     string   // meaning, unit and bounds in one phrase, without full stop
	Type     string   // of its values: duration, number, file, …
	Topic    string   // which settings it stands with in help
	Switch   bool     // takes on or off; its flag alone means on
	Restart  bool     // a change takes effect with a restart only
	For      []string // commands that have a use for it; none: all

	name   string // without PROBER_ and TARGETS_n_, in upper case
	field  reflect.StructField
	words  []string // what is allowed; nil for any
	hint   string   // what a right value looks like; "" for any
	secret bool     // its value is never to be shown
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
	s := schema{
		prober: keysOf[Config](prefix), shared: keysOf[Settings](prefix),
		own: keysOf[Target](prefix + targetList + "_n_"), objective: keysOf[Objective](prefix + objectiveList + "_n_"),
	}
	s.target = slices.Concat(s.shared, s.own)
	return s
}

// Reference returns every setting in the order of the documentation.
func Reference() []Key {
	s := settings()
	return slices.Concat(s.prober, s.target, s.objective)
}

// keysOf are the settings that are fields of T, by the tags of package config.
func keysOf[T any](before string) keys {
	var all keys
	topic := ""
	more := map[string][]string{"API": wire.APIs(), "SERVER": wire.Servers()}
	for f := range reflect.TypeFor[T]().Fields() {
		tag := f.Tag.Get
		k := Key{
			name: tag("env"), field: f, words: append(strings.Fields(tag("oneof")), more[tag("env")]...), hint: tag("want"),
			Variable: before + tag("env"), Default: cmp.Or(tag("envDefault"), tag("otherwise")), Help: tag("help"),
			secret: f.Type == reflect.TypeFor[Secret]() || f.Type == reflect.TypeFor[Headers](),
			Switch: f.Type.Kind() == reflect.Bool, Restart: tag("reload") == "restart",
		}
		topic = cmp.Or(tag("topic"), topic)
		k.Type, k.Topic, k.For = typeOf(k), topic, strings.Fields(tag("for"))
		if k.name == "" || k.name == "-" {
			continue
		}
		// URLs are arguments, and other users of the machine can see flags.
		if !strings.Contains(before, objectiveList) && k.name != "URL" && !k.secret {
			k.Flag = flagName(k.name)
		}
		if last := len(k.words) - 1; last > 0 {
			k.hint = strings.Join(k.words[:last], ", ") + " or " + k.words[last]
			if !strings.Contains(k.Help, k.words[last]) {
				k.Help += "; one of " + strings.Join(k.words, ", ")
			}
		}
		if k.hint != "" {
			k.hint = "want " + k.hint
		}
		all = append(all, k)
	}
	return all
}

func typeOf(k Key) string {
	is := k.field.Tag.Get("is")
	switch kind := k.field.Type.Kind(); {
	case strings.HasSuffix(k.name, "_FILE"):
		return "file"
	case strings.HasSuffix(k.name, "_DIR"):
		return "directory"
	case slices.Contains([]string{"header", "name", "path"}, is):
		return is
	case is == "address":
		return "host:port"
	case k.Switch:
		return "on|off"
	case len(k.words) > 0:
		return "word"
	case k.field.Type == reflect.TypeFor[time.Duration]():
		return "duration"
	case kind == reflect.Int || kind == reflect.Float64 || kind == reflect.Pointer:
		return "number"
	}
	return "text"
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
