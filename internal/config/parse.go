package config

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"net"
	"reflect"
	"regexp"
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

// parsers stand in for those of env, which takes neither on and off nor numbers of more than 32 bits.
var parsers = map[reflect.Type]env.ParserFunc{
	reflect.TypeFor[bool](): parseSwitch,
	reflect.TypeFor[int]():  func(s string) (any, error) { return strconv.Atoi(s) },
}

// parse parses v into a struct with the settings of ks, and judges each value by itself. One that
// is wrong is reported and marked in v, and its field is zero. Defaults are added to v. Entries of lists are parsed one by
// one, since env stops at the first that is wrong and does not name it.
func (l *loader) parse(into any, v values, ks keys) {
	environment := map[string]string{}
	for _, k := range ks {
		given := v[k.name]
		if preset := k.field.Tag.Get("envDefault"); preset != "" && given.text == "" && !given.bad {
			given = source{text: preset, label: prefix + k.name + "=" + quote(preset) + " (default)", assumed: true}
			v[k.name] = given
		}
		switch {
		case given.text != "none" || k.field.Tag.Get("none") == "":
			environment[k.name] = given.text
		case k.field.Type.Kind() != reflect.Pointer: // without text, that is nil
			environment[k.name] = "0"
		}
	}
	wrong := map[string]error{} // by name of the field
	all, _ := errors.AsType[env.AggregateError](env.ParseWithOptions(into, env.Options{Environment: environment, FuncMap: parsers}))
	for _, err := range all.Errors {
		of, ok := errors.AsType[env.ParseError](err)
		if !ok {
			panic(err) // a tag or a type that env does not know
		}
		wrong[of.Name] = of.Err
	}
	for _, k := range ks {
		given := v[k.name]
		// What is overridden must be right, too, but no file need be there.
		if below := given.below; below != nil && k.field.Tag.Get("is") != "file" && !l.judged[below.label] {
			l.judged[below.label] = true
			l.parse(reflect.New(reflect.TypeOf(into).Elem()).Interface(), values{k.name: *below}, keys{k})
		}
		if given.text == "" {
			continue
		}
		err := wrong[k.field.Name]
		switch {
		case k.field.Type != reflect.TypeFor[Headers]() && !printable(given.text):
			err = fault{text: "has unprintable characters"}
		case err != nil:
			err = k.unparsed(given.text, err)
		default:
			err = l.check(k, reflect.Indirect(k.of(into)), given.text)
		}
		if f, bad := errors.AsType[fault](err); bad {
			l.problem(given.label, f.text, cmp.Or(f.hint, k.hint))
			k.of(into).SetZero()
			given.bad = true
			v[k.name] = given
		}
	}
}

// printable reports whether s can stand in a metric label, an HTTP header or the line of a problem.
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

// unparsed is what is wrong with text, which err says cannot be parsed. The error is a [fault].
func (k Key) unparsed(text string, err error) error {
	_, told := errors.AsType[fault](err)
	switch percent := strings.HasSuffix(text, "%") && k.field.Tag.Get("is") == "ratio"; {
	case told:
		return err
	case percent || errors.Is(err, strconv.ErrRange):
		return k.checkNumber(math.NaN(), text)
	case k.field.Type == reflect.TypeFor[float64]():
		return fault{text: "not a number"}
	case k.field.Type != reflect.TypeFor[time.Duration]():
		return fault{text: "not a whole number"}
	case strings.Trim(text, "0123456789.") == "":
		return fault{"has no unit", "add a unit, for example " + text + "s"}
	}
	return fault{text: "not a duration"}
}

// check judges what was parsed from text by the tags of k. The error is a [fault].
func (l *loader) check(k Key, v reflect.Value, text string) error {
	tag := k.field.Tag.Get
	switch {
	case text == "none" && tag("none") != "":
		return nil
	case k.field.Type == reflect.TypeFor[time.Duration]():
		least, _ := time.ParseDuration(tag("min"))
		if v.Int() <= 0 {
			return fault{text: "must be above 0"}
		} else if v.Int() < int64(least) {
			return fault{text: "must be at least " + least.String()}
		}
		return nil
	case v.Kind() == reflect.String:
		return l.checkText(k, text)
	case v.CanInt():
		return k.checkNumber(float64(v.Int()), text)
	case v.CanFloat():
		return k.checkNumber(v.Float(), text)
	}
	return nil
}

// checkNumber judges a number by its bounds. NaN is within none.
func (k Key) checkNumber(n float64, text string) error {
	tag := k.field.Tag.Get
	bound := func(name string) float64 {
		n, _ := strconv.ParseFloat(tag(name), 64)
		return n
	}
	switch {
	case tag("is") == "ratio" && !(n > 0 && n < 1):
		f := fault{text: "must be above 0 and below 1"}
		number, percent := strings.CutSuffix(text, "%")
		if v, err := strconv.ParseFloat(strings.TrimSpace(number), 64); err == nil && v > 0 && v < 100 && (percent || v > 1) {
			f.hint = "goals are ratios: " + strconv.FormatFloat(v/100, 'g', 12, 64)
		}
		return f
	case tag("above") != "" && !(n > bound("above") && n <= bound("max")):
		return fault{text: "must be above " + tag("above") + " and at most " + tag("max")}
	case tag("min") != "" && !(n >= bound("min") && n <= bound("max")):
		return fault{text: "must be " + tag("min") + " to " + tag("max")}
	}
	return nil
}

const maxName = 100 // characters of a target or group: names are labels

// forms are those of texts that an expression can judge.
var forms = map[string]struct {
	*regexp.Regexp
	wrong string
}{
	"identifier": {regexp.MustCompile(`^[a-z0-9_]{1,100}$`), "not an identifier"},
	"path":       {regexp.MustCompile(`^/[^?# ]*$`), "not the path of a URL"},
	"header":     {regexp.MustCompile("^[-!#$%&'*+.^_`|~0-9a-zA-Z]+$"), "not a valid name of an HTTP header"}, // token of RFC 9110, section 5.6.2
}

// checkText judges a text by its words or its form. The error is a [fault].
func (l *loader) checkText(k Key, s string) error {
	is := k.field.Tag.Get("is")
	form, ok := forms[is]
	switch {
	case ok && !form.MatchString(s):
		return fault{text: form.wrong}
	case is == "name" && utf8.RuneCountInString(s) > maxName:
		return fault{text: fmt.Sprintf("has %d characters", utf8.RuneCountInString(s))}
	case is == "address":
		_, port, err := net.SplitHostPort(s)
		if err != nil {
			return fault{text: "not an address"}
		} else if _, err := strconv.ParseUint(port, 10, 16); err != nil {
			return fault{text: "the port must be 0 to 65535"}
		}
	case is == "url":
		_, _, err := parseURL(s)
		return err
	case is == "file":
		if _, err := l.ReadFile(s); err != nil {
			return fault{text: reason(err)}
		}
	case len(k.words) > 0 && !slices.Contains(k.words, s):
		return fault{text: "unknown" + suggestion(s, k.words)}
	}
	return nil
}
