package wire

import (
	"bytes"
	"math"
	"strconv"
)

// This file reads the values of valid JSON in place: decoding a token frame into structs takes five times as long.

// fields calls f with each key and value of an object, in place; anything but an object has no fields.
func fields(data []byte, f func(key, value []byte)) {
	if len(data) == 0 || data[0] != '{' {
		return
	}
	for key, rest := next(data[1:]); len(key) > 0; key, rest = next(rest) {
		var value []byte
		value, rest = next(rest)
		f(key[1:len(key)-1], value)
	}
}

func elements(data []byte, f func(value []byte)) {
	if len(data) == 0 || data[0] != '[' {
		return
	}
	for value, rest := next(data[1:]); len(value) > 0; value, rest = next(rest) {
		f(value)
	}
}

// first is the first element of a list; empty if there is none.
func first(list []byte) (element []byte) {
	if len(list) > 0 && list[0] == '[' {
		element, _ = next(list[1:])
	}
	return element
}

// next cuts the next key or value from the rest of an object or a list. It is empty at the end.
func next(data []byte) (value, rest []byte) {
	for data[0] == ',' || data[0] == ':' || isSpace(data[0]) {
		data = data[1:]
	}
	end := valueEnd(data)
	return data[:end:end], data[end:] // a value that is appended to is copied
}

// valueEnd is the length of the value that data begins with.
func valueEnd(data []byte) int {
	depth := 0
	for i := 0; ; i++ {
		switch c := data[i]; c {
		case '"':
			for i++; data[i] != '"'; i++ {
				if data[i] == '\\' {
					i++
				}
			}
		case '{', '[':
			depth++
			continue
		case '}', ']':
			if depth == 0 {
				return i
			}
			depth--
		default:
			if depth == 0 && (c == ',' || isSpace(c)) {
				return i
			}
			continue
		}
		if depth == 0 {
			return i + 1
		}
	}
}

func isSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\r' || c == '\t' }

// textIn is the text of a string, in place unless it has escapes; nil for anything but a string.
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

// countIn is a number of tokens; unknown for anything but a whole number of them, which some servers write as 3.0.
func countIn(value []byte) Count {
	n, err := strconv.ParseFloat(string(value), 64)
	if err != nil || n != math.Trunc(n) || n < 0 || n > maxCount {
		return Count{}
	}
	return Tokens(int(n))
}

// join is one text after another. It never writes into a frame: [textIn] leaves no room behind its texts.
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

func detail(object []byte, name string) Count { return countIn(member(object, name)) }
