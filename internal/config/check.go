package config

import (
	"math"
	"net"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/llm-prober/prober/internal/usage"
)

const maxName = 100 // characters of a target or group: names are labels

// printable reports whether s can stand in a metric label, an HTTP header or the line of a problem.
func printable(s string) bool {
	return utf8.ValidString(s) && !strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) })
}

// check judges by itself a value that was parsed from text, or not parsed for the reason err. The error is a
// [usage.Problem] without a place, which never quotes the text; without a hint of its own, that of the setting stands.
func (k Key) check(v reflect.Value, text string, err error) error {
	switch {
	case v.Type() != reflect.TypeFor[Headers]() && !printable(text):
		return usage.Problem{Text: "has unprintable characters"}
	case k.format == "ratio":
		return checkRatio(v.Float(), text, err)
	case err != nil:
		return err
	case k.Type == "duration":
		return k.checkDuration(time.Duration(v.Int()), text)
	case k.Type == "number":
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
	if optional, ok := reflect.TypeAssert[OptionalInt](v); ok {
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
	switch {
	case k.kind.pattern != nil && !k.kind.pattern.MatchString(s):
		return usage.Problem{Text: k.kind.wrong}
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
