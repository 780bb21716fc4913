package wire

import "strings"

// This file knows the syntax of JSON (RFC 8259): where a value ends, or that there
// is none. It accepts what encoding/json does, in a fraction of the time: a check by
// [encoding/json.Valid] was more than half of what a token frame costs. Each function
// returns the place behind what it skips, −1 if that is not there.

// deepest is how deep values may lie in each other: as in encoding/json.
const deepest = 10000

// object reports whether data is one JSON object, and calls f, if there is one, with each
// key and value on the way: so where data is none, f may have been called before that was
// known.
func object(data []byte, f func(key, value []byte)) bool {
	if len(data) == 0 || data[0] != '{' {
		return false
	}
	end := skipNested(data, 0, 1, f)
	return end > 0 && space(data, end) == len(data)
}

// space is the first place from at on that holds no white space.
func space(data []byte, at int) int {
	for at < len(data) && (data[at] == ' ' || data[at] == '\n' || data[at] == '\r' || data[at] == '\t') {
		at++
	}
	return at
}

// skipValue skips the value that begins at at, inside of depth others.
func skipValue(data []byte, at, depth int) int {
	if at >= len(data) {
		return -1
	}
	switch c := data[at]; {
	case c == '"':
		return skipText(data, at)
	case c == '{', c == '[':
		return skipNested(data, at, depth+1, nil)
	case c == '-', isDigit(c):
		return skipNumber(data, at)
	}
	return skipWord(data, at)
}

// skipNested skips an object or a list, and calls f, if there is one, with each value and
// the key that it has in an object.
func skipNested(data []byte, at, depth int, f func(key, value []byte)) int {
	if depth > deepest {
		return -1
	}
	keyed, closing := data[at] == '{', data[at]+2 // as ASCII has it
	if at = space(data, at+1); at < len(data) && data[at] == closing {
		return at + 1
	}
	for {
		var key []byte
		if keyed {
			if key, at = skipKey(data, at); at < 0 {
				return -1
			}
		}
		begin := at
		if at = skipValue(data, begin, depth); at < 0 {
			return -1
		}
		if f != nil {
			f(key, data[begin:at])
		}
		if at = space(data, at); at == len(data) {
			return -1
		}
		switch data[at] {
		case closing:
			return at + 1
		case ',':
			at = space(data, at+1)
		default:
			return -1
		}
	}
}

// skipKey skips a member's key, the colon, and the white space around it. The key is
// as it is spelled.
func skipKey(data []byte, at int) (key []byte, next int) {
	if at == len(data) || data[at] != '"' {
		return nil, -1
	}
	end := skipText(data, at)
	if end < 0 {
		return nil, -1
	}
	colon := space(data, end)
	if colon == len(data) || data[colon] != ':' {
		return nil, -1
	}
	return data[at+1 : end-1], space(data, colon+1)
}

// skipText skips a string. Its UTF-8 may be wrong.
func skipText(data []byte, at int) int {
	for at++; at < len(data); at++ {
		switch c := data[at]; {
		case c == '"':
			return at + 1
		case c < ' ':
			return -1
		case c == '\\':
			if at = skipEscape(data, at+1); at < 0 {
				return -1
			}
			at-- // over its last byte goes the loop
		}
	}
	return -1
}

// skipEscape skips what follows a backslash.
func skipEscape(data []byte, at int) int {
	if at == len(data) || strings.IndexByte(`"\/bfnrtu`, data[at]) < 0 {
		return -1
	}
	at++
	if data[at-1] != 'u' {
		return at
	}
	for end := at + 4; at < end; at++ {
		if at == len(data) || !isHex(data[at]) {
			return -1
		}
	}
	return at
}

func skipNumber(data []byte, at int) int {
	if data[at] == '-' {
		at++
	}
	if at < len(data) && data[at] == '0' {
		at++
	} else if at = skipDigits(data, at); at < 0 {
		return -1
	}
	if at < len(data) && data[at] == '.' {
		if at = skipDigits(data, at+1); at < 0 {
			return -1
		}
	}
	if at == len(data) || data[at] != 'e' && data[at] != 'E' {
		return at
	}
	if at++; at < len(data) && (data[at] == '+' || data[at] == '-') {
		at++
	}
	return skipDigits(data, at)
}

// skipDigits skips one digit or more.
func skipDigits(data []byte, at int) int {
	begin := at
	for at < len(data) && isDigit(data[at]) {
		at++
	}
	if at == begin {
		return -1
	}
	return at
}

// skipWord skips true, false or null.
func skipWord(data []byte, at int) int {
	for _, word := range [...]string{"null", "false", "true"} {
		if len(data)-at >= len(word) && string(data[at:at+len(word)]) == word {
			return at + len(word)
		}
	}
	return -1
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func isHex(c byte) bool { return isDigit(c) || 'a' <= c|0x20 && c|0x20 <= 'f' }
