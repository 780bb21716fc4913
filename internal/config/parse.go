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

	"github.com/llm-prober/prober/internal/usage"
)

// parsers stand in for those of env, which takes neither on and off nor numbers of more than 32 bits.
var parsers = map[reflect.Type]env.ParserFunc{
	reflect.TypeFor[bool](): parseSwitch,
	reflect.TypeFor[int]():  func(s string) (any, error) { return strconv.Atoi(s) },
}

// parse parses the values of it into a struct with the settings of ks, adds defaults to them, and judges each by itself. One
// that is wrong is reported and marked, and its field is zero.
func (l *loader) parse(into any, it item, ks keys) {
	environment := map[string]string{}
	for _, k := range ks {
		text := it.values[k.name].text
		switch {
		case text != "none" || k.field.Tag.Get("none") == "":
			environment[k.name] = text
		case k.field.Type.Kind() != reflect.Pointer: // without text, that is nil
			environment[k.name] = "0"
		}
	}
	options := env.Options{Environment: environment, FuncMap: parsers, OnSet: func(name string, text any, preset bool) {
		if k, _ := ks.find(name); preset && !it.values[name].bad {
			it.values[name] = source{text: fmt.Sprint(text), label: fmt.Sprintf("%s=%q (default)", k.Variable, text), assumed: true}
		}
	}}
	wrong := map[string]error{} // by name of the field
	all, _ := errors.AsType[env.AggregateError](env.ParseWithOptions(into, options))
	for _, err := range all.Errors {
		of, ok := errors.AsType[env.ParseError](err)
		if !ok {
			panic(err) // a tag or a type that env does not know
		}
		wrong[of.Name] = of.Err
	}
	for _, k := range ks {
		given := it.values[k.name]
		// What is overridden must be right, too, but no file need be there.
		if below := given.below; below != nil && k.field.Tag.Get("is") != "file" && !l.judged[below.label] {
			l.judged[below.label] = true
			l.parse(reflect.New(reflect.TypeOf(into).Elem()).Interface(), item{values: values{k.name: *below}}, keys{k})
		}
		if given.text == "" {
			continue
		}
		if p, bad := errors.AsType[usage.Problem](l.check(k, reflect.Indirect(k.of(into)), given.text, wrong[k.field.Name])); bad {
			l.problem(given.label, p.Text, cmp.Or(p.Hint, k.hint))
			k.of(into).SetZero()
			given.bad = true
			it.values[k.name] = given
		}
	}
}

// printable reports whether s can stand in a metric label, an HTTP header or the line of a problem.
func printable(s string) bool {
	return utf8.ValidString(s) && !strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) })
}

func parseSwitch(s string) (any, error) {
	on, known := map[string]bool{"on": true, "true": true, "off": false, "false": false}[strings.ToLower(s)]
	if !known {
		return nil, usage.Problem{Text: "neither on nor off"}
	}
	return on, nil
}

// check judges what was parsed from text, or not parsed for the reason err, by the tags of k. The error is a [usage.Problem] without a
// place, which never quotes the text; without a hint of its own, that of the setting stands.
func (l *loader) check(k Key, v reflect.Value, text string, err error) error {
	tag := k.field.Tag.Get
	_, told := errors.AsType[usage.Problem](err)
	switch {
	case k.field.Type != reflect.TypeFor[Headers]() && !printable(text):
		return usage.Problem{Text: "has unprintable characters"}
	case told:
		return err
	case text == "none" && tag("none") != "":
		return nil
	case k.field.Type == reflect.TypeFor[time.Duration]():
		return checkDuration(time.Duration(v.Int()), tag("min"), text, err)
	case v.Kind() == reflect.String:
		return l.checkText(k, text)
	case v.CanInt():
		return k.checkNumber(float64(v.Int()), text, err)
	case v.CanFloat():
		return k.checkNumber(v.Float(), text, err)
	}
	return nil
}

// checkDuration judges a duration that was parsed from text, or could not be for the reason err.
func checkDuration(d time.Duration, least, text string, err error) error {
	bound, _ := time.ParseDuration(least)
	switch {
	case err != nil && strings.Trim(text, "0123456789.") == "":
		return usage.Problem{Text: "has no unit", Hint: "add a unit, for example " + text + "s"}
	case err != nil:
		return usage.Problem{Text: "not a duration"}
	case d <= 0:
		return usage.Problem{Text: "must be above 0"}
	case d < bound:
		return usage.Problem{Text: "must be at least " + least}
	}
	return nil
}

// checkNumber judges a number that was parsed from text, or could not be for the reason err. NaN is within no bounds.
func (k Key) checkNumber(n float64, text string, err error) error {
	tag := k.field.Tag.Get
	number, percent := strings.CutSuffix(text, "%")
	if errors.Is(err, strconv.ErrRange) || percent && tag("is") == "ratio" {
		n, err = math.NaN(), nil
	}
	bound := func(name string) float64 {
		n, _ := strconv.ParseFloat(tag(name), 64)
		return n
	}
	switch {
	case err != nil && k.field.Type.Kind() == reflect.Float64:
		return usage.Problem{Text: "not a number"}
	case err != nil:
		return usage.Problem{Text: "not a whole number"}
	case tag("is") == "ratio" && !(n > 0 && n < 1):
		p := usage.Problem{Text: "must be above 0 and below 1"}
		if v, err := strconv.ParseFloat(strings.TrimSpace(number), 64); err == nil && v > 0 && v < 100 && (percent || v > 1) {
			p.Hint = "goals are ratios: " + strconv.FormatFloat(v/100, 'g', 12, 64)
		}
		return p
	case tag("above") != "" && !(n > bound("above") && n <= bound("max")):
		return usage.Problem{Text: "must be above " + tag("above") + " and at most " + tag("max")}
	case tag("min") != "" && !(n >= bound("min") && n <= bound("max")):
		return usage.Problem{Text: "must be " + tag("min") + " to " + tag("max")}
	}
	return nil
}

const maxName = 100 // characters of a target or group: names are labels

// forms are those of texts that an expression can judge.
var forms = map[string]struct {
	*regexp.Regexp
	wrong string
}{
	"name":       {regexp.MustCompile(`^.{1,100}$`), "has more than 100 characters"},
	"identifier": {regexp.MustCompile(`^[a-z0-9_]{1,100}$`), "not an identifier"},
	"path":       {regexp.MustCompile(`^/[^?# ]*$`), "not the path of a URL"},
	"header":     {regexp.MustCompile("^[-!#$%&'*+.^_`|~0-9a-zA-Z]+$"), "not a valid name of an HTTP header"}, // token of RFC 9110, section 5.6.2
}

func (l *loader) checkText(k Key, s string) error {
	is := k.field.Tag.Get("is")
	form, ok := forms[is]
	switch {
	case ok && !form.MatchString(s):
		return usage.Problem{Text: form.wrong}
	case is == "address":
		_, port, err := net.SplitHostPort(s)
		if err != nil {
			return usage.Problem{Text: "not an address"}
		} else if _, err := strconv.ParseUint(port, 10, 16); err != nil {
			return usage.Problem{Text: "the port must be 0 to 65535"}
		}
	case is == "url":
		_, _, err := parseURL(s)
		return err
	case is == "file":
		if _, err := l.ReadFile(s); err != nil {
			return usage.Problem{Text: err.Error()}
		}
	case k.name == "SIGNAL" && (s == "itl" || s == "chunk_gap"):
		return usage.Problem{Text: s + " is per token, and objectives judge probes", Hint: "use tpot"}
	case len(k.words) > 0 && !slices.Contains(k.words, s):
		return usage.Problem{Text: "unknown" + usage.Suggestion(s, k.words)}
	}
	return nil
}
