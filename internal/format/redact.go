package format

import (
	"slices"
	"strings"
	"unicode"
)

const (
	shortestPart  = 6    // characters of a secret that are hidden where a text was cut within it
	longestSecret = 4096 // characters of a secret that are compared: no text that is shown repeats more
)

// Redact returns a text in which *** stands for each secret, and for the beginning of one that was cut: at an ellipsis,
// or at the end. Secrets are found in any case, escaped as in URLs, JSON, Go and HTML, also twice, and with anything in
// between that [Clean] removes, or white space. It returns the text as it is if there is none.
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
	end := 0
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
	isSame := func(a, b letter) bool { return a.char == b.char }
	same := func(at, n int) bool {
		return at+n <= len(text) && slices.EqualFunc(text[at:at+n], secret[:n], isSame)
	}
	for at := range text {
		if len(secret) > 0 && same(at, len(secret)) {
			found = append(found, span{text[at].start, text[at+len(secret)-1].end})
		}
		if at+1 < len(text) && text[at+1].char != '…' {
			continue
		}
		for n := min(len(secret)-1, at+1); n >= shortestPart; n-- { // what ends here
			if same(at+1-n, n) {
				found = append(found, span{text[at+1-n].start, text[at].end})
				break
			}
		}
	}
	return found
}

// A reading is a way to read a text.
type reading struct {
	escapes   bool // %41, \x41, \u0041, &#65; and their like are characters
	sequences bool // sequences for terminals are not there
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
	var index []int // of each byte's letter
	for i, l := range letters {
		n, _ := text.WriteRune(l.char)
		for range n {
			index = append(index, i)
		}
	}
	sequences := escapeSequences.FindAllStringIndex(text.String(), -1)
	slices.Reverse(sequences)
	for _, s := range sequences {
		last := index[s[1]-1]
		letters = slices.Delete(letters, index[s[0]], last+1)
	}
	return letters
}

// unescape reads the escaped characters among letters.
func unescape(letters []letter) []letter {
	plain := letters[:0]
	for i := 0; i < len(letters); {
		char, n := escaped(letters[i:])
		plain = append(plain, letter{char, span{letters[i].start, letters[i+n-1].end}})
		i += n
	}
	return plain
}

// entities are the named characters of HTML and XML that occur in secrets. It is only read.
var entities = map[string]rune{"amp": '&', "lt": '<', "gt": '>', "quot": '"', "apos": '\''}

// escaped returns the first character, and how many letters stand for it: 1 if it is not escaped.
func escaped(letters []letter) (char rune, n int) {
	next := func(i int) rune {
		if i < len(letters) {
			return letters[i].char
		}
		return 0
	}
	switch next(0) {
	case '%':
		return number(letters, 1, 16, 2)
	case '\\':
		switch next(1) {
		case 'x':
			return number(letters, 2, 16, 2)
		case 'u':
			return number(letters, 2, 16, 4)
		case '"', '\'', '\\', '/', '&':
			return next(1), 2
		}
	case '&':
		end := slices.IndexFunc(letters[:min(len(letters), 12)], func(l letter) bool { return l.char == ';' })
		if end < 0 {
			break
		}
		var name strings.Builder
		for _, l := range letters[1:end] {
			name.WriteRune(unicode.ToLower(l.char))
		}
		char = entities[name.String()]
		switch {
		case char != 0:
		case strings.HasPrefix(name.String(), "#x"):
			char, n = number(letters[:end], 3, 16, end-3)
		case strings.HasPrefix(name.String(), "#"):
			char, n = number(letters[:end], 2, 10, end-2)
		}
		if char != 0 && n != 1 {
			return char, end + 1
		}
	}
	return next(0), 1
}

// number reads a character's number of some digits after a prefix of letters. If there is none, it returns the first
// letter.
func number(letters []letter, prefix int, base rune, digits int) (char rune, n int) {
	if digits < 1 || len(letters) < prefix+digits {
		return letters[0].char, 1
	}
	for _, l := range letters[prefix : prefix+digits] {
		digit := rune(strings.IndexRune("0123456789abcdef", unicode.ToLower(l.char)))
		if digit < 0 || digit >= base || char > unicode.MaxRune {
			return letters[0].char, 1
		}
		char = char*base + digit
	}
	return char, prefix + digits
}
