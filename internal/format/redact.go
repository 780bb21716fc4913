package format

import (
	"slices"
	"strings"
	"unicode"
)

const (
	shortestPart  = 6    // characters: a shorter beginning of a secret is shown where a text was cut within it
	longestSecret = 4096 // bytes of a secret that are compared: no text that is shown repeats more
)

// Redact returns a text in which *** stands for each secret, and for the beginning of one that was cut: at an ellipsis,
// or at the end. It finds secrets in upper and lower case, escaped as in URLs, JSON, Go and HTML (even twice), and with
// white space or anything that [Clean] removes between their letters. A text without secrets is returned as it is.
func Redact(text string, secrets []string) string {
	var found []span
	for _, how := range []reading{{}, {escapes: true}, {sequences: true}, {escapes: true, sequences: true}} {
		shown := how.read(text)
		for _, secret := range secrets {
			if len(secret) > longestSecret {
				secret = secret[:longestSecret]
			}
			found = append(found, occurrences(shown, how.read(secret))...)
		}
	}
	slices.SortFunc(found, func(a, b span) int { return a.start - b.start })
	var b strings.Builder
	end := 0 // of what is written or hidden
	for _, s := range found {
		if s.start >= end {
			b.WriteString(text[end:s.start])
			b.WriteString("***")
		}
		end = max(end, s.end)
	}
	b.WriteString(text[end:])
	return b.String()
}

// A span is a part of a text, in bytes.
type span struct{ start, end int }

// A letter is a character as a reader may see it, and the part of the text that stands for it.
type letter struct {
	char rune
	span
}

// occurrences returns where a secret stands in a text, or its beginning at a cut.
func occurrences(text, secret []letter) []span {
	var found []span
	for at := range text {
		if len(secret) > 0 && beginsWith(text[at:], secret) {
			found = append(found, span{text[at].start, text[at+len(secret)-1].end})
		}
		isCut := at+1 == len(text) || text[at+1].char == '…'
		if !isCut {
			continue
		}
		for n := min(len(secret)-1, at+1); n >= shortestPart; n-- { // the longest beginning that ends here
			start := at + 1 - n
			if beginsWith(text[start:], secret[:n]) {
				found = append(found, span{text[start].start, text[at].end})
				break
			}
		}
	}
	return found
}

func beginsWith(text, start []letter) bool {
	isSame := func(a, b letter) bool { return a.char == b.char }
	return len(text) >= len(start) && slices.EqualFunc(text[:len(start)], start, isSame)
}

// A reading is a way to read a text.
type reading struct {
	escapes   bool // %41, \x41, \u0041, &#65; and their like are the characters that they stand for, even if escaped twice
	sequences bool // what a terminal obeys instead of printing it is left out
}

// read returns the printed characters of a text, in lower case.
func (how reading) read(text string) []letter {
	letters := make([]letter, 0, len(text))
	for at, char := range text {
		letters = append(letters, letter{char, span{at, len(text)}})
		if len(letters) > 1 {
			letters[len(letters)-2].end = at
		}
	}
	if how.escapes {
		letters = unescape(unescape(letters))
	}
	if how.sequences {
		letters = withoutSequences(letters)
	}
	letters = slices.DeleteFunc(letters, func(l letter) bool {
		return unicode.IsSpace(l.char) || !unicode.IsPrint(l.char) || l.char == unicode.ReplacementChar
	})
	for i := range letters {
		letters[i].char = unicode.ToLower(letters[i].char)
	}
	return letters
}

// withoutSequences removes what a terminal obeys instead of printing it.
func withoutSequences(letters []letter) []letter {
	var text strings.Builder
	var letterOf []int // for each byte of text, the index of its letter
	for i, l := range letters {
		n, _ := text.WriteRune(l.char)
		for range n {
			letterOf = append(letterOf, i)
		}
	}
	sequences := escapeSequences.FindAllStringIndex(text.String(), -1)
	slices.Reverse(sequences) // from the end, so that the indices of those before stay right
	for _, s := range sequences {
		first := letterOf[s[0]]
		last := letterOf[s[1]-1]
		letters = slices.Delete(letters, first, last+1)
	}
	return letters
}

// unescape reads the escaped characters among letters.
func unescape(letters []letter) []letter {
	plain := letters[:0]
	for i := 0; i < len(letters); {
		char, n, ok := escaped(letters[i:])
		if !ok {
			char = letters[i].char
			n = 1
		}
		plain = append(plain, letter{char, span{letters[i].start, letters[i+n-1].end}})
		i += n
	}
	return plain
}

// escaped returns the escaped character at the start of letters, and how many letters stand for it; ok is false if
// there is none.
func escaped(letters []letter) (char rune, n int, ok bool) {
	var second rune
	if len(letters) > 1 {
		second = letters[1].char
	}
	switch letters[0].char {
	case '%':
		char, ok = number(letters, 1, 3, 16)
		return char, 3, ok
	case '&':
		return entity(letters)
	case '\\':
		switch second {
		case 'x':
			char, ok = number(letters, 2, 4, 16)
			return char, 4, ok
		case 'u':
			char, ok = number(letters, 2, 6, 16)
			return char, 6, ok
		case '"', '\'', '\\', '/', '&':
			return second, 2, true
		}
	}
	return 0, 0, false
}

// entities are the named characters of HTML and XML that occur in secrets. It is only read.
var entities = map[string]rune{"amp": '&', "lt": '<', "gt": '>', "quot": '"', "apos": '\''}

// entity does what [escaped] does for HTML: &amp; &#38; and &#x26; are one character.
func entity(letters []letter) (char rune, n int, ok bool) {
	const longest = 12 // letters
	var name strings.Builder
	for i, l := range letters[1:min(len(letters), longest)] {
		if l.char != ';' {
			name.WriteRune(unicode.ToLower(l.char))
			continue
		}
		end := i + 1 // of letters, whose first one is the ampersand
		switch {
		case strings.HasPrefix(name.String(), "#x"):
			char, ok = number(letters, 3, end, 16)
		case strings.HasPrefix(name.String(), "#"):
			char, ok = number(letters, 2, end, 10)
		default:
			char, ok = entities[name.String()]
		}
		return char, end + 1, ok
	}
	return 0, 0, false
}

// number returns the character whose number stands in letters[from:to]; ok is false if there are no such digits.
func number(letters []letter, from, to int, base rune) (char rune, ok bool) {
	if from >= to || to > len(letters) {
		return 0, false
	}
	for _, l := range letters[from:to] {
		digit := rune(strings.IndexRune("0123456789abcdef", unicode.ToLower(l.char)))
		if digit < 0 || digit >= base || char > unicode.MaxRune {
			return 0, false
		}
		char = char*base + digit
	}
	return char, true
}
