package wire

import (
	"bytes"
	"math"
	"strconv"
)

// This file reads JSON in place. Decoding a frame of tokens into structs costs
// two dozen allocations, each a little work for a garbage collector that runs
// beside the stamping; reading it in place costs none.

// fields calls f with each key and value of an object. The slices are parts of
// data, which must be valid JSON; anything but an object has no fields.
func fields(data []byte, f func(key, value []byte)) {
	if len(data) > 0 && data[0] == '{' {
		skipNested(data, 0, 1, f)
	}
}

// elements calls f with each element of a list; anything else has none.
func elements(data []byte, f func(value []byte)) {
	if len(data) > 0 && data[0] == '[' {
		skipNested(data, 0, 1, func(_, value []byte) { f(value) })
	}
}

// textIn is what a string spells, in place unless it has escapes; nil for
// anything but a string.
func textIn(value []byte) []byte {
	if len(value) == 0 || value[0] != '"' {
		return nil
	}
	inner := value[1 : len(value)-1 : len(value)-1] // whoever appends to it copies
	if bytes.IndexByte(inner, '\\') < 0 {
		return inner
	}
	return []byte(unquote(value))
}

// maxCount bounds the counts that are believed: no prompt is longer.
const maxCount = 1 << 30

// countIn is a number of tokens; unknown for anything but a whole number of
// them, which some servers write as 3.0.
func countIn(value []byte) Count {
	n, err := strconv.Atoi(string(value))
	if err != nil {
		f, err := strconv.ParseFloat(string(value), 64)
		if err != nil || f != math.Trunc(f) || math.Abs(f) > maxCount {
			return Count{}
		}
		n = int(f)
	}
	if n < 0 || n > maxCount {
		return Count{}
	}
	return Tokens(n)
}

// join is one text after another. It never writes into a frame: [textIn] leaves
// no room behind its texts.
func join(a, b []byte) []byte {
	if len(a) == 0 {
		return b
	}
	return append(a, b...)
}

// member is the value of that name in an object; nil if there is none.
func member(object []byte, name string) []byte {
	var found []byte
	fields(object, func(key, value []byte) {
		if string(key) == name {
			found = value
		}
	})
	return found
}

func isTrue(value []byte) bool { return string(value) == "true" }
