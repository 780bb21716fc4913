package probe

import (
	"slices"
	"strings"
	"unicode"
)

const (
	shortestSecret     = 6  // bytes that are removed from errors
	shortestCredential = 16 // bytes of letters and digits that are taken for a secret in a header of any name
)

// credentialWords are the parts of a header's name that say that its value is secret. The list is only read.
var credentialWords = []string{
	"apikey", "auth", "authentication", "authorization", "bearer", "cookie", "credential", "credentials",
	"jwt", "key", "passwd", "password", "secret", "session", "signature", "token",
}

// secrets returns what errors must not repeat: the key, and of the configured headers the values that are
// credentials, in the parts in which a server may quote them. Ordinary values ("X-Team: search") are words that an
// error may need.
func (t Target) secrets() []string {
	list := secretParts(t.Key)
	for name, values := range t.Header {
		for _, part := range secretParts(strings.Join(values, " ")) {
			if holdsCredential(name) || looksLikeCredential(part) {
				list = append(list, part)
			}
		}
	}
	return list
}

// secretParts returns the parts of a header's value that are long enough to be a secret of their own:
// "session=a1b2c3; theme=dark".
func secretParts(value string) []string {
	between := func(c rune) bool { return unicode.IsSpace(c) || strings.ContainsRune(`;,="'`, c) }
	return slices.DeleteFunc(strings.FieldsFunc(value, between), func(part string) bool {
		return len(part) < shortestSecret || part == "Bearer"
	})
}

// holdsCredential reports whether the value of a header of that name is secret: X-Api-Key's is, X-Portkey-Provider's
// is not.
func holdsCredential(name string) bool {
	between := func(c rune) bool { return c == '-' || c == '_' }
	words := strings.FieldsFunc(strings.ToLower(name), between)
	return slices.ContainsFunc(words, func(word string) bool { return slices.Contains(credentialWords, word) })
}

// looksLikeCredential reports whether a value looks like one, whatever the name of its header.
func looksLikeCredential(part string) bool {
	return len(part) >= shortestCredential &&
		strings.ContainsFunc(part, unicode.IsDigit) && strings.ContainsFunc(part, unicode.IsLetter)
}
