package config

import (
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// bounds holds a number against the bounds in the tags. NaN is within none.
func (f field) bounds(v float64) error {
	number := func(tag string) float64 {
		n, _ := strconv.ParseFloat(f.Tag.Get(tag), 64)
		return n
	}
	above, atMost := f.Tag.Get("above"), f.Tag.Get("max")
	switch {
	case above != "" && !(v > number("above") && v <= number("max")):
		return fault{text: "must be above " + above + " and at most " + atMost}
	case above == "" && !(v >= number("min") && v <= number("max")):
		return fault{text: "must be " + f.Tag.Get("min") + " to " + atMost}
	}
	return nil
}

func checkRatio(v float64, text string) error {
	if v > 0 && v < 1 {
		return nil
	}
	number, percent := strings.CutSuffix(text, "%")
	if v, err := strconv.ParseFloat(strings.TrimSpace(number), 64); err == nil && v > 0 && v < 100 && (percent || v > 1) {
		return fault{"must be above 0 and below 1", "goals are ratios: " + strconv.FormatFloat(v/100, 'g', 12, 64)}
	}
	return fault{text: "must be above 0 and below 1"}
}

// maxName is the longest name of a target or group, in characters: names are labels.
const maxName = 100

// checkText judges a text by its form.
func (f field) checkText(s string) error {
	if len(f.words) > 0 && !slices.Contains(f.words, s) {
		return fault{text: "unknown" + suggestion(s, f.words)}
	}
	switch f.Tag.Get("is") {
	case "name":
		if n := utf8.RuneCountInString(s); n == 0 || n > maxName {
			return fault{text: fmt.Sprintf("has %d characters", n)}
		}
	case "identifier":
		if s == "" || len(s) > maxName || strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789_") != "" {
			return fault{text: "not an identifier"}
		}
	case "path":
		if !strings.HasPrefix(s, "/") || strings.ContainsAny(s, "?# ") {
			return fault{text: "not the path of a URL"}
		}
	case "header":
		if s != "" && !headerName(s) {
			return fault{text: "not a valid name of an HTTP header"}
		}
	case "address":
		_, port, err := net.SplitHostPort(s)
		if err != nil {
			return fault{text: "not an address"}
		}
		if _, err := strconv.ParseUint(port, 10, 16); err != nil {
			return fault{text: "the port must be 0 to 65535"}
		}
	case "url":
		_, _, err := parseURL(s)
		return err
	}
	return nil
}

// parseURL reads the URL of a target. base has a scheme and no dns+; each says that there was one: the URL stands
// for one target for each address of its host.
func parseURL(s string) (base string, each bool, err error) {
	base, each = strings.CutPrefix(s, "dns+")
	if !strings.Contains(base, "://") {
		switch host := hostOf(base); {
		case private(host):
			base = "http://" + base
		case strings.ContainsAny(host, ".:"):
			return "", false, fault{"has no scheme, and only loopback and private names get http://", "write https:// or http:// before it"}
		}
	}
	u, err := url.Parse(base)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" {
		return "", false, fault{text: "not an http or https URL"}
	}
	if u.User != nil {
		return "", false, fault{"has credentials in it", "give a key as API_KEY or API_KEY_FILE, other credentials as HEADERS"}
	}
	if strings.ContainsAny(s, "?#") {
		return "", false, fault{text: "has a query or a fragment"}
	}
	if n, err := strconv.ParseUint(u.Port(), 10, 16); u.Port() != "" && (err != nil || n == 0) {
		return "", false, fault{text: "the port must be 1 to 65535"}
	}
	if _, err := netip.ParseAddr(u.Hostname()); err == nil && each {
		return "", false, fault{"has an address where dns+ needs a name to look up", "leave out dns+"}
	}
	return base, each, nil
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
