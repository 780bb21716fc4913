package config

import (
	"cmp"
	_ "embed" // of the help
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

// A Key is one setting, as the tags of its field and its help define it. Only its methods use reflection. They take the
// struct of settings as owner, which is a pointer to it.
type Key struct {
	Variable string   // PROBER_QPS, PROBER_TARGETS_n_MODEL, PROBER_OBJECTIVES_n_GOAL
	Flag     string   // name of the flag, without dashes; "" if it has none
	Default  string   // "" if there is none, or if the help explains it
	Help     string   // meaning, unit and bounds in one phrase, without full stop
	Type     string   // of its values: duration, number, file, …
	Switch   bool     // takes on or off; its flag alone means on
	Shared   bool     // may be given for all targets together, and for one
	For      []string // commands that use it; empty: all

	name     string // without PROBER_ and TARGETS_n_, in upper case
	field    reflect.StructField
	kind     kind
	words    []string // the words that are allowed; nil for any text
	optional bool     // the word none is allowed, too
	secret   bool     // its value must not be shown
}

// A section is a struct of settings, and the lists of entries that can stand in it: a target has lists of prompts and
// objectives.
type section struct {
	list  string // name of the list that has such entries: TARGETS, OBJECTIVES; "" if none has
	of    reflect.Type
	keys  []Key
	lists []*section
}

// A schema is all settings. What a user can write is a tree: shared is its top, in the targets file and as variables.
type schema struct {
	prober    *section
	shared    *section // what holds for all targets, and the lists of targets, prompts, objectives and sources
	target    *section // with the settings that are shared
	prompt    *section
	objective *section
	source    *section // of further targets, by http_sd
}

func newSchema() schema {
	help := helpLines()
	prober := newSection[Config]("", prefix, "", help)
	prompt := newSection[Prompt]("PROMPTS", prefix+"PROMPTS_n_", "PROMPTS_", help)
	objective := newSection[objectiveSettings]("OBJECTIVES", prefix+"OBJECTIVES_n_", "OBJECTIVES_", help)
	target := newSection[Target]("TARGETS", prefix+"TARGETS_n_", "", help)
	target.lists = []*section{prompt, objective}
	source := newSection[HTTPSD]("HTTP_SD", prefix+"HTTP_SD_n_", "HTTP_SD_", help)
	shared := &section{of: target.of, lists: []*section{target, prompt, objective, source}}
	for _, k := range target.keys {
		if k.Shared {
			shared.keys = append(shared.keys, k)
		}
	}
	return schema{prober: prober, shared: shared, target: target, prompt: prompt, objective: objective, source: source}
}

// own returns the settings that only a target has.
func (s schema) own() []Key {
	return slices.DeleteFunc(slices.Clone(s.target.keys), func(k Key) bool { return k.Shared })
}

// Reference returns every setting in the order of the documentation.
func Reference() []Key {
	s := newSchema()
	return slices.Concat(s.prober.keys, s.shared.keys, s.own(), s.prompt.keys, s.objective.keys, s.source.keys)
}

//go:embed help.txt
var helpText string

// A helpLine is what help.txt says about one setting.
type helpLine struct {
	commands []string
	text     string
}

// helpLines returns the lines of help.txt by the name of the setting.
func helpLines() map[string]helpLine {
	lines := map[string]helpLine{}
	for line := range strings.Lines(helpText) {
		columns := strings.Split(line, "|")
		if len(columns) == 3 {
			name := strings.TrimSpace(columns[0])
			lines[name] = helpLine{commands: strings.Fields(columns[1]), text: strings.TrimSpace(columns[2])}
		}
	}
	return lines
}

// newSection returns the settings that are fields of T. The names of their variables begin with before, and their names
// in help with listInHelp, which is empty if they have flags: an entry of a list in a target has none.
func newSection[T any](list, before, listInHelp string, help map[string]helpLine) *section {
	s := &section{list: list, of: reflect.TypeFor[T]()}
	for f := range s.of.Fields() {
		name := f.Tag.Get("env")
		if name == "" || name == "-" {
			continue
		}
		line := help[listInHelp+name]
		k := Key{
			Variable: before + name,
			Default:  f.Tag.Get("envDefault"),
			Help:     line.text,
			Switch:   f.Type.Kind() == reflect.Bool,
			For:      line.commands,

			name:   name,
			field:  f,
			kind:   kindOf(f),
			secret: f.Type == reflect.TypeFor[Secret]() || f.Type == reflect.TypeFor[Headers](),
		}
		k.optional = k.has("optional")
		k.Shared = k.has("shared")
		if k.Shared {
			k.Variable = prefix + name
		}
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
	_, ok := k.field.Tag.Lookup(tag)
	return ok
}

// needsRestart reports whether a change of the setting, which is one of the prober, takes effect only with a restart.
func (k Key) needsRestart() bool { return !k.has("reload") }

// isOfGroup reports whether members of a group must agree in the setting.
func (k Key) isOfGroup() bool { return k.field.Tag.Get("shared") == "group" }

// allowed returns the end of a setting's help: the words or the bounds that are allowed.
func (k Key) allowed() string {
	switch {
	case len(k.words) > 0 && strings.Contains(k.Help, k.words[len(k.words)-1]): // the help names them
		return ""
	case len(k.words) > 0:
		return "; one of " + strings.Join(k.words, ", ")
	case k.optional:
		return "; or " + none
	case k.has("max"):
		return "; " + k.bounds()
	}
	return ""
}

// bounds returns the bounds in the tags as a phrase after "must be".
func (k Key) bounds() string {
	least := k.field.Tag.Get("min")
	most := k.field.Tag.Get("max")
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
	text, ok := k.field.Tag.Lookup(tag)
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

// check judges the value of the setting in owner, which parsing text gave. parseError is the reason if text could not
// be parsed. The error that check returns is nil or a [usage.Problem] without a place, which never quotes text.
func (k Key) check(owner any, text string, parseError error) error {
	v := reflect.Indirect(k.value(owner))
	mistaken, isMistaken := k.kind.mistaken[text]
	switch {
	case k.kind.newMapping == nil && !k.kind.isJSON && !printable(text):
		return usage.Problem{Text: "has unprintable characters"}
	case parseError != nil:
		return parseError
	case v.CanInt() && !k.within(float64(v.Int())), v.CanFloat() && !k.within(v.Float()):
		return usage.Problem{Text: "must be " + k.bounds()}
	case isMistaken:
		return mistaken
	case len(k.words) > 0 && !slices.Contains(k.words, text):
		return usage.Problem{Text: "unknown" + usage.Suggestion(text, k.words)}
	case k.kind.check != nil:
		return k.kind.check(text)
	}
	return nil
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
	example := cmp.Or(k.Default, k.field.Tag.Get("optional"), k.field.Tag.Get("min"))
	return "want " + strings.ReplaceAll(want, "%s", example)
}

func (k *Key) value(owner any) reflect.Value {
	return reflect.ValueOf(owner).Elem().FieldByIndex(k.field.Index)
}

// pointer returns a pointer to the field of the setting.
func (k *Key) pointer(owner any) any { return k.value(owner).Addr().Interface() }

// clear sets the field of the setting to zero.
func (k Key) clear(owner any) { k.value(owner).SetZero() }

// text returns the value of the setting as a text; "" if it is not set.
func (k Key) text(owner any) string {
	v := k.value(owner)
	switch {
	case v.Kind() == reflect.Pointer && v.IsNil(), v.Kind() == reflect.Map && v.Len() == 0:
		return ""
	case k.optional && v.IsZero():
		return none
	case k.Default == "" && v.IsZero(): // as the limit of availability
		return ""
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
