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
	Default  string   // "" where the help tells it
	Help     string   // meaning, unit and bounds in one phrase, without full stop
	Type     string   // of its values: duration, number, file, …
	Topic    string   // which settings it stands with in help
	Switch   bool     // takes on or off; its flag alone means on
	Restart  bool     // a change takes effect with a restart only
	For      []string // commands that have a use for it; none: all

	name     string // without PROBER_ and TARGETS_n_, in upper case
	field    string // of its struct
	tag      reflect.StructTag
	kind     kind
	words    []string // what is allowed; nil for any
	optional bool     // none is a value, too
	secret   bool     // its value is never to be shown
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

// reloaded are the settings of the prober that a reload changes. The others take effect with a restart only.
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

// keysOf returns the settings that are fields of T. Their variables begin with before. help has their texts, by names
// that begin with list.
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

// allowed returns the end of the help: which words or numbers are allowed, and none.
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

// within reports whether a number, or a duration in nanoseconds, is within the bounds in the tags. NaN is within none.
func (k Key) within(number float64) bool {
	return number >= k.bound("min", math.Inf(-1)) && number <= k.bound("max", math.Inf(1))
}

// bound returns the bound in a tag, or another value without one.
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

// check judges by itself a value of a struct, that was parsed from text, or not parsed for the reason err. wrong has no
// place yet, and never quotes the text.
func (k Key) check(of any, text string, err error) (wrong usage.Problem, isWrong bool) {
	v := reflect.Indirect(k.value(of))
	switch {
	case v.Type() != reflect.TypeFor[Headers]() && !printable(text):
		err = usage.Problem{Text: "has unprintable characters"}
	case err != nil:
	case v.CanInt() && !k.within(float64(v.Int())), v.CanFloat() && !k.within(v.Float()):
		err = usage.Problem{Text: "must be " + k.bounds()}
	case k.name == "SIGNAL" && (text == "itl" || text == "chunk_gap"):
		err = usage.Problem{Text: text + " is per token, and objectives judge probes", Hint: "use tpot"}
	case len(k.words) > 0 && !slices.Contains(k.words, text):
		err = usage.Problem{Text: "unknown" + usage.Suggestion(text, k.words)}
	case k.kind.check != nil:
		err = k.kind.check(text)
	}
	wrong, isWrong = errors.AsType[usage.Problem](err)
	wrong.Hint = cmp.Or(wrong.Hint, k.hint())
	return wrong, isWrong
}

// hint returns what a right value looks like; nothing if any text is right.
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

// value returns the setting in a pointer to a struct that has it.
func (k Key) value(of any) reflect.Value {
	return reflect.ValueOf(of).Elem().FieldByName(k.field)
}

// clear makes the setting zero in a pointer to a struct that has it.
func (k Key) clear(of any) { k.value(of).SetZero() }

// text returns the setting in a pointer to a struct that has it, as a text; "" if it is not set.
func (k Key) text(of any) string {
	v := k.value(of)
	switch {
	case v.Kind() == reflect.Pointer && v.IsNil(), v.Kind() == reflect.Map && v.Len() == 0:
		return ""
	case v.Kind() != reflect.Pointer && k.optional && v.IsZero():
		return none
	}
	return fmt.Sprint(reflect.Indirect(v).Interface())
}

// usedBy reports whether a command has a use for the setting.
func (k Key) usedBy(command string) bool { return len(k.For) == 0 || slices.Contains(k.For, command) }

// fileKey returns the key in the targets file.
func (k Key) fileKey() string { return strings.ToLower(k.name) }

// isNone reports whether a text is the word for a value that is not there.
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
