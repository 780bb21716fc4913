package config

import (
	"errors"
	"net"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// maxName is the longest name of a target or group, in characters: names are labels.
const maxName = 100

// A fault is what is wrong with a text, not yet where. It never quotes the text.
type fault struct{ text, hint string }

// check judges a text that was given for k. It returns the text in the spelling
// that the fields of [Config] are parsed from, or what is wrong with it.
func (k key) check(s string) (canonical string, f *fault) {
	if k.kind == headersKind {
		return k.checkHeaders(s)
	}
	if !printable(s) {
		return "", &fault{text: "has characters that do not print", hint: k.want}
	}
	switch k.kind {
	case nameKind:
		return k.checkName(s)
	case identifierKind:
		return k.checkIdentifier(s)
	case wordKind:
		return k.checkWord(s)
	case numberKind:
		return k.checkNumber(s)
	case ratioKind:
		return k.checkRatio(s)
	case wholeKind:
		return k.checkWhole(s, "0")
	case optionalKind:
		return k.checkWhole(s, "")
	case shareKind:
		return k.checkShare(s)
	case durationKind:
		return k.checkDuration(s)
	case onOffKind:
		return k.checkOnOff(s)
	case addressKind:
		return k.checkAddress(s)
	case urlKind:
		return k.checkURL(s)
	case pathKind:
		return k.checkPath(s)
	case shardKind:
		return k.checkShard(s)
	case headerNameKind:
		return k.checkHeaderName(s)
	case objectKind:
		return k.checkObject(s)
	}
	return s, nil
}

// printable reports whether s is UTF-8 without control characters. Text that
// is not would break a metric label, an HTTP header or the line of a problem.
func printable(s string) bool {
	return utf8.ValidString(s) && !strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) })
}

func (k key) checkName(s string) (string, *fault) {
	if n := utf8.RuneCountInString(s); n == 0 || n > maxName {
		return "", &fault{text: "has " + strconv.Itoa(n) + " characters", hint: k.want}
	}
	return s, nil
}

func (k key) checkIdentifier(s string) (string, *fault) {
	if s == "" || len(s) > maxName || strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789_") != "" {
		return "", &fault{text: "not an identifier", hint: k.want}
	}
	return s, nil
}

func (k key) checkWord(s string) (string, *fault) {
	if slices.Contains(k.words, s) {
		return s, nil
	}
	return "", &fault{text: "unknown" + suggestion(s, k.words), hint: k.hint()}
}

// alternatives spells a choice: "a", "a or b", "a, b or c".
func alternatives(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

func (k key) checkNumber(s string) (string, *fault) {
	v, err := strconv.ParseFloat(s, 64)
	if errors.Is(err, strconv.ErrSyntax) {
		return "", &fault{text: "not a number", hint: k.want}
	}
	if !(v > k.low && v <= k.high) { // the negation holds for NaN too
		return "", &fault{text: "must be above " + plain(k.low) + " and at most " + plain(k.high), hint: k.want}
	}
	return s, nil
}

func (k key) checkRatio(s string) (string, *fault) {
	number, percent := strings.CutSuffix(s, "%")
	v, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if errors.Is(err, strconv.ErrSyntax) {
		return "", &fault{text: "not a number", hint: k.want}
	}
	if v > 0 && v < 1 && !percent {
		return s, nil
	}
	hint := k.want
	if v > 0 && v < 100 && (percent || v > 1) {
		hint = "goals are ratios: " + strconv.FormatFloat(v/100, 'g', 12, 64)
	}
	return "", &fault{text: "must be above 0 and below 1", hint: hint}
}

// checkShare judges a number between 0 and 1, both of which it may be.
func (k key) checkShare(s string) (string, *fault) {
	v, err := strconv.ParseFloat(s, 64)
	if errors.Is(err, strconv.ErrSyntax) {
		return "", &fault{text: "not a number", hint: k.want}
	}
	if !(v >= 0 && v <= 1) { // the negation holds for NaN too
		return "", &fault{text: "must be 0 to 1", hint: k.want}
	}
	return s, nil
}

// checkWhole judges a whole number. Without is what the words of k stand for.
func (k key) checkWhole(s, without string) (string, *fault) {
	if slices.Contains(k.words, s) {
		return without, nil
	}
	v, err := strconv.Atoi(s)
	if errors.Is(err, strconv.ErrSyntax) {
		return "", &fault{text: "not a whole number", hint: k.want}
	}
	if err != nil || float64(v) < k.low || float64(v) > k.high {
		return "", &fault{text: "must be " + plain(k.low) + " to " + plain(k.high), hint: k.want}
	}
	return strconv.Itoa(v), nil
}

// plain writes a bound without exponent.
func plain(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

func (k key) checkDuration(s string) (string, *fault) {
	if slices.Contains(k.words, s) {
		return "0s", nil
	}
	v, err := time.ParseDuration(s)
	if err != nil && s != "" && strings.Trim(s, "0123456789.") == "" {
		return "", &fault{text: "has no unit", hint: "add a unit, for example " + s + "s"}
	}
	if err != nil {
		return "", &fault{text: "not a duration", hint: k.want}
	}
	if v <= 0 {
		return "", &fault{text: "must be above 0", hint: k.want}
	}
	if least := time.Duration(k.low * float64(time.Second)); v < least {
		return "", &fault{text: "must be at least " + least.String(), hint: k.want}
	}
	return s, nil
}

func (k key) checkOnOff(s string) (string, *fault) {
	switch strings.ToLower(s) {
	case "on", "true":
		return "true", nil
	case "off", "false":
		return "false", nil
	}
	return "", &fault{text: "neither on nor off", hint: k.want}
}

func (k key) checkAddress(s string) (string, *fault) {
	_, port, err := net.SplitHostPort(s)
	if err != nil {
		return "", &fault{text: "not an address", hint: k.want}
	}
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return "", &fault{text: "the port must be 0 to 65535", hint: k.want}
	}
	return s, nil
}

func (k key) checkHeaderName(s string) (string, *fault) {
	if s != "" && !headerName(s) {
		return "", &fault{text: "no name that an HTTP header can have", hint: k.want}
	}
	return s, nil
}

// objectName is the name of a Kubernetes object, a subdomain of RFC 1123:
// https://kubernetes.io/docs/concepts/overview/working-with-objects/names/#dns-subdomain-names
var objectName = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`)

// checkObject judges the name of an object. A router takes a name that it does
// not know for none at all, so a wrong one would never be noticed.
func (k key) checkObject(s string) (string, *fault) {
	if s != "" && (len(s) > 253 || !objectName.MatchString(s)) {
		return "", &fault{text: "no name that a Kubernetes object can have", hint: k.want}
	}
	return s, nil
}

// eachAddress stands before a URL that is one target for each address of its host.
const eachAddress = "dns+"

func (k key) checkURL(s string) (string, *fault) {
	base, each := strings.CutPrefix(s, eachAddress)
	if !strings.Contains(base, "://") {
		switch host := hostOf(base); {
		case private(host):
			base = "http://" + base
			s = base
			if each {
				s = eachAddress + base
			}
		case strings.ContainsAny(host, ".:"):
			return "", &fault{text: "has no scheme, and only loopback and private names get http://", hint: "write https:// or http:// before it"}
		}
	}
	u, err := url.Parse(base)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" {
		return "", &fault{text: "not an http or https URL", hint: k.want}
	}
	if u.User != nil {
		return "", &fault{text: "has credentials in it", hint: "give a key as API_KEY or API_KEY_FILE, other credentials as HEADERS"}
	}
	if strings.ContainsAny(s, "?#") {
		return "", &fault{text: "has a query or a fragment", hint: k.want}
	}
	if n, err := strconv.ParseUint(u.Port(), 10, 16); u.Port() != "" && (err != nil || n == 0) {
		return "", &fault{text: "the port must be 1 to 65535", hint: k.want}
	}
	if _, err := netip.ParseAddr(u.Hostname()); err == nil && each {
		return "", &fault{text: "has an address where dns+ needs a name to look up", hint: "leave out dns+"}
	}
	return s, nil
}

// hostOf is the host of a URL without scheme, with its port if it has one; "" if there
// is none, or credentials stand before it.
func hostOf(s string) string {
	u, err := url.Parse("http://" + s)
	if err != nil || u.User != nil {
		return ""
	}
	return u.Host
}

// private reports whether a host, with or without its port, is on this machine or in the
// user's own network: an address of such, a name that ends as names on the internet do not
// (RFC 6761, 6762 and 8375, ICANN's .internal, Kubernetes), or one without a dot. That one
// needs a port, since it may be any word.
func private(host string) bool {
	name := strings.ToLower((&url.URL{Host: host}).Hostname())
	if address, err := netip.ParseAddr(name); err == nil {
		return address.IsLoopback() || address.IsPrivate() || address.IsLinkLocalUnicast() || address.IsUnspecified()
	}
	for _, end := range []string{".localhost", ".local", ".internal", ".lan", ".home.arpa", ".svc"} {
		if strings.HasSuffix(name, end) {
			return true
		}
	}
	return name == "localhost" || name != "" && len(name) < len(host) && !strings.Contains(name, ".")
}

func (k key) checkPath(s string) (string, *fault) {
	if !strings.HasPrefix(s, "/") || strings.ContainsAny(s, "?# ") {
		return "", &fault{text: "not the path of a URL", hint: k.want}
	}
	return s, nil
}
