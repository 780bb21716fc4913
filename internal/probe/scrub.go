package probe

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"unicode"

	"github.com/llm-prober/prober/internal/wire"
)

// The shortest secret, and the shortest part of the prompt, that are removed from errors, in bytes.
const (
	shortestSecret = 6
	shortestRepeat = 32
)

// scrub removes from an error what must not be shown and a server may repeat: the values of headers,
// which are secrets, and the prompt.
func scrub(err error, secrets http.Header, ask wire.Ask) error {
	if err == nil {
		return nil
	}
	text := err.Error()
	clean := text
	for _, values := range secrets {
		for _, value := range values {
			for secret := range strings.FieldsFuncSeq(value, betweenSecrets) {
				if len(secret) >= shortestSecret && secret != "Bearer" {
					clean = hide(clean, secret)
				}
			}
		}
	}
	for at := 0; at+shortestRepeat <= len(clean); at++ {
		part := clean[at : at+shortestRepeat]
		inTurn := func(t wire.Turn) bool { return strings.Contains(t.Text, part) }
		if strings.Contains(ask.Prompt, part) || slices.ContainsFunc(ask.Turns, inTurn) {
			return errors.New(clean[:at] + "… (the rest repeats the prompt)")
		}
	}
	if clean == text {
		return err
	}
	return errors.New(clean)
}

// betweenSecrets reports whether c separates the secrets in a header's value: a cookie has several,
// and a server may repeat one of them.
func betweenSecrets(c rune) bool { return unicode.IsSpace(c) || strings.ContainsRune(`;,="'`, c) }

// hide replaces a secret in a text, and its start where the text was cut within.
func hide(text, secret string) string {
	text = strings.ReplaceAll(text, secret, "***")
	for n := min(len(secret)-1, len(text)); n >= shortestSecret; n-- {
		text = strings.ReplaceAll(text, secret[:n]+wire.Cut, "***"+wire.Cut)
	}
	return text
}
