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

	"github.com/llm-prober/prober/internal/probe"
	"github.com/llm-prober/prober/internal/usage"
	"github.com/llm-prober/prober/internal/wire"
)

const (
	prefix        = "PROBER_" // of every variable
	targetList    = "TARGETS" // the two lists as variables spell them
	objectiveList = "OBJECTIVES"
	none          = "none" // the word for an optional value that is not there
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
	For      []string // commands that use it; empty: all

	name     string // without PROBER_ and TARGETS_n_, in upper case
	field    string // of its struct
	tag      reflect.StructTag
	kind     kind
	words    []string // the words that are allowed; nil for any text
	optional bool     // the word none is allowed, too
	secret   bool     // its value must not be shown
}

type keys []Key

// A schema is all settings, in the order of the documentation.
type schema struct {
	prober    keys
	shared    keys // of all targets, and of each
	own       keys // of each target only
	objective keys
	target    keys // shared and own
}

// reloaded are the settings of the prober that a reload changes. The others need a restart.
var reloaded = []string{"TARGETS_FILE", "SHARD", "MAX_TOKENS_PER_DAY"}

func settings() schema {
	help := helpTexts()
	s := schema{
		prober:    keysOf[Config](prefix, "", help),
		shared:    keysOf[Settings](prefix, "", help),
		own:       keysOf[Target](prefix+targetList+"_n_", "", help),
		objective: keysOf[objectiveSettings](prefix+objectiveList+"_n_", objectiveList+"_", help),
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

// keysOf returns the settings that are fields of T. The names of their variables begin with before, and their names in
// help with list.
func keysOf[T any](before, list string, help map[string]Key) keys {
	var all keys
	for f := range reflect.TypeFor[T]().Fields() {
		name := f.Tag.Get("env")
		if name == "" || name == "-" {
			continue
		}
		k := help[list+name]
		k.Variable, k.name, k.field, k.tag = before+name, name, f.Name, f.Tag
		k.Default, k.kind, k.words = f.Tag.Get("envDefault"), kindOf(f), wordsOf(f)
		k.Switch = f.Type.Kind() == reflect.Bool
		k.secret = f.Type == reflect.TypeFor[Secret]() || f.Type == reflect.TypeFor[Headers]()
		_, k.optional = f.Tag.Lookup("optional")
		k.Type = k.kind.name
		if len(k.words) > 0 {
			k.Type = "word"
		}
		// URLs are arguments, and other users of the machine can see flags.
		if list == "" && name != "URL" && !k.secret {
			k.Flag = flagName(name)
		}
		k.Help += k.allowed()
		all = append(all, k)
	}
	return all
}

// wordsOf returns the words that a field allows; nil for any.
func wordsOf(f reflect.StructField) []string {
	words := strings.Fields(f.Tag.Get("oneof"))
	switch f.Tag.Get("env") {
	case "API":
		words = append(words, wire.APIs()...)
	case "SERVER":
		words = append(words, wire.Servers()...)
	case "SIGNAL":
		for _, signal := range probe.Signals() {
			words = append(words, string(signal))
		}
	}
	return words
}

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
	switch {
	case v.Type() != reflect.TypeFor[Headers]() && !printable(text):
		err = usage.Problem{Text: "has unprintable characters"}
	case err != nil:
	case v.CanInt() && !k.within(float64(v.Int())), v.CanFloat() && !k.within(v.Float()):
		err = usage.Problem{Text: "must be " + k.bounds()}
	case k.name == "SIGNAL" && (text == "itl" || text == "chunk_gap"):
		err = usage.Problem{Text: text + " is per token, and objectives judge probes", Hint: "use tpot"}
	case k.name == "API" && text == "sglang":
		err = usage.Problem{
			Text: "SGLang's own API is not among the dialects",
			Hint: "use openai-chat, which SGLang serves as well and which is as exact",
		}
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
func (k Key) value(owner any) reflect.Value {
	return reflect.ValueOf(owner).Elem().FieldByName(k.field)
}

// set sets the field of the setting, which has the type of value. owner is a pointer to the struct.
func (k Key) set(owner, value any) { k.value(owner).Set(reflect.ValueOf(value)) }

// clear sets the field of the setting to zero. owner is a pointer to the struct.
func (k Key) clear(owner any) { k.value(owner).SetZero() }

// text returns the value of the setting as a text; "" if it is not set. owner is a pointer to the struct.
func (k Key) text(owner any) string {
	v := k.value(owner)
	switch {
	case v.Kind() == reflect.Pointer && v.IsNil(), v.Kind() == reflect.Map && v.Len() == 0:
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
