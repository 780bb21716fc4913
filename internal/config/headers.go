package config

import (
	"fmt"
	"net/url"
	"reflect"
	"slices"
	"strings"
)

// checkHeaders judges NAME=value,NAME=value. The canonical spelling of headers
// is that of [decodeHeaders].
func (k key) checkHeaders(s string) (canonical string, f *fault) {
	found := url.Values{}
	for i, pair := range strings.Split(s, ",") {
		if strings.TrimSpace(pair) == "" {
			continue
		}
		name, value, ok := strings.Cut(pair, "=")
		if !ok {
			return "", &fault{text: fmt.Sprintf("entry %d has no =", i+1), hint: k.want}
		}
		if wrong := addHeader(found, strings.TrimSpace(name), strings.TrimSpace(value)); wrong != "" {
			return "", &fault{text: fmt.Sprintf("entry %d %s", i+1, wrong), hint: k.want}
		}
	}
	return found.Encode(), nil
}

// ownHeaders are what a probe sets itself, whatever is configured.
var ownHeaders = []string{
	"Accept", "Accept-Encoding", "Baggage", "Content-Length", "Content-Type", "Traceparent", "Trailer", "Transfer-Encoding", "User-Agent",
}

// addHeader puts a header into found, or says what is wrong with it. It quotes
// neither name nor value: whoever mixes them up would see a secret printed.
func addHeader(found url.Values, name, value string) (wrong string) {
	switch {
	case !headerName(name):
		return "has a name that no HTTP header can have"
	case slices.ContainsFunc(ownHeaders, func(own string) bool { return strings.EqualFold(own, name) }):
		return "names a header that is the prober's own"
	case strings.ContainsFunc(value, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return "has a value with control characters"
	}
	for other := range found {
		if strings.EqualFold(other, name) {
			return "repeats a header"
		}
	}
	found.Set(name, value)
	return ""
}

// headerName reports whether s is a token of RFC 9110, section 5.6.2.
func headerName(s string) bool {
	other := func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("!#$%&'*+-.^_`|~", r)
	}
	return s != "" && !strings.ContainsFunc(s, other)
}

// decodeHeaders reads the canonical spelling of headers, that of
// [url.Values.Encode]: no character of a value can be taken for a separator.
func decodeHeaders(canonical string) (any, error) {
	found, err := url.ParseQuery(canonical)
	if err != nil {
		return nil, fmt.Errorf("decode headers: not in the canonical spelling")
	}
	decoded := make(map[string]Secret, len(found))
	for name := range found {
		decoded[name] = NewSecret(found.Get(name))
	}
	return decoded, nil
}

var headersType = reflect.TypeFor[map[string]Secret]()
