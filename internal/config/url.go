package config

import (
	"fmt"
	"net/netip"
	"net/url"
	"regexp"
	"strconv"
	"strings"

	"github.com/llm-prober/prober/internal/usage"
	"github.com/llm-prober/prober/internal/wire"
)

// parseURL reads the URL of a target. base is the URL with a scheme and without dns+, and each reports whether dns+ was
// there. The error is a [usage.Problem].
func parseURL(s string) (base string, each bool, err error) {
	base, each = strings.CutPrefix(s, "dns+")
	hasScheme := strings.Contains(base, "://")
	if !hasScheme {
		base = "http://" + base
	}
	u, err := url.Parse(base)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" {
		return "", false, usage.Problem{Text: "not an http or https URL"}
	}
	port, errPort := strconv.ParseUint(u.Port(), 10, 16)
	_, errAddress := netip.ParseAddr(u.Hostname())
	switch {
	case u.User != nil:
		const hint = "leave them out: give a key as {api_key_file}, other credentials as headers"
		err = usage.Problem{Text: "has credentials in it", Hint: hint}
	case !hasScheme && !private(u):
		const text = "has no scheme, and only loopback and private hosts default to http://"
		err = usage.Problem{Text: text, Hint: "write https:// or http:// before it"}
	case strings.ContainsAny(s, "?#"):
		err = usage.Problem{Text: "has a query or a fragment"}
	case u.Port() != "" && (errPort != nil || port == 0):
		err = usage.Problem{Text: "the port must be 1 to 65535"}
	case each && errAddress == nil:
		err = usage.Problem{Text: "has an IP address, but dns+ looks up names", Hint: "leave out dns+"}
	}
	return base, each, err
}

// checkWebsite finds what is wrong with the URL of a page, to which paths and queries are added. The error is a
// [usage.Problem].
func checkWebsite(s string) error {
	u, err := url.Parse(s)
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "":
		return usage.Problem{Text: "not an http or https URL"}
	case u.User != nil:
		return usage.Problem{Text: "has credentials in it", Hint: "leave them out: everyone who sees the page sees the link"}
	case strings.ContainsAny(s, "?#"):
		return usage.Problem{Text: "has a query or a fragment"}
	}
	return nil
}

// privateName matches names that are not on the internet (RFC 6761, 6762 and 8375, ICANN's .internal, Kubernetes).
var privateName = regexp.MustCompile(`(?i)^localhost$|\.(localhost|local|internal|lan|home\.arpa|svc)$`)

// private reports whether the host of u is on this machine or in the user's own network. A name without a dot needs a
// port.
func private(u *url.URL) bool {
	name := u.Hostname()
	if address, err := netip.ParseAddr(name); err == nil {
		return address.IsLoopback() || address.IsPrivate() || address.IsLinkLocalUnicast() || address.IsUnspecified()
	}
	return privateName.MatchString(name) || name != u.Host && !strings.Contains(name, ".")
}

// endpoint matches a URL with the path of a request at its end. In http://messages that is the host.
var endpoint = regexp.MustCompile(`^(.*?://.*?)(/chat/completions|/completions|/messages|/responses)/*$`)

// shortenURL cuts the endpoint off the URL of t, if a user gave one, so that the base is left. It does nothing if the
// path of probes is set.
func (l *loader) shortenURL(t *target) {
	s := t.settings
	s.URL, s.EachAddress, _ = parseURL(s.URL) // was checked
	found := endpoint.FindStringSubmatch(s.URL)
	if s.Path != "" || found == nil {
		return
	}
	s.URL = found[1]
	text := fmt.Sprintf("ends with the endpoint %s, which is cut off: the base URL is %s", found[2], s.URL)
	if s.API == wire.Auto {
		api := map[string]string{
			"/chat/completions": "openai-chat", "/completions": "openai-completions",
			"/messages": "anthropic", "/responses": "openai-responses",
		}[found[2]]
		text += fmt.Sprintf("; to be sure that this endpoint is probed, set %s to %s", t.entry.nameOf(&s.API), api)
	}
	l.warn(t.entry.label(&s.URL), text)
}
