package probe

import (
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode"

	"github.com/llm-prober/prober/internal/format"
	"github.com/llm-prober/prober/internal/wire"
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

// secrets returns what errors must not repeat: the key, the password of a proxy, and of the configured headers the
// values that are credentials, in the parts in which a server may quote them. Ordinary values ("X-Team: search") are
// words that an error may need.
func (t Target) secrets() []string {
	list := append(secretParts(t.Key), secretParts(t.token)...)
	for name, values := range t.Header {
		for _, part := range secretParts(strings.Join(values, " ")) {
			if HoldsCredential(name) || looksLikeCredential(part) {
				list = append(list, part)
			}
		}
	}
	base, err := url.Parse(t.URL)
	if err == nil && t.Transport != nil {
		proxy, _ := t.Transport.route.proxyOf(&http.Request{URL: base})
		list = append(list, proxy.secrets()...)
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

// HoldsCredential reports whether the value of a header of that name is secret: X-Api-Key's is, X-Portkey-Provider's
// is not.
func HoldsCredential(name string) bool {
	between := func(c rune) bool { return c == '-' || c == '_' }
	words := strings.FieldsFunc(strings.ToLower(name), between)
	return slices.ContainsFunc(words, func(word string) bool { return slices.Contains(credentialWords, word) })
}

// looksLikeCredential reports whether a value looks like one, whatever the name of its header.
func looksLikeCredential(part string) bool {
	return len(part) >= shortestCredential &&
		strings.ContainsFunc(part, unicode.IsDigit) && strings.ContainsFunc(part, unicode.IsLetter)
}

// redact replaces what must not be shown of a text that a server sent: credentials, see [Target.secrets]. Whatever a
// server says goes through here before it is kept, and errors through [Target.scrub].
func (t Target) redact(text string) string { return format.Redact(text, t.secrets()) }

// scrub returns the text of an error without what must not be shown: credentials and the prompt. It wraps nothing.
func (t Target) scrub(err error, ask wire.Ask) error {
	if err == nil {
		return nil
	}
	clean := t.redact(err.Error())
	at, ok := repeat(clean, ask)
	if ok {
		clean = clean[:at] + "… (the rest repeats the prompt)"
	}
	return errors.New(clean)
}

// repeat returns where a text begins to repeat a question: every repeat of at least 47 bytes is found, shorter ones may
// be. The question may have megabytes, so only each 16th of its windows is looked for: any 32 + 15 bytes of it have a
// whole one in them.
func repeat(text string, ask wire.Ask) (begin int, ok bool) {
	const window, step = 32, 16 // bytes
	places := map[string]int{}  // of each window in text, the first
	for at := len(text) - window; at >= 0; at-- {
		places[text[at:at+window]] = at
	}
	if len(places) == 0 {
		return 0, false
	}
	begin = len(text)
	search := func(asked string) {
		for from := 0; from+window <= len(asked); from += step {
			at, found := places[asked[from:from+window]]
			if !found {
				continue
			}
			before := 0 // bytes before the window that are the same in both
			for before < min(at, from) && text[at-before-1] == asked[from-before-1] {
				before++
			}
			begin = min(begin, at-before)
		}
	}
	search(ask.Prompt)
	for _, turn := range ask.Turns {
		search(turn.Text)
	}
	return begin, begin < len(text)
}
