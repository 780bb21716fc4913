package config

import (
	"errors"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/caarlos0/env/v11"
)

// none is the word for the zero value of settings with that tag.
const none = "none"

// A fault is what is wrong with a text, not yet where. It never quotes the text.
type fault struct{ text, hint string } // without hint, that of the field stands

func (f fault) Error() string { return f.text }

// parse parses v into a struct that has the settings of scopes. Values that are bad or
// not given leave the default, which it adds to v. It returns the errors by name.
//
// Each entry of a list is a struct of its own here, because env ends with the first
// wrong entry of a list, and because an error of its has the name of a field only.
func (l *loader) parse(v values, into any, scopes ...scope) map[string]error {
	environment := map[string]string{}
	for _, f := range l.schema.in(scopes...) {
		s := v[f.name]
		switch {
		case s.bad || s.text == "":
		case s.text != none || f.Tag.Get("none") == "":
			environment[f.name] = s.text
		case f.Type.Kind() != reflect.Pointer: // else none is nil
			environment[f.name] = "0"
		}
	}
	err := env.ParseWithOptions(into, env.Options{
		Environment: environment,
		OnSet: func(name string, value any, isDefault bool) {
			if s := v[name]; isDefault && !s.bad && s.text == "" {
				f, _ := l.schema.find(name, scopes...)
				v[name] = source{text: value.(string), label: f.label(prefix+name, value.(string)) + " (default)", assumed: true}
			}
		},
		FuncMap: map[reflect.Type]env.ParserFunc{
			reflect.TypeFor[bool]():          parseSwitch,
			reflect.TypeFor[int]():           parseWhole,
			reflect.TypeFor[float64]():       parseNumber,
			reflect.TypeFor[time.Duration](): parseDuration,
		},
	})
	return byName(err, l.schema.in(scopes...))
}

// byName are the errors of env by the names of settings.
func byName(err error, fields schema) map[string]error {
	wrong := map[string]error{}
	all, _ := errors.AsType[env.AggregateError](err)
	for _, err := range all.Errors {
		of, _ := errors.AsType[env.ParseError](err)
		at := slices.IndexFunc(fields, func(f field) bool { return f.Name == of.Name })
		if at < 0 {
			panic(err) // a tag or type that env does not know
		}
		wrong[fields[at].name] = of.Err
	}
	return wrong
}

// check judges values of one source by the types and tags of a struct, and reports
// and marks those that are wrong.
func (l *loader) check(v values, into any, scopes ...scope) {
	given := overlay(v)
	wrong := l.parse(given, into, scopes...)
	for _, f := range l.schema.in(scopes...) {
		s, ok := v[f.name]
		if !ok || s.bad {
			continue
		}
		err := wrong[f.name]
		if err == nil {
			err = f.check(f.of(into), s.text)
		}
		if err != nil {
			hint := f.hint()
			if own, ok := errors.AsType[fault](err); ok && own.hint != "" {
				hint = own.hint
			}
			l.problem(s.label, err.Error(), hint)
			v[f.name] = source{label: s.label, bad: true}
		}
	}
}

// take is s, which the user gave for f as word.
func (l *loader) take(f field, word, s string) source {
	taken := source{text: s, label: f.label(word, s)}
	if f.Type != reflect.TypeFor[Headers]() && !printable(s) {
		l.problem(taken.label, "has characters that do not print", f.hint())
		return source{label: taken.label, bad: true}
	}
	return taken
}

// printable reports whether s is UTF-8 without control characters. Text that
// is not would break a metric label, an HTTP header or the line of a problem.
func printable(s string) bool {
	return utf8.ValidString(s) && !strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) })
}

func parseSwitch(s string) (any, error) {
	switch strings.ToLower(s) {
	case "on", "true":
		return true, nil
	case "off", "false":
		return false, nil
	}
	return nil, fault{text: "neither on nor off"}
}

// parseWhole and parseNumber leave numbers that are too large to the bounds of the field.
func parseWhole(s string) (any, error) {
	v, err := strconv.Atoi(s)
	if errors.Is(err, strconv.ErrSyntax) {
		return nil, fault{text: "not a whole number"}
	}
	return v, nil
}

func parseNumber(s string) (any, error) {
	number, percent := strings.CutSuffix(s, "%")
	v, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if errors.Is(err, strconv.ErrSyntax) {
		return nil, fault{text: "not a number"}
	}
	if percent {
		v = math.NaN() // within no bounds
	}
	return v, nil
}

func parseDuration(s string) (any, error) {
	v, err := time.ParseDuration(s)
	if err != nil && strings.Trim(s, "0123456789.") == "" {
		return nil, fault{text: "has no unit", hint: "add a unit, for example " + s + "s"}
	}
	if err != nil {
		return nil, fault{text: "not a duration"}
	}
	return v, nil
}

// check judges what was parsed from text by the tags of the field.
func (f field) check(v reflect.Value, text string) error {
	v = reflect.Indirect(v)
	switch {
	case text == none && f.Tag.Get("none") != "":
		return nil
	case f.Type == reflect.TypeFor[time.Duration]():
		least, _ := time.ParseDuration(f.Tag.Get("min"))
		if v.Int() <= 0 {
			return fault{text: "must be above 0"}
		} else if v.Int() < int64(least) {
			return fault{text: "must be at least " + least.String()}
		}
	case v.CanInt():
		return f.bounds(float64(v.Int()))
	case f.Tag.Get("is") == "ratio":
		return checkRatio(v.Float(), text)
	case v.CanFloat():
		return f.bounds(v.Float())
	case v.Kind() == reflect.String:
		return f.checkText(v.String())
	}
	return nil
}
