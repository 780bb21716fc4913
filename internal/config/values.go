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

// parsers returns what stands in for the parsers of env. The errors of those are not for users, and their switches are
// not on and off.
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
	case err == nil:
		return parsed, nil
	case strings.Trim(text, "0123456789.") == "":
		return 0, usage.Problem{Text: "has no unit", Hint: fmt.Sprintf("add a unit, for example %ss", text)}
	}
	return 0, usage.Problem{Text: "not a duration"}
}
