package wire

import (
	"bytes"
	"math"
	"strconv"
)

// This file reads the values of valid JSON in place: to decode a frame of a token into structs takes five times as
// long. Who looks into a value reads its bytes once more, so whoever goes down from value to value has a limit of
// depth.

// eachField calls f with each key and value of an object. It does nothing for anything else. Both lie in data.
func eachField(data []byte, f func(key, value []byte)) {
	if len(data) == 0 || data[0] != '{' {
		return
	}
	for key, rest := cutValue(data[1:]); len(key) > 0; key, rest = cutValue(rest) {
		var value []byte
		value, rest = cutValue(rest)
		f(key[1:len(key)-1], value)
	}
}

// eachElement calls f with each element of a list. It does nothing for anything else. Elements lie in data.
func eachElement(data []byte, f func(value []byte)) {
	if len(data) == 0 || data[0] != '[' {
		return
	}
	for value, rest := cutValue(data[1:]); len(value) > 0; value, rest = cutValue(rest) {
		f(value)
	}
}

// elementCount returns the length of a list; 0 for anything else.
func elementCount(list []byte) int {
	n := 0
	eachElement(list, func([]byte) { n++ })
	return n
}

// firstElement returns the first element of a list; empty for an empty list, nil for anything else.
func firstElement(list []byte) []byte {
	if len(list) == 0 || list[0] != '[' {
		return nil
	}
	element, _ := cutValue(list[1:])
	return element
}

// cutValue cuts the next key or value from the rest of an object or a list. It is empty at the end. It has no room
// behind it, so that whoever appends to it copies it.
func cutValue(data []byte) (value, rest []byte) {
	for data[0] == ',' || data[0] == ':' || isSpace(data[0]) {
		data = data[1:]
	}
	end := valueEnd(data)
	return data[:end:end], data[end:]
}

// valueEnd returns the length of the value with which data begins.
func valueEnd(data []byte) int {
	depth := 0
	for i := 0; ; i++ {
		c := data[i]
		switch c {
		case '"':
			i = stringEnd(data, i)
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

// stringEnd returns the index of the quotation mark that closes the string which begins at start.
func stringEnd(data []byte, start int) int {
	i := start + 1
	for data[i] != '"' {
		if data[i] == '\\' {
			i++
		}
		i++
	}
	return i
}

func isSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\r' || c == '\t' }

// stringIn returns the text of a string; nil for anything but a string. The text lies in value unless it has escapes.
// It has no room behind it, so that whoever appends to it copies it.
func stringIn(value []byte) []byte {
	if len(value) == 0 || value[0] != '"' {
		return nil
	}
	inner := value[1 : len(value)-1 : len(value)-1]
	if bytes.IndexByte(inner, '\\') < 0 {
		return inner
	}
	return []byte(unquote(value))
}

// maxCount is the largest count that is believed: no prompt is longer.
const maxCount = 1 << 30

// countIn returns a number of tokens. Some servers write it as 3.0, some gateways as "3". It is unknown for anything
// but a whole number.
func countIn(value []byte) Count {
	n, err := strconv.ParseFloat(string(bytes.Trim(value, `"`)), 64)
	if err != nil || n != math.Trunc(n) || n < 0 || n > maxCount {
		return Count{}
	}
	return Tokens(int(n))
}

// appendText returns one text after another. It never writes into a frame, since the results of [stringIn] have no room
// behind them.
func appendText(a, b []byte) []byte {
	if len(a) == 0 {
		return b
	}
	return append(a, b...)
}

// memberOf returns the value of a key in an object; nil if there is none.
func memberOf(object []byte, name string) []byte {
	var found []byte
	eachField(object, func(key, value []byte) {
		if string(key) == name {
			found = value
		}
	})
	return found
}

// countAt returns the number of tokens under a key of an object.
func countAt(object []byte, name string) Count { return countIn(memberOf(object, name)) }
