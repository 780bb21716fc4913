package wire

import (
	"bytes"
	"encoding/json"
	"iter"
	"math"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"
)

// This file reads JSON with gjson, which finds values without decoding all of a text. To go into a value is to read
// all of its text again, at each level. So a function that calls itself for inner values has a limit of depth.

// parseJSON returns the value of a JSON text; ok is false if data is not JSON. All values come from here, because gjson
// would accept text that is not JSON. encoding/json accepts at most 10,000 levels.
func parseJSON(data []byte) (value gjson.Result, ok bool) {
	if !json.Valid(data) {
		return gjson.Result{}, false
	}
	return gjson.ParseBytes(bytes.TrimSpace(data)), true
}

// fieldsOf returns the keys and values of an object; nothing for anything else.
func fieldsOf(object gjson.Result) iter.Seq2[string, gjson.Result] {
	return func(yield func(string, gjson.Result) bool) {
		if object.IsObject() {
			object.ForEach(func(key, value gjson.Result) bool { return yield(key.Str, value) })
		}
	}
}

// elementsOf returns the elements of a list; nothing for anything else.
func elementsOf(list gjson.Result) iter.Seq[gjson.Result] {
	return func(yield func(gjson.Result) bool) {
		if list.IsArray() {
			list.ForEach(func(_, value gjson.Result) bool { return yield(value) })
		}
	}
}

// member returns the value at the end of a path of keys; a value that does not exist if there is none. Of equal keys
// the last one counts, as in encoding/json. Result.Get would take the first one, and look for objects within texts.
func member(object gjson.Result, path ...string) gjson.Result {
	for _, name := range path {
		var found gjson.Result
		for key, value := range fieldsOf(object) {
			if key == name {
				found = value
			}
		}
		object = found
	}
	return object
}

// firstElement returns the first element of a list; one that does not exist for anything else.
func firstElement(list gjson.Result) gjson.Result {
	for element := range elementsOf(list) {
		return element
	}
	return gjson.Result{}
}

// elementCount returns the length of a list; 0 for anything else.
func elementCount(list gjson.Result) int {
	n := 0
	for range elementsOf(list) {
		n++
	}
	return n
}

// maxCount is the largest count that is believed: no prompt is longer.
const maxCount = 1 << 30

// countIn returns a number of tokens. Some servers write it as 3.0, some gateways as "3". It is unknown for anything
// but a whole number.
func countIn(value gjson.Result) Count { return countOf(value.String()) }

func countOf(text string) Count {
	n, err := strconv.ParseFloat(text, 64)
	if err != nil || n != math.Trunc(n) || n < 0 || n > maxCount {
		return Count{}
	}
	return Tokens(int(n))
}

// textIn returns a string or a number as a text; empty for anything else, and for names of nothing: LiteLLM writes the
// type "None".
func textIn(value gjson.Result) string {
	switch value.Type {
	case gjson.Number:
		return value.Raw
	case gjson.String:
		if value.Str != "None" && value.Str != "null" {
			return strings.ToValidUTF8(value.Str, "�")
		}
	}
	return ""
}

// isEmptyValue reports whether a value does not exist or says nothing: null, false, 0, an empty text, or an object or a
// list of nothing else.
func isEmptyValue(value gjson.Result) bool { return isEmptyWithin(value, 0) }

func isEmptyWithin(value gjson.Result, depth int) bool {
	switch value.Raw {
	case "", "null", `""`, "false", "0":
		return true
	}
	const deepest = 4 // what is nested deeper counts as content
	if value.Type != gjson.JSON || depth == deepest {
		return false
	}
	for _, inner := range fieldsOf(value) {
		if !isEmptyWithin(inner, depth+1) {
			return false
		}
	}
	for element := range elementsOf(value) {
		if !isEmptyWithin(element, depth+1) {
			return false
		}
	}
	return true
}
