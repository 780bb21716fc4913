package config

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"strings"
	"syscall"
)

// finish fills in what depends on other fields or on files.
func (l *loader) finish(c *Config, m layer) {
	for i := range c.Targets {
		l.base(&c.Targets[i], m.targets[i])
	}
	nameTargets(c.Targets, m.targets)
	for i := range c.Targets {
		t, it := &c.Targets[i], m.targets[i]
		if t.Group == "" && !it.values["GROUP"].bad && !t.EachAddress {
			t.Group = t.Name
		}
		if it.values["STALL_TIMEOUT"].assumed && it.given("TIMEOUT") {
			t.StallTimeout = min(t.StallTimeout, t.Timeout)
		}
		if it.values["SYSTEM_TOKENS"].assumed && it.given("PROMPT_TOKENS") && t.SystemTokens >= t.PromptTokens {
			t.SystemTokens = t.PromptTokens / 10
		}
		l.readKey(t, it)
	}
	for i := range c.Objectives {
		o := &c.Objectives[i]
		if o.Name == "" && !m.objectives[i].values["NAME"].bad {
			o.Name = string(o.Signal)
		}
	}
}

// base makes the URL of t a base: clients get one, but users may give where a request
// goes. Where they say the path of probes themselves, the URL stays as it is.
func (l *loader) base(t *Target, it item) {
	if it.given("URL") {
		t.URL, t.EachAddress, _ = parseURL(t.URL) // was judged already
	}
	if t.Path != "" {
		return
	}
	for _, end := range []struct{ path, api string }{ // the longer of two first
		{"/chat/completions", "openai-chat"}, {"/completions", "openai-completions"},
		{"/messages", "anthropic"}, {"/responses", "openai-responses"},
	} {
		base, found := strings.CutSuffix(strings.TrimRight(t.URL, "/"), end.path)
		if !found || !strings.Contains(base, "://") { // of http://messages it is the host
			continue
		}
		t.URL = base
		text := fmt.Sprintf("ends with the endpoint %s, which is cut off: the base URL is %s", end.path, base)
		if t.API == "auto" {
			text += fmt.Sprintf("; to be sure that this endpoint is probed, set %s to %s", it.setting("API"), end.api)
		}
		l.warn(it.label("URL"), text)
		return
	}
}

// nameTargets names the targets that have no name after host and port, and those that
// share them after their paths as well, so that no name depends on the order of targets.
func nameTargets(targets []Target, items []item) {
	unnamed := func(i int) bool {
		return targets[i].Name == "" && items[i].given("URL") && !items[i].values["NAME"].bad
	}
	sharing := map[string][]int{} // by host and port
	for i, t := range targets {
		if unnamed(i) {
			sharing[hostPort(t.URL)] = append(sharing[hostPort(t.URL)], i)
		}
	}
	for name, share := range sharing {
		for _, i := range share {
			targets[i].Name = name
			if len(share) > 1 {
				targets[i].Name += targets[i].path()
			}
		}
	}
}

// path is what the URL of t adds to its host, or the path that probes go to.
func (t Target) path() string {
	u, err := url.Parse(t.URL)
	if err != nil || t.Path != "" {
		return t.Path
	}
	return strings.TrimSuffix(strings.TrimRight(u.EscapedPath(), "/"), "/v1")
}

// Host is the host of the URL, without port and brackets.
func (t Target) Host() string {
	u, err := url.Parse(t.URL)
	if err != nil {
		return ""
	}
	return u.Hostname()
}

// hostPort is the default name of a target with a valid URL: its host and port,
// that of the scheme if the URL has none.
func hostPort(base string) string {
	u, err := url.Parse(base)
	if err != nil {
		return ""
	}
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return net.JoinHostPort(u.Hostname(), port)
}

// maxKey bounds a key, in bytes: Node's servers take headers of 16 KiB, nginx 8.
const maxKey = 16 << 10

// readKey reads the API key of t from its file, if it has one.
func (l *loader) readKey(t *Target, it item) {
	if t.APIKeyFile == "" {
		return
	}
	label := it.label("API_KEY_FILE")
	data, err := l.ReadFile(t.APIKeyFile)
	if err != nil {
		l.problem(label, reason(err), "")
		return
	}
	text := strings.TrimRight(string(data), "\r\n")
	switch {
	case strings.TrimSpace(text) == "":
		l.problem(label, "is empty", "want a file with the key in it")
	case len(text) > maxKey:
		l.problem(label, fmt.Sprintf("has %d bytes, more than any server takes in a header", len(text)), "want a file with the key on its only line")
	case !printable(text):
		l.problem(label, "has characters that do not print", "want a file with the key on its only line")
	case it.values["API_KEY"].text == "":
		t.APIKey = NewSecret(text)
	}
}

// reason says why a file could not be read, without its name or content.
func reason(err error) string {
	var no syscall.Errno
	switch {
	case errors.Is(err, errTooLarge):
		return errTooLarge.Error()
	case errors.Is(err, ErrPipe):
		return ErrPipe.Error()
	case errors.Is(err, fs.ErrNotExist):
		return "no such file"
	case errors.Is(err, fs.ErrPermission):
		return "permission denied"
	case errors.As(err, &no):
		return fmt.Sprintf("cannot be read: %v", no)
	}
	return "cannot be read"
}
