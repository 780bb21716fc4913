package config

import (
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

const maxName = 100 // characters of a target or group: names are labels

// check judges what was parsed from text by the tags of k.
func (k Key) check(v reflect.Value, text string) error {
	tag := k.field.Tag.Get
	bound := func(name string) float64 {
		n, _ := strconv.ParseFloat(tag(name), 64)
		return n
	}
	switch {
	case text == "none" && tag("none") != "":
		return nil
	case k.field.Type == reflect.TypeFor[time.Duration]():
		least, _ := time.ParseDuration(tag("min"))
		if v.Int() <= 0 {
			return fault{text: "must be above 0"}
		} else if v.Int() < int64(least) {
			return fault{text: "must be at least " + least.String()}
		}
		return nil
	case v.Kind() == reflect.String:
		return k.checkText(v.String())
	case v.CanInt():
		v = v.Convert(reflect.TypeFor[float64]())
	case !v.CanFloat():
		return nil
	}
	switch n := v.Float(); { // NaN is within no bounds
	case tag("is") == "ratio" && !(n > 0 && n < 1):
		f := fault{text: "must be above 0 and below 1"}
		number, percent := strings.CutSuffix(text, "%")
		if v, err := strconv.ParseFloat(strings.TrimSpace(number), 64); err == nil && v > 0 && v < 100 && (percent || v > 1) {
			f.hint = "goals are ratios: " + strconv.FormatFloat(v/100, 'g', 12, 64)
		}
		return f
	case tag("above") != "" && !(n > bound("above") && n <= bound("max")):
		return fault{text: "must be above " + tag("above") + " and at most " + tag("max")}
	case tag("min") != "" && !(n >= bound("min") && n <= bound("max")):
		return fault{text: "must be " + tag("min") + " to " + tag("max")}
	}
	return nil
}

// checkText judges a text by its words or its form.
func (k Key) checkText(s string) error {
	wrong, text := false, ""
	switch k.field.Tag.Get("is") {
	case "name":
		n := utf8.RuneCountInString(s)
		wrong, text = n == 0 || n > maxName, fmt.Sprintf("has %d characters", n)
	case "identifier":
		wrong, text = s == "" || len(s) > maxName || strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789_") != "", "not an identifier"
	case "path":
		wrong, text = !strings.HasPrefix(s, "/") || strings.ContainsAny(s, "?# "), "not the path of a URL"
	case "header":
		wrong, text = s != "" && !headerName(s), "not a valid name of an HTTP header"
	case "address":
		_, port, err := net.SplitHostPort(s)
		_, errPort := strconv.ParseUint(port, 10, 16)
		wrong, text = errPort != nil, "the port must be 0 to 65535"
		if err != nil {
			text = "not an address"
		}
	case "url":
		_, _, err := parseURL(s)
		return err
	default:
		wrong, text = len(k.words) > 0 && !slices.Contains(k.words, s), "unknown"+suggestion(s, k.words)
	}
	if wrong {
		return fault{text: text}
	}
	return nil
}

// parseURL reads the URL of a target. base has a scheme and no dns+; each says that there was one: the URL stands
// for one target for each address of its host.
func parseURL(s string) (base string, each bool, err error) {
	base, each = strings.CutPrefix(s, "dns+")
	if !strings.Contains(base, "://") {
		switch u, err := url.Parse("http://" + base); {
		case err != nil || u.User != nil: // below it is no URL
		case private(u):
			base = "http://" + base
		case strings.ContainsAny(u.Host, ".:"):
			return "", false, fault{"has no scheme, and only loopback and private names get http://", "write https:// or http:// before it"}
		}
	}
	u, err := url.Parse(base)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" {
		return "", false, fault{text: "not an http or https URL"}
	}
	port, errPort := strconv.ParseUint(u.Port(), 10, 16)
	_, errAddress := netip.ParseAddr(u.Hostname())
	switch {
	case u.User != nil:
		err = fault{"has credentials in it", "give a key as API_KEY or API_KEY_FILE, other credentials as HEADERS"}
	case strings.ContainsAny(s, "?#"):
		err = fault{text: "has a query or a fragment"}
	case u.Port() != "" && (errPort != nil || port == 0):
		err = fault{text: "the port must be 1 to 65535"}
	case each && errAddress == nil:
		err = fault{"has an address where dns+ needs a name to look up", "leave out dns+"}
	}
	return base, each, err
}

// privateName matches names that are not on the internet (RFC 6761, 6762 and 8375, ICANN's .internal, Kubernetes).
var privateName = regexp.MustCompile(`(?i)^localhost$|\.(localhost|local|internal|lan|home\.arpa|svc)$`)

// private reports whether the host of u is on this machine or in the user's own network.
// A name without a dot needs a port, since it may be any word.
func private(u *url.URL) bool {
	name := u.Hostname()
	if address, err := netip.ParseAddr(name); err == nil {
		return address.IsLoopback() || address.IsPrivate() || address.IsLinkLocalUnicast() || address.IsUnspecified()
	}
	return privateName.MatchString(name) || name != "" && name != u.Host && !strings.Contains(name, ".")
}
