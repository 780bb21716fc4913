package wire

import "strings"

// This file knows the syntax of JSON (RFC 8259): where a value ends, or that there
// is none. It accepts what encoding/json does, in a fraction of the time: a check by
// [encoding/json.Valid] was more than half of what a token frame costs. Each function
// returns the place behind what it skips, −1 if that is not there.

// deepest is how deep values may lie in each other: as in encoding/json.
const deepest = 10000

// valid reports whether data is one JSON object.
func valid(data []byte) bool {
	if len(data) == 0 || data[0] != '{' {
		return false
	}
	end := skip(data, 0)
	return end > 0 && space(data, end) == len(data)
}

// space is the first place from at on that holds no white space.
func space(data []byte, at int) int {
	for at < len(data) && (data[at] == ' ' || data[at] == '\n' || data[at] == '\r' || data[at] == '\t') {
		at++
	}
	return at
}

// skip skips the value that begins at at.
func skip(data []byte, at int) int { return skipValue(data, at, 0) }

func skipValue(data []byte, at, depth int) int {
	if at >= len(data) {
		return -1
	}
	switch c := data[at]; {
	case c == '"':
		return skipText(data, at)
	case c == '{', c == '[':
		return skipNested(data, at, depth+1)
	case c == '-', isDigit(c):
		return skipNumber(data, at)
	}
	return skipWord(data, at)
}

// skipNested skips an object or a list.
func skipNested(data []byte, at, depth int) int {
	if depth > deepest {
		return -1
	}
	object, closing := data[at] == '{', data[at]+2 // as ASCII has it
	if at = space(data, at+1); at < len(data) && data[at] == closing {
		return at + 1
	}
	for {
		if object {
			at = skipKey(data, at)
		}
		if at >= 0 {
			at = skipValue(data, at, depth)
		}
		if at < 0 {
			return -1
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

// skipKey skips a member's key, the colon, and the white space around it.
func skipKey(data []byte, at int) int {
	if at == len(data) || data[at] != '"' {
		return -1
	}
	end := skipText(data, at)
	if end < 0 {
		return -1
	}
	if end = space(data, end); end == len(data) || data[end] != ':' {
		return -1
	}
	return space(data, end+1)
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
