package config

import (
	"cmp"
	"fmt"
	"net"
	"net/url"
	"regexp"
	"strings"
)

// An entry is a target and what was given for it.
type entry struct {
	*Target
	item
}

// finish fills in what depends on other fields, on other targets or on files.
func (l *loader) finish(targets []entry) {
	sharing := map[string][]entry{} // targets without a name, by host and port
	for _, t := range targets {
		if t.given("URL") {
			l.base(t)
		}
		if t.Name == "" && t.given("URL") && !t.values["NAME"].bad {
			sharing[t.hostPort()] = append(sharing[t.hostPort()], t)
		}
	}
	for host, share := range sharing { // so that no name depends on the order of targets
		for _, t := range share {
			t.Name = host
			if len(share) > 1 {
				t.Name += cmp.Or(t.Path, strings.TrimSuffix(strings.TrimRight(t.parsed().EscapedPath(), "/"), "/v1"))
			}
		}
	}
	for _, t := range targets {
		if t.Group == "" && !t.values["GROUP"].bad && !t.EachAddress {
			t.Group = t.Name
		}
		if t.values["STALL_TIMEOUT"].assumed && t.given("TIMEOUT") {
			t.StallTimeout = min(t.StallTimeout, t.Timeout)
		}
		if t.values["SYSTEM_TOKENS"].assumed && t.given("PROMPT_TOKENS") && t.SystemTokens >= t.PromptTokens {
			t.SystemTokens = t.PromptTokens / 10
		}
		if t.APIKeyFile != "" {
			l.readKey(t)
		}
	}
}

// base makes the URL of t a base: clients get one, but users may give where a request
// goes. Where they say the path of probes themselves, the URL stays as it is.
func (l *loader) base(t entry) {
	t.URL, t.EachAddress, _ = parseURL(t.URL) // was checked
	if t.Path != "" {
		return
	}
	found := endpoint.FindStringSubmatch(t.URL)
	if found == nil {
		return
	}
	t.URL = found[1]
	text := fmt.Sprintf("ends with the endpoint %s, which is cut off: the base URL is %s", found[2], t.URL)
	if t.API == "auto" {
		api := map[string]string{
			"/chat/completions": "openai-chat", "/completions": "openai-completions", "/messages": "anthropic", "/responses": "openai-responses",
		}[found[2]]
		text += fmt.Sprintf("; to be sure that this endpoint is probed, set %s to %s", t.setting("API"), api)
	}
	l.warn(t.label("URL"), text)
}

// endpoint matches a URL with the path of a request at its end. In http://messages that is the host.
var endpoint = regexp.MustCompile(`^(.*?://.*?)(/chat/completions|/completions|/messages|/responses)/*$`)

// Host is the host of the URL, without port and brackets.
func (t Target) Host() string { return t.parsed().Hostname() }

// hostPort is the default name of t: the host of its URL with the port, that of the
// scheme if the URL has none.
func (t Target) hostPort() string {
	u := t.parsed()
	return net.JoinHostPort(u.Hostname(), cmp.Or(u.Port(), map[string]string{"http": "80", "https": "443"}[u.Scheme]))
}

// parsed is the URL of t; empty if it is none.
func (t Target) parsed() *url.URL {
	u, err := url.Parse(t.URL)
	if err != nil {
		return &url.URL{}
	}
	return u
}

// readKey reads the API key of t from its file.
func (l *loader) readKey(t entry) {
	label := t.label("API_KEY_FILE")
	data, err := l.ReadFile(t.APIKeyFile)
	text := strings.TrimRight(string(data), "\r\n")
	switch {
	case err != nil:
		l.problem(label, reason(err), "")
	case strings.TrimSpace(text) == "":
		l.problem(label, "is empty", "want a file with the key in it")
	case len(text) > 16<<10: // bytes; Node's servers take headers of 16 KiB, nginx 8
		l.problem(label, fmt.Sprintf("has %d bytes, more than any server takes in a header", len(text)), "want a file with the key on its only line")
	case !printable(text):
		l.problem(label, "has unprintable characters", "want a file with the key on its only line")
	case t.values["API_KEY"].text != "":
		l.problem(label, "given together with a key", "want one of the two")
	default:
		t.APIKey = NewSecret(text)
	}
}
