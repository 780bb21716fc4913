package sim

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
)

// TestExpandIsOSExpand holds what templates may have against the standard library.
func TestExpandIsOSExpand(t *testing.T) {
	hole := func(name string) string {
		if name == "$" {
			return "$"
		}
		return "<$" + strings.ToUpper(name) + ">"
	}
	for _, template := range []string{
		"", "none", "$a", "$a$b", `{"x":$a,"y":[$b]}`, "$$a", "a$$", "$$$$", "$a$$$b", "é$aé", `"$a"`, "$a-$b.$c",
	} {
		if got, want := expand(template, hole), os.Expand(template, hole); got != want {
			t.Errorf("%q: %q, want %q", template, got, want)
		}
	}
}

func TestQuotedIsJSON(t *testing.T) {
	for _, text := range []string{"", " river", `a"b`, `a\b`, "line\nfeed", "é", "<b>&", "\x7f", "\xff", "\u2028"} {
		want, got := string(mustJSON(text)), quoted(text)
		if back := ""; got != want || json.Unmarshal([]byte(got), &back) != nil {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}
