package config

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/llm-prober/prober/internal/usage"
	"github.com/llm-prober/prober/internal/wire"
)

const (
	prefix        = "PROBER_" // of every variable
	targetList    = "TARGETS" // the two lists as variables spell them
	objectiveList = "OBJECTIVES"
	none          = "none" // the word for an optional value that is not there
)

// A Key is one setting, as the tags of its field and its description define it. All reflection is in its methods.
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

// keysOf returns the settings that are fields of T. Their variables begin with before. known has their descriptions, by
// names that begin with list.
func keysOf[T any](before, list string, known map[string]Key) keys {
	var all keys
	for f := range reflect.TypeFor[T]().Fields() {
		name := f.Tag.Get("env")
		if name == "" || name == "-" {
			continue
		}
		k := known[list+name]
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
	case k.tag.Get("min") != "" && k.tag.Get("max") != "":
		return "; " + k.bounds()
	}
	return ""
}

// bounds returns the bounds in the tags as a phrase after "must be".
func (k Key) bounds() string {
	least, most, above, below := k.tag.Get("min"), k.tag.Get("max"), k.tag.Get("above"), k.tag.Get("below")
	switch {
	case least != "" && most != "":
		return least + " to " + most
	case least != "":
		return "at least " + least
	case most != "":
		return "above " + above + " and at most " + most
	case below != "":
		return "above " + above + " and below " + below
	}
	return "above " + above
}

// within reports whether a number, or a duration in nanoseconds, is within the bounds in the tags. NaN is within none.
func (k Key) within(number float64) bool {
	bound := func(tag string) (float64, bool) {
		text, ok := k.tag.Lookup(tag)
		if duration, err := time.ParseDuration(text); err == nil && k.Type == "duration" {
			return float64(duration), ok
		}
		limit, _ := strconv.ParseFloat(text, 64)
		return limit, ok
	}
	least, hasLeast := bound("min")
	most, hasMost := bound("max")
	above, hasAbove := bound("above")
	below, hasBelow := bound("below")
	return (!hasLeast || number >= least) && (!hasMost || number <= most) &&
		(!hasAbove || number > above) && (!hasBelow || number < below)
}

// check judges by itself a value of a struct, that was parsed from text, or not parsed for the reason err. The error is a
// [usage.Problem] without a place, which never quotes the text.
func (k Key) check(of any, text string, err error) error {
	v := reflect.Indirect(k.value(of))
	isNumber := v.CanInt() || v.CanFloat()
	switch {
	case v.Type() != reflect.TypeFor[Headers]() && !printable(text):
		err = usage.Problem{Text: "has unprintable characters"}
	case err != nil:
	case v.CanInt() && !k.within(float64(v.Int())), v.CanFloat() && !k.within(v.Float()):
		err = usage.Problem{Text: "must be " + k.bounds()}
	case isNumber:
	case len(k.words) > 0:
		err = k.checkWord(text)
	case k.kind.check != nil:
		err = k.kind.check(text)
	}
	problem, wrong := errors.AsType[usage.Problem](err)
	if !wrong {
		return err
	}
	problem.Hint = cmp.Or(problem.Hint, k.hint(text))
	return problem
}

func (k Key) checkWord(text string) error {
	switch {
	case k.name == "SIGNAL" && (text == "itl" || text == "chunk_gap"):
		return usage.Problem{Text: text + " is per token, and objectives judge probes", Hint: "use tpot"}
	case !slices.Contains(k.words, text):
		return usage.Problem{Text: "unknown" + usage.Suggestion(text, k.words)}
	}
	return nil
}

// hint returns what a right value in place of text looks like; nothing if any text is right.
func (k Key) hint(text string) string {
	want := k.kind.want
	if last := len(k.words) - 1; last > 0 {
		want = strings.Join(k.words[:last], ", ") + " or " + k.words[last]
	}
	if want == "" {
		return ""
	}
	if k.optional {
		want += ", or " + none
	}
	example := cmp.Or(k.Default, k.tag.Get("optional"))
	if k.tag.Get("format") == "ratio" {
		example = cmp.Or(likelyRatio(text), example)
	}
	return "want " + strings.ReplaceAll(want, "%s", example)
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
	case v.Kind() == reflect.Pointer:
		return fmt.Sprint(v.Elem().Interface())
	case k.optional && v.IsZero():
		return none
	}
	return fmt.Sprint(v.Interface())
}

// usedBy reports whether a command has a use for the setting.
func (k Key) usedBy(command string) bool { return len(k.For) == 0 || slices.Contains(k.For, command) }

// fileKey returns the key in the targets file.
func (k Key) fileKey() string { return strings.ToLower(k.name) }

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
