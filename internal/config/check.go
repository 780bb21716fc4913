package config

import (
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

	"github.com/llm-prober/prober/internal/usage"
)

const maxName = 100 // characters of a target or group: names are labels

// A form is what a text must look like.
type form struct {
	pattern     *regexp.Regexp // nil where an expression cannot judge it
	wrong, want string
}

// formats are the values of the tag format, but for file.
var formats = map[string]form{
	"address":    {nil, "", "host:port, for example :9464"},
	"ratio":      {nil, "", "a ratio between 0 and 1, for example 0.99"},
	"url":        {nil, "", "http:// or https://, a host and perhaps a port and path, for example http://localhost:8000"},
	"name":       {regexp.MustCompile(`^.{1,100}$`), "has more than 100 characters", "1 to 100 printable characters"},
	"identifier": {regexp.MustCompile(`^[a-z0-9_]{1,100}$`), "not an identifier", "a-z, 0-9 and _ only"},
	"path": {regexp.MustCompile(`^/[^?# ]*$`), "not the path of a URL",
		"a path from the host's root on, without query, for example /v1/chat/completions"},
	"header": {regexp.MustCompile("^[-!#$%&'*+.^_`|~0-9a-zA-Z]+$"), // token of RFC 9110, section 5.6.2
		"not a valid name of an HTTP header", "the name of a header, for example x-user-id"},
}

// printable reports whether s can stand in a metric label, an HTTP header or the line of a problem.
func printable(s string) bool {
	return utf8.ValidString(s) && !strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) })
}

// check judges by itself a value that was parsed from text, or not parsed for the reason err. The error is a
// [usage.Problem] without a place, which never quotes the text; without a hint of its own, that of the setting stands.
func (k Key) check(v reflect.Value, text string, err error) error {
	switch {
	case k.kind != reflect.TypeFor[Headers]() && !printable(text):
		return usage.Problem{Text: "has unprintable characters"}
	case k.format == "ratio":
		return checkRatio(v.Float(), text, err)
	case err != nil:
		return err
	case k.isDuration():
		return k.checkDuration(time.Duration(v.Int()), text)
	case k.isNumber():
		return k.checkNumber(v, text)
	case v.Kind() == reflect.String:
		return k.checkText(text)
	}
	return nil
}

func (k Key) checkDuration(d time.Duration, text string) error {
	least := k.tag.Get("min")
	bound, _ := time.ParseDuration(least)
	if d < bound && text != none {
		return usage.Problem{Text: "must be at least " + least}
	}
	return nil
}

// checkNumber judges a number by its bounds. NaN is within none.
func (k Key) checkNumber(v reflect.Value, text string) error {
	if text == none {
		return nil
	}
	if optional, ok := v.Interface().(OptionalInt); ok {
		v = reflect.ValueOf(*optional.Value)
	}
	number := 0.0
	if v.CanInt() {
		number = float64(v.Int())
	} else {
		number = v.Float()
	}
	above, hasAbove := k.bound("above")
	least, hasLeast := k.bound("min")
	most, _ := k.bound("max")
	switch {
	case hasAbove && !(number > above && number <= most):
		return usage.Problem{Text: "must be above " + k.tag.Get("above") + " and at most " + k.tag.Get("max")}
	case hasLeast && !(number >= least && number <= most):
		return usage.Problem{Text: "must be " + k.tag.Get("min") + " to " + k.tag.Get("max")}
	}
	return nil
}

// bound returns the number in a tag. ok is false if there is none.
func (k Key) bound(tag string) (number float64, ok bool) {
	number, err := strconv.ParseFloat(k.tag.Get(tag), 64)
	return number, err == nil
}

// checkRatio judges a ratio, and has a hint for one that is given in percent.
func checkRatio(ratio float64, text string, err error) error {
	number, percent := strings.CutSuffix(text, "%")
	if percent {
		ratio = math.NaN()
	} else if err != nil {
		return err
	}
	if ratio > 0 && ratio < 1 {
		return nil
	}
	p := usage.Problem{Text: "must be above 0 and below 1"}
	v, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if err == nil && v > 0 && v < 100 && (percent || v > 1) {
		p.Hint = "goals are ratios: " + strconv.FormatFloat(v/100, 'g', 12, 64)
	}
	return p
}

func (k Key) checkText(s string) error {
	form := formats[k.format]
	switch {
	case form.pattern != nil && !form.pattern.MatchString(s):
		return usage.Problem{Text: form.wrong}
	case k.format == "address":
		return checkAddress(s)
	case k.format == "url":
		_, _, err := parseURL(s)
		return err
	case k.name == "SIGNAL" && (s == "itl" || s == "chunk_gap"):
		return usage.Problem{Text: s + " is per token, and objectives judge probes", Hint: "use tpot"}
	case len(k.words) > 0 && !slices.Contains(k.words, s):
		return usage.Problem{Text: "unknown" + usage.Suggestion(s, k.words)}
	}
	return nil
}

func checkAddress(s string) error {
	_, port, err := net.SplitHostPort(s)
	if err != nil {
		return usage.Problem{Text: "not an address"}
	}
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return usage.Problem{Text: "the port must be 0 to 65535"}
	}
	return nil
}
