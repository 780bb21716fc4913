package config

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"strconv"
	"strings"

	"github.com/caarlos0/env/v11"

	"github.com/llm-prober/prober/internal/format"
	"github.com/llm-prober/prober/internal/usage"
)

// A place is where a value is written, or would be.
type place struct {
	at  string // PROBER_TARGETS_3_QPS, --qps or targets.yaml:5
	key string // in the targets file: qps; "" where at names the setting itself
}

// String returns the place as problems begin: targets.yaml:5: qps.
func (p place) String() string {
	if p.key == "" {
		return p.at
	}
	return p.at + ": " + p.key
}

// phrase returns the place as a part of a sentence: qps in targets.yaml:5.
func (p place) phrase() string {
	if p.key == "" {
		return p.at
	}
	return p.key + " in " + p.at
}

// A value is what one source says about a setting, and where. A source is the variables, the targets file or the flags.
type value struct {
	text  string // "" stands for the default
	place place
	below *value // what a source that counts less says of the same setting; nil: nothing
}

// A layer is what one source says, by the names of settings.
type layer map[string]value

// merge returns what several layers say together: a later one counts more. A secret and the file that has it, as
// API_KEY and API_KEY_FILE, count as one setting: either replaces both.
func merge(layers ...layer) layer {
	all := layer{}
	for _, over := range layers {
		for name := range over {
			secret, isFile := strings.CutSuffix(name, "_FILE")
			if isFile {
				delete(all, secret)
			} else {
				delete(all, name+"_FILE")
			}
		}
		for name, v := range over {
			earlier, isThere := all[name]
			if isThere {
				v.below = &earlier
			}
			all[name] = v
		}
	}
	return all
}

// An entry is one struct of settings while it is read: what was written for it, and what is wrong with that. Most
// methods take a setting as a pointer to its field: see [entry.key].
type entry struct {
	section  *section
	settings any                   // pointer to the struct, which parse fills
	values   layer                 // what all sources say together
	entries  map[*section][]*entry // of the lists in it: the objectives of a target

	placeOf  func(Key) place // where a user would write a setting
	title    string          // what it is called without a name: PROBER_TARGETS_3, targets.yaml:5, URL argument 1
	nameHint string          // how a user gives it a name

	wrong    map[string]bool // names of settings with a problem
	problems usage.Problems
}

func newEntry(s *section, placeOf func(Key) place) *entry {
	return &entry{
		section: s, settings: reflect.New(s.of).Interface(), values: layer{}, entries: map[*section][]*entry{},
		placeOf: placeOf, wrong: map[string]bool{},
	}
}

// key returns the setting of a field of e.settings, which is given by a pointer: &t.QPS. So the name of a setting that
// does not exist does not compile. A pointer to anything else is a mistake of the prober, and panics.
func (e *entry) key(field any) Key {
	keys := e.section.keys
	for i := range keys { // by index: a Key is large, and this is the inner loop of all rules
		if keys[i].pointer(e.settings) == field {
			return keys[i]
		}
	}
	panic(fmt.Sprintf("config: a %T that is no setting of this %T", field, e.settings))
}

// write sets what is written for a setting.
func (e *entry) write(field any, text string) { e.writeAt(e.placeOf(e.key(field)), field, text) }

// writeAt does what write does for a setting that is written in another place than usual.
func (e *entry) writeAt(at place, field any, text string) {
	e.values[e.key(field).name] = value{text: text, place: at}
}

// parse fills the struct with what is written, and with defaults for the rest. It reports wrong values and leaves them
// zero.
func (e *entry) parse() {
	texts := map[string]string{} // by name of the setting; "" stands for the default
	for _, k := range e.section.keys {
		text := e.values[k.name].text
		if !k.isNone(text) && !k.kind.addsUp {
			texts[k.name] = text
		}
	}
	failed := map[string]error{} // by name of the field
	err := env.ParseWithOptions(e.settings, env.Options{Environment: texts, FuncMap: parsers()})
	aggregate, _ := errors.AsType[env.AggregateError](err)
	for _, err := range aggregate.Errors {
		failure, ok := errors.AsType[env.ParseError](err)
		if !ok {
			panic(err) // a tag or a type that env does not know
		}
		failed[failure.Name] = failure.Err
	}
	for _, k := range e.section.keys {
		text := e.values[k.name].text
		switch {
		case k.kind.addsUp:
			e.addLabels(k)
		case k.isNone(text):
			k.clear(e.settings)
		case text != "":
			err := k.check(e.settings, text, failed[k.field.Name])
			if err != nil {
				wrong, _ := errors.AsType[usage.Problem](err)
				e.problem(k.pointer(e.settings), cmp.Or(wrong.Text, "not valid"), cmp.Or(wrong.Hint, k.hint()))
				k.clear(e.settings)
			}
		}
	}
}

// given reports whether a user wrote a value for the setting, right or wrong.
func (e *entry) given(field any) bool { return e.values[e.key(field).name].text != "" }

// right reports whether the settings, which may have their defaults, have no problem so far.
func (e *entry) right(fields ...any) bool {
	for _, field := range fields {
		if e.wrong[e.key(field).name] {
			return false
		}
	}
	return true
}

// written returns the value of a setting as it is written, or its default, for the text of a problem.
func (e *entry) written(field any) string {
	k := e.key(field)
	if e.given(field) {
		return e.values[k.name].text
	}
	return k.Default + " (default)"
}

// nameOf returns the name of a setting in the words of the user of its source: qps, PROBER_TARGETS_3_QPS, --qps.
func (e *entry) nameOf(field any) string {
	p := e.placeOf(e.key(field))
	if p.key != "" {
		return p.key
	}
	return p.at
}

// problemPlace returns the place for a problem with a setting: where it is written and what, as PROBER_QPS="fast".
func (e *entry) problemPlace(field any) string {
	k := e.key(field)
	switch {
	case e.given(field):
		return k.problemPlace(e.values[k.name])
	case k.Default != "":
		return fmt.Sprintf("%s=%q (default)", e.placeOf(k), k.Default)
	}
	return e.placeOf(k).String()
}

// problem reports what is wrong with a setting, at its place.
func (e *entry) problem(field any, text, hint string) {
	e.problems.Add(e.problemPlace(field), text, hint)
	e.wrong[e.key(field).name] = true
}

// places returns where each setting is written, or would be, by its key in the targets file. Settings that a user of
// this source cannot write are left out.
func (e *entry) places() map[string]string {
	places := map[string]string{}
	for _, k := range e.section.keys {
		at := e.placeOf(k)
		v := e.values[k.name]
		if v.text != "" {
			at = v.place
		}
		hasNone := k.Flag == "" && strings.HasPrefix(at.at, "--")
		if !hasNone {
			places[k.fileKey()] = at.phrase()
		}
	}
	for _, k := range e.section.keys {
		ofFile, hasFile := places[k.fileKey()+"_file"]
		if k.secret && hasFile && e.values[k.name].text == "" { // secrets belong in a file
			places[k.fileKey()] = ofFile
		}
	}
	return places
}

var webScheme = regexp.MustCompile(`^https?://`)

// problemPlace returns where a value is written, and what: place="text", or place alone if the text may be secret.
func (k Key) problemPlace(v value) string {
	if k.secret || k.kind.isJSON {
		return v.place.String()
	}
	text := v.text
	if strings.HasSuffix(k.name, "URL") && strings.ContainsAny(text, "@?#") { // it may hold credentials
		text = webScheme.FindString(text) + "***"
	}
	return v.place.String() + "=" + quote(text)
}

// quote returns s in quotes, without anything that would break the line, and of at most 80 characters.
func quote(s string) string { return strconv.Quote(format.Shorten(s, 80)) }
