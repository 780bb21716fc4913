package format

import (
	"fmt"
	"html"
	"net/url"
	"strconv"
	"strings"
	"testing"
)

// TestRedact holds that a secret is hidden however it is written, with all that stands between its letters, and that
// all else stays as it is.
func TestRedact(t *testing.T) {
	const secret = `sk-Ab+/="<&'\9z`
	each := func(form string) string {
		var b strings.Builder
		for _, c := range secret {
			fmt.Fprintf(&b, form, c)
		}
		return b.String()
	}
	inBrowser := strings.NewReplacer(`"`, `\"`, `\`, `\\`, "<", `\u003c`, "&", `\u0026`, "/", `\/`)
	named := strings.NewReplacer("&", "&amp;", `"`, "&quot;", "<", "&lt;", "'", "&apos;")
	quoted := strconv.Quote(secret)
	for name, written := range map[string]string{
		"as it is":               secret,
		"in upper case":          strings.ToUpper(secret),
		"in lower case":          strings.ToLower(secret),
		"in a URL's query":       url.QueryEscape(secret),
		"in a URL's path":        url.PathEscape(secret),
		"percent-encoded":        each("%%%02x"),
		"the same in upper case": each("%%%02X"),
		"encoded twice":          url.QueryEscape(url.QueryEscape(secret)),
		"in JSON":                strings.Trim(quoted, `"`),
		"in JSON within JSON":    strings.Trim(strconv.Quote(strings.Trim(quoted, `"`)), `"`),
		"in JSON for a browser":  inBrowser.Replace(secret),
		"by numbers of JSON":     each(`\u%04x`),
		"by numbers of Go":       each(`\x%02x`),
		"in HTML":                html.EscapeString(secret),
		"by numbers of HTML":     each("&#%d;"),
		"by hexadecimal ones":    each("&#x%X;"),
		"by names of HTML":       named.Replace(secret),
		"coloured":               each("\x1b[1m%c\x1b[0m"),
		"with zero width":        each("%c\u200b"),
		"with control letters":   each("\x00%c\x07"),
		"with soft hyphens":      each("%c\u00ad"),
		"with broken letters":    each("%c\xff"),
		"with spaces":            each("%c "),
		"over two lines":         secret[:7] + "\r\n  " + secret[7:],
		"in a window's title":    "\x1b]0;" + secret + "\x07",
		"with escaped colours":   secret[:7] + `\u001b[0m` + secret[7:],
		"with escaped zeros":     secret[:7] + `\u0000` + secret[7:],
	} {
		got := Redact("<before> "+written+"|after 100%", []string{"nothing", secret})
		if !strings.HasPrefix(got, "<before> ") || !strings.HasSuffix(got, "|after 100%") || !strings.Contains(got, "***") ||
			len(got) > len("<before> |after 100%")+40 {
			t.Errorf("%s: %q became %q", name, written, got)
		}
	}
	for _, test := range []struct{ text, want string }{
		{"key sk-verysecret", "key ***"},
		{"key sk-verysecret, key SK-VERYSECRET", "key ***, key ***"},
		{"key sk-verysec … (400 bytes)", "key *** … (400 bytes)"},
		{"key sk-verysec…", "key ***…"},
		{"key sk-verysec", "key ***"},
		{"key sk-very", "key ***"},
		{"key sk-ve", "key sk-ve"},
		{"key sk-verysec is short", "key sk-verysec is short"},
		{"sk-verysk-verysecret", "sk-very***"},
		{"nothing \x1b[1m of \u200b that: 100%, &#; &x; \\u12 %4", "nothing \x1b[1m of \u200b that: 100%, &#; &x; \\u12 %4"},
		{"", ""},
	} {
		if got := Redact(test.text, []string{"sk-verysecret", ""}); got != test.want {
			t.Errorf("%q became %q, want %q", test.text, got, test.want)
		}
	}
	long := "sk-verysecret" + strings.Repeat("x", 1<<20)
	if got := Redact("key sk-verysecretxx … refused", []string{long}); got != "key *** … refused" {
		t.Errorf("the beginning of a long secret: %q", got)
	}
}

// FuzzRedact holds that no text panics, and that what is left of one has no secret that a reader sees.
func FuzzRedact(f *testing.F) {
	f.Add("key sk-verysecret …", "sk-verysecret")
	f.Add("%73\\u006b\x1b[0m-&#118;", "sk-v%65ry")
	f.Fuzz(func(t *testing.T, text, secret string) {
		got := Redact(text, []string{secret})
		usual := len(secret) >= 6 && secret == Clean(secret) && !strings.ContainsAny(secret, "* \ufffd")
		if usual && (strings.Contains(got, secret) || strings.Contains(Clean(got), secret)) {
			t.Errorf("%q shows %q: %q", text, secret, got)
		}
	})
}
