package config

import (
	"cmp"
	_ "embed" // of the help
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/llm-prober/prober/internal/usage"
)

const (
	prefix = "PROBER_" // of every variable
	none   = "none"    // the word for an optional value that is not there
)

// A Key is one setting, as the tags of its field and its help define it. All reflection is in its methods.
type Key struct {
	Variable string   // PROBER_QPS, PROBER_TARGETS_n_MODEL, PROBER_OBJECTIVES_n_GOAL
	Flag     string   // name of the flag, without dashes; "" if it has none
	Default  string   // "" if there is none, or if the help explains it
	Help     string   // meaning, unit and bounds in one phrase, without full stop
	Type     string   // of its values: duration, number, file, …
	Topic    string   // heading of its settings in help
	Switch   bool     // takes on or off; its flag alone means on
	Restart  bool     // a change takes effect only with a restart
	Shared   bool     // may be given for all targets together, and for one
	For      []string // commands that use it; empty: all

	name     string // without PROBER_ and TARGETS_n_, in upper case
	field    reflect.StructField
	tag      reflect.StructTag
	kind     kind
	words    []string // the words that are allowed; nil for any text
	optional bool     // the word none is allowed, too
	secret   bool     // its value must not be shown
}

// A section is a struct of settings, and the lists of entries that can stand in it: a target has a list of objectives.
type section struct {
	list  string // name of the list that has such entries: TARGETS, OBJECTIVES; "" if none has
	of    reflect.Type
	keys  []Key
	lists []*section
}

// A schema is all settings. What a user can write is a tree: shared is its top, in the targets file and as variables.
type schema struct {
	prober    *section
	shared    *section // what holds for all targets, and the lists of targets and objectives
	target    *section // with the settings that are shared
	objective *section
}

func newSchema() schema {
	help := helpTexts()
	prober := newSection[Config]("", prefix, "", help)
	objective := newSection[objectiveSettings]("OBJECTIVES", prefix+"OBJECTIVES_n_", "OBJECTIVES_", help)
	target := newSection[Target]("TARGETS", prefix+"TARGETS_n_", "", help)
	target.lists = []*section{objective}
	shared := &section{of: target.of, lists: []*section{target, objective}}
	for _, k := range target.keys {
		if k.Shared {
			shared.keys = append(shared.keys, k)
		}
	}
	return schema{prober: prober, shared: shared, target: target, objective: objective}
}

// own returns the settings that only a target has.
func (s schema) own() []Key {
	return slices.DeleteFunc(slices.Clone(s.target.keys), func(k Key) bool { return k.Shared })
}

// Reference returns every setting in the order of the documentation.
func Reference() []Key {
	s := newSchema()
	return slices.Concat(s.prober.keys, s.shared.keys, s.own(), s.objective.keys)
}

//go:embed help.txt
var helpText string

// helpTexts returns what help.txt says, by name of the setting.
func helpTexts() map[string]Key {
	texts, topic := map[string]Key{}, ""
	for line := range strings.Lines(helpText) {
		if strings.HasPrefix(line, "[") {
			topic = strings.Trim(line, "[]\n")
		}
		columns := strings.Split(line, "|")
		if len(columns) == 3 {
			name := strings.TrimSpace(columns[0])
			texts[name] = Key{Topic: topic, For: strings.Fields(columns[1]), Help: strings.TrimSpace(columns[2])}
		}
	}
	return texts
}

// newSection returns the settings that are fields of T. The names of their variables begin with before, and their names
// in help with listInHelp, which is empty if they have flags: an entry of a list in a target has none.
func newSection[T any](list, before, listInHelp string, help map[string]Key) *section {
	s := &section{list: list, of: reflect.TypeFor[T]()}
	for f := range s.of.Fields() {
		name := f.Tag.Get("env")
		if name == "" || name == "-" {
			continue
		}
		k := help[listInHelp+name]
		k.name, k.field, k.tag, k.kind = name, f, f.Tag, kindOf(f)
		k.Variable = before + name
		k.Shared = k.has("shared")
		if k.Shared {
			k.Variable = prefix + name
		}
		k.Default = f.Tag.Get("envDefault")
		k.Switch = f.Type.Kind() == reflect.Bool
		k.Restart = !k.has("reload")
		k.optional = k.has("optional")
		k.secret = f.Type == reflect.TypeFor[Secret]() || f.Type == reflect.TypeFor[Headers]()
		k.words = strings.Fields(f.Tag.Get("oneof"))
		if k.kind.words != nil {
			k.words = k.kind.words()
		}
		k.Type = k.kind.name
		if len(k.words) > 0 {
			k.Type = "word"
		}
		// URLs are arguments, and other users of the machine can see flags.
		if listInHelp == "" && name != "URL" && !k.secret {
			k.Flag = flagName(name)
		}
		k.Help += k.allowed()
		s.keys = append(s.keys, k)
	}
	return s
}

// find returns the setting called name.
func (s *section) find(name string) (Key, bool) {
	at := slices.IndexFunc(s.keys, func(k Key) bool { return k.name == name })
	if at < 0 {
		return Key{}, false
	}
	return s.keys[at], true
}

// fileKey returns the key of the list in the targets file.
func (s *section) fileKey() string { return strings.ToLower(s.list) }

// has reports whether the field of the setting has a tag.
func (k Key) has(tag string) bool {
	_, ok := k.tag.Lookup(tag)
	return ok
}

// isOfGroup reports whether members of a group must agree in the setting.
func (k Key) isOfGroup() bool { return k.tag.Get("shared") == "group" }

// allowed returns the end of a setting's help: the words or the bounds that are allowed.
func (k Key) allowed() string {
	switch {
	case len(k.words) > 0 && strings.Contains(k.Help, k.words[len(k.words)-1]): // the help names them
		return ""
	case len(k.words) > 0:
		return "; one of " + strings.Join(k.words, ", ")
	case k.optional:
		return "; or " + none
	case k.tag.Get("max") != "":
		return "; " + k.bounds()
	}
	return ""
}

// bounds returns the bounds in the tags as a phrase after "must be".
func (k Key) bounds() string {
	least, most := k.tag.Get("min"), k.tag.Get("max")
	if most == "" {
		return "at least " + least
	}
	return least + " to " + most
}

// within reports whether a number, or a duration in nanoseconds, is within the bounds in the tags. NaN never is.
func (k Key) within(number float64) bool {
	return number >= k.bound("min", math.Inf(-1)) && number <= k.bound("max", math.Inf(1))
}

// bound returns the bound in a tag, or the value without if there is no such tag.
func (k Key) bound(tag string, without float64) float64 {
	text, ok := k.tag.Lookup(tag)
	if !ok {
		return without
	}
	if k.Type == "duration" {
		duration, _ := time.ParseDuration(text)
		return float64(duration)
	}
	number, _ := strconv.ParseFloat(text, 64)
	return number
}

// check judges the value that parsing text gave the setting in a struct. err is the reason if text could not be parsed.
// The problem that it returns has no place yet and never quotes text.
func (k Key) check(owner any, text string, err error) (wrong usage.Problem, isWrong bool) {
	v := reflect.Indirect(k.value(owner))
	mistaken, isMistaken := k.kind.mistaken[text]
	switch {
	case k.kind.newMapping == nil && !printable(text):
		err = usage.Problem{Text: "has unprintable characters"}
	case err != nil:
	case v.CanInt() && !k.within(float64(v.Int())), v.CanFloat() && !k.within(v.Float()):
		err = usage.Problem{Text: "must be " + k.bounds()}
	case isMistaken:
		err = mistaken
	case len(k.words) > 0 && !slices.Contains(k.words, text):
		err = usage.Problem{Text: "unknown" + usage.Suggestion(text, k.words)}
	case k.kind.check != nil:
		err = k.kind.check(text)
	}
	wrong, isWrong = errors.AsType[usage.Problem](err)
	wrong.Hint = cmp.Or(wrong.Hint, k.hint())
	return wrong, isWrong
}

// hint returns what a right value looks like; "" if any text is right.
func (k Key) hint() string {
	want := k.kind.want
	last := len(k.words) - 1
	if last > 0 {
		want = strings.Join(k.words[:last], ", ") + " or " + k.words[last]
	}
	if want == "" {
		return ""
	}
	if k.optional {
		want += ", or " + none
	}
	return "want " + strings.ReplaceAll(want, "%s", cmp.Or(k.Default, k.tag.Get("optional")))
}

// value returns the field of the setting. owner is a pointer to the struct.
func (k *Key) value(owner any) reflect.Value {
	return reflect.ValueOf(owner).Elem().FieldByIndex(k.field.Index)
}

// pointer returns a pointer to the field of the setting. owner is a pointer to the struct.
func (k *Key) pointer(owner any) any { return k.value(owner).Addr().Interface() }

// clear sets the field of the setting to zero. owner is a pointer to the struct.
func (k Key) clear(owner any) { k.value(owner).SetZero() }

// text returns the value of the setting as a text; "" if it is not set. owner is a pointer to the struct.
func (k Key) text(owner any) string {
	v := k.value(owner)
	switch {
	case v.Kind() == reflect.Pointer && v.IsNil(), v.Kind() == reflect.Map && v.Len() == 0:
		return ""
	case v.IsZero() && k.Default == "" && !k.optional: // the limit of availability
		return ""
	case v.Kind() != reflect.Pointer && k.optional && v.IsZero():
		return none
	}
	return fmt.Sprint(reflect.Indirect(v).Interface())
}

// usedBy reports whether a command uses the setting.
func (k Key) usedBy(command string) bool { return len(k.For) == 0 || slices.Contains(k.For, command) }

// fileKey returns the key in the targets file.
func (k Key) fileKey() string { return strings.ToLower(k.name) }

// isNone reports whether a text is the word none, and the setting allows it.
func (k Key) isNone(text string) bool { return k.optional && text == none }

// flagName spells a name as a flag: PROMPT_TOKENS is prompt-tokens.
func flagName(name string) string { return strings.ReplaceAll(strings.ToLower(name), "_", "-") }
