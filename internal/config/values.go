package config

import (
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/caarlos0/env/v11"

	"github.com/llm-prober/prober/internal/usage"
)

// A Duration is above 0 and is written with its unit, as 1m30s.
type Duration time.Duration

// UnmarshalText reads a duration. Its error is a [usage.Problem].
func (d *Duration) UnmarshalText(text []byte) error {
	parsed, err := parseDuration(string(text))
	*d = Duration(parsed)
	return err
}

// String returns the duration as Go writes it.
func (d Duration) String() string { return time.Duration(d).String() }

// MarshalText returns String. It never fails.
func (d Duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// An OptionalDuration is a [Duration], or 0, which is written none.
type OptionalDuration time.Duration

// UnmarshalText reads a duration or none. Its error is a [usage.Problem].
func (d *OptionalDuration) UnmarshalText(text []byte) error {
	if string(text) == none {
		*d = 0
		return nil
	}
	parsed, err := parseDuration(string(text))
	*d = OptionalDuration(parsed)
	return err
}

// String returns the duration as Go writes it, or none.
func (d OptionalDuration) String() string {
	if d == 0 {
		return none
	}
	return time.Duration(d).String()
}

// MarshalText returns String. It never fails.
func (d OptionalDuration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// A Rate is a number of probes per second, above 0.
type Rate float64

// UnmarshalText reads a number. Its error is a [usage.Problem].
func (r *Rate) UnmarshalText(text []byte) error {
	parsed, err := parseNumber(string(text))
	*r = Rate(parsed)
	return err
}

// Tokens is a limit of tokens, or 0 for no limit, which is written none.
type Tokens int

// UnmarshalText reads a number of tokens or none. Its error is a [usage.Problem].
func (t *Tokens) UnmarshalText(text []byte) error {
	if string(text) == none {
		*t = 0
		return nil
	}
	parsed, err := parseWhole(string(text))
	*t = Tokens(parsed)
	return err
}

// String returns the number or none.
func (t Tokens) String() string {
	if t == 0 {
		return none
	}
	return strconv.Itoa(int(t))
}

// MarshalText returns String. It never fails.
func (t Tokens) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// An OptionalInt is a whole number, or nil, which is written none.
type OptionalInt struct {
	Value *int `env:"-"`
}

// UnmarshalText reads a number or none. Its error is a [usage.Problem].
func (i *OptionalInt) UnmarshalText(text []byte) error {
	i.Value = nil
	if string(text) == none {
		return nil
	}
	parsed, err := parseWhole(string(text))
	i.Value = &parsed
	return err
}

// String returns the number, or nothing without one.
func (i OptionalInt) String() string {
	if i.Value == nil {
		return ""
	}
	return strconv.Itoa(*i.Value)
}

// MarshalText returns String. It never fails.
func (i OptionalInt) MarshalText() ([]byte, error) { return []byte(i.String()), nil }

const none = "none" // the word for an optional value that is not there

// parsers returns what stands in for the parsers of env. The errors of those are not for users, and their switches are not
// on and off.
func parsers() map[reflect.Type]env.ParserFunc {
	return map[reflect.Type]env.ParserFunc{
		reflect.TypeFor[bool]():          func(text string) (any, error) { return parseSwitch(text) },
		reflect.TypeFor[int]():           func(text string) (any, error) { return parseWhole(text) },
		reflect.TypeFor[float64]():       func(text string) (any, error) { return parseNumber(text) },
		reflect.TypeFor[time.Duration](): func(text string) (any, error) { return parseDuration(text) },
	}
}

func parseSwitch(text string) (bool, error) {
	switch strings.ToLower(text) {
	case "on", "true":
		return true, nil
	case "off", "false":
		return false, nil
	}
	return false, usage.Problem{Text: "neither on nor off"}
}

// parseWhole reads a whole number. One that is too large is the largest there is, which is out of all bounds.
func parseWhole(text string) (int, error) {
	number, err := strconv.Atoi(text)
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		return 0, usage.Problem{Text: "not a whole number"}
	}
	return number, nil
}

// parseNumber reads a number. One that is too large is infinite, which is out of all bounds.
func parseNumber(text string) (float64, error) {
	number, err := strconv.ParseFloat(text, 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		return 0, usage.Problem{Text: "not a number"}
	}
	return number, nil
}

func parseDuration(text string) (time.Duration, error) {
	parsed, err := time.ParseDuration(text)
	switch {
	case err != nil && strings.Trim(text, "0123456789.") == "":
		return 0, usage.Problem{Text: "has no unit", Hint: fmt.Sprintf("add a unit, for example %ss", text)}
	case err != nil:
		return 0, usage.Problem{Text: "not a duration"}
	case parsed <= 0:
		return 0, usage.Problem{Text: "must be above 0"}
	}
	return parsed, nil
}
