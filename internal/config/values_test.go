package config

import (
	"encoding"
	"fmt"
	"reflect"
	"testing"
	"time"
)

// TestValues holds what the types of settings read, and that what they write means the same.
func TestValues(t *testing.T) {
	for text, want := range map[string]struct {
		into  encoding.TextUnmarshaler
		value string // as it is written
		wrong string // what is wrong with the text
	}{
		"90s":   {new(Duration), "1m30s", ""},
		"1.5ms": {new(Duration), "1.5ms", ""},
		"30":    {new(Duration), "", "30: has no unit; add a unit, for example 30s"},
		"soon":  {new(Duration), "", "soon: not a duration"},
		"0s":    {new(Duration), "", "0s: must be above 0"},
		"none":  {new(OptionalDuration), "none", ""},
		"5m":    {new(OptionalDuration), "5m0s", ""},
		"-5m":   {new(OptionalDuration), "", "-5m: must be above 0"},
		"0.25":  {new(Rate), "0.25", ""},
		"1/4":   {new(Rate), "", "1/4: not a number"},
		"7000":  {new(Tokens), "7000", ""},
		"none ": {new(Tokens), "", "none : not a whole number"},
		"-10":   {new(OptionalInt), "-10", ""},
		"1e3":   {new(OptionalInt), "", "1e3: not a whole number"},
	} {
		err := want.into.UnmarshalText([]byte(text))
		got := fmt.Sprint(reflect.ValueOf(want.into).Elem().Interface())
		if err == nil && (got != want.value || want.wrong != "") {
			t.Errorf("%q is %s, want %s%s", text, got, want.value, want.wrong)
		}
		if err != nil && text+err.Error() != want.wrong {
			t.Errorf("%q: %s%v, want %q", text, text, err, want.wrong)
		}
	}
	var none OptionalInt
	if err := none.UnmarshalText([]byte("none")); err != nil || none.Value != nil {
		t.Errorf("none is %v, %v", none.Value, err)
	}
	if text, err := OptionalDuration(time.Hour).MarshalText(); string(text) != "1h0m0s" || err != nil {
		t.Errorf("an hour is written %s, %v", text, err)
	}
}
