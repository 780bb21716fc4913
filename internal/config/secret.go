package config

import (
	"fmt"
	"io"
)

// A Secret is text that prints as *** whatever is asked to print it, and as nothing when
// it is empty, as the zero Secret is. Secrets are safe for concurrent use.
type Secret struct {
	// A pointer, because fmt does not call the methods of a value that it
	// reaches through an unexported field: it then prints an address.
	value *string
}

// NewSecret hides text.
func NewSecret(text string) Secret {
	if text == "" {
		return Secret{}
	}
	return Secret{value: &text}
}

// Reveal returns the hidden text. It is the only way out.
func (s Secret) Reveal() string {
	if s.value != nil {
		return *s.value
	}
	return ""
}

// Equal reports whether both hide the same text.
func (s Secret) Equal(other Secret) bool { return s.Reveal() == other.Reveal() }

// String returns *** or, for the empty secret, nothing.
func (s Secret) String() string {
	if s.value == nil {
		return ""
	}
	return "***"
}

// Format prints String for every verb; flags and widths are ignored.
func (s Secret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, s.String()) }

// MarshalText returns String, for JSON and YAML too. It never fails.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText hides a copy of text. It never fails.
func (s *Secret) UnmarshalText(text []byte) error {
	*s = NewSecret(string(text))
	return nil
}
