package config

import (
	"cmp"
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

// A fault is what is wrong with a text, not yet where. It never quotes the text.
// Without a hint of its own, that of the setting stands.
type fault struct{ text, hint string }

func (f fault) Error() string { return f.text }

// parse parses v into a struct with the settings of ks and returns the errors by the names
// of its fields. What is bad or not given gets the default, which parse adds to v. Entries of
// lists are parsed one by one, since env stops at the first that is wrong and does not name it.
func parse(v values, into any, ks keys) map[string]error {
	environment := map[string]string{}
	for _, k := range ks {
		switch text := v[k.name].text; {
		case text != "none" || k.field.Tag.Get("none") == "":
			environment[k.name] = text
		case k.field.Type.Kind() != reflect.Pointer: // without text, that is nil
			environment[k.name] = "0"
		}
	}
	err := env.ParseWithOptions(into, env.Options{
		Environment: environment,
		OnSet: func(name string, value any, isDefault bool) {
			if isDefault && !v[name].bad {
				text, _ := value.(string)
				v[name] = source{text: text, label: prefix + name + "=" + quote(text) + " (default)", assumed: true}
			}
		},
		FuncMap: map[reflect.Type]env.ParserFunc{
			reflect.TypeFor[bool]():          parseSwitch,
			reflect.TypeFor[int]():           parseWhole,
			reflect.TypeFor[float64]():       parseNumber,
			reflect.TypeFor[time.Duration](): parseDuration,
		},
	})
	wrong := map[string]error{}
	all, _ := errors.AsType[env.AggregateError](err)
	for _, err := range all.Errors {
		of, ok := errors.AsType[env.ParseError](err)
		if !ok {
			panic(err) // a tag or a type that env does not know
		}
		wrong[of.Name] = of.Err
	}
	return wrong
}

// check judges the values of one source, each by itself, and reports and marks those
// that are wrong. All of ks are parsed into the same struct.
func (l *loader) check(v values, ks keys) {
	into := reflect.New(ks[0].in).Interface()
	wrong := parse(overlay(v), into, ks)
	for _, k := range ks {
		given, ok := v[k.name]
		if !ok || given.bad {
			continue
		}
		err := wrong[k.field.Name]
		if k.field.Type != reflect.TypeFor[Headers]() && !printable(given.text) {
			err = fault{text: "has unprintable characters"}
		} else if err == nil {
			err = k.check(reflect.Indirect(k.of(into)), given.text)
		}
		if err != nil {
			f, _ := errors.AsType[fault](err)
			l.problem(given.label, f.text, cmp.Or(f.hint, k.hint))
			v[k.name] = source{label: given.label, bad: true}
		}
	}
}

// printable reports whether s can stand in a metric label, an HTTP header or the line of a problem.
func printable(s string) bool {
	return utf8.ValidString(s) && !strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) })
}

func parseSwitch(s string) (any, error) {
	on := slices.Contains([]string{"on", "true"}, strings.ToLower(s))
	if !on && !slices.Contains([]string{"off", "false"}, strings.ToLower(s)) {
		return nil, fault{text: "neither on nor off"}
	}
	return on, nil
}

// parseWhole and parseNumber leave numbers that are too large to the bounds of the setting.
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
		return nil, fault{"has no unit", "add a unit, for example " + s + "s"}
	}
	if err != nil {
		return nil, fault{text: "not a duration"}
	}
	return v, nil
}
