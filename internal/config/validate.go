package config

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"slices"
	"strings"
)

// validate judges settings that depend on each other: those of each target, then targets beside each other, then
// objectives. Values that are wrong by themselves were reported when they were parsed. What depends on a wrong value is
// not judged.
func (l *loader) validate() {
	for _, t := range l.targets {
		l.complete(t)
		l.validateTarget(t)
	}
	l.nameTargets()
	l.nameLabels()
	l.validateGroups()
	for _, t := range l.targets {
		l.warnOfBudget(t) // which names the target
	}
	l.limitCost()
	l.validateObjectives()
}

// complete sets defaults that depend on other settings of t, and reads the file of its API key.
func (l *loader) complete(t *target) {
	if t.given("URL") && t.right("URL") {
		l.shortenURL(t)
	}
	if !t.given("STALL_TIMEOUT") && t.right("TIMEOUT") {
		t.StallTimeout = min(t.StallTimeout, t.Timeout)
	}
	if !t.given("SYSTEM_TOKENS") && t.right("PROMPT_TOKENS") && t.SystemTokens >= t.PromptTokens {
		t.SystemTokens = t.PromptTokens / 10
	}
	if t.APIKeyFile != "" {
		l.readKey(t)
	}
}

// readKey reads the key of t from its file.
func (l *loader) readKey(t *target) {
	const onlyLine = "want a file with the key on its only line"
	wrong := func(text, hint string) { t.problem("API_KEY_FILE", text, hint) }
	data, err := l.ReadFile(t.APIKeyFile)
	text := strings.TrimRight(string(data), "\r\n")
	switch {
	case err != nil:
		wrong(err.Error(), fileHint(err))
	case strings.TrimSpace(text) == "":
		wrong("is empty", "want a file with the key in it")
	case len(text) > 16<<10: // bytes; Node's servers take headers of 16 KiB, nginx 8
		wrong(fmt.Sprintf("has %d bytes, more than any server accepts in a header", len(text)), onlyLine)
	case !printable(text):
		wrong("has unprintable characters", onlyLine)
	case t.APIKey.Reveal() != "":
		wrong("given together with an API key", "give only one of the two")
	default:
		t.APIKey = NewSecret(text)
	}
}

// checkFile reports a file that cannot be read.
func (l *loader) checkFile(o *origin, name, path string) {
	if path == "" {
		return
	}
	if _, err := l.ReadFile(path); err != nil {
		o.problem(name, err.Error(), fileHint(err))
	}
}

// fileHint returns what to do about a file that cannot be read.
func fileHint(err error) string {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "create the file, or correct the path"
	case errors.Is(err, fs.ErrPermission):
		return "let the prober's user read it"
	}
	return ""
}

// validateTarget judges the settings of one target together.
func (l *loader) validateTarget(t *target) {
	if !t.given("URL") && t.right("URL") {
		t.problem("URL", "not given", "a target needs a URL")
	}
	l.checkFile(t.origin, "CA_FILE", t.CAFile)
	l.checkFile(t.origin, "CERT_FILE", t.CertFile)
	l.checkFile(t.origin, "KEY_FILE", t.KeyFile)
	l.checkFile(t.origin, "DATASET_FILE", t.DatasetFile)
	if t.right("TIMEOUT", "STALL_TIMEOUT") && t.StallTimeout > t.Timeout {
		t.problem("STALL_TIMEOUT", "longer than the timeout of "+t.written("TIMEOUT"), "want at most the timeout")
	}
	if t.CertFile != "" && t.KeyFile == "" && t.right("KEY_FILE") {
		t.problem("CERT_FILE", "given without KEY_FILE", "give both or neither")
	}
	if t.KeyFile != "" && t.CertFile == "" && t.right("CERT_FILE") {
		t.problem("KEY_FILE", "given without CERT_FILE", "give both or neither")
	}
	switch t.Prompt {
	case "dataset":
		if t.DatasetFile == "" && t.right("DATASET_FILE") {
			t.problem("PROMPT", "given without DATASET_FILE", "set DATASET_FILE to the file with the prompts")
		}
	case "canary":
		if t.right("PROMPT_TOKENS") && t.PromptTokens < 80 {
			t.problem("PROMPT_TOKENS", "too few for the prompt canary", "want at least 80")
		}
		if t.right("MAX_TOKENS") && t.MaxTokens < 16 {
			t.problem("MAX_TOKENS", "too few for the prompt canary", "want at least 16")
		}
	case "sessions":
		t.validateSessions()
	}
	l.warnOfTLS(t)
}

const mostTokens = 1_000_000 // of a prompt

// validateSessions judges the lengths of the prompt sessions.
func (t *target) validateSessions() {
	if t.right("PROMPT_TOKENS", "SYSTEM_TOKENS") && t.SystemTokens >= t.PromptTokens {
		t.problem("SYSTEM_TOKENS", fmt.Sprintf("not below the %d tokens of the prompt", t.PromptTokens),
			"lower it: each prompt begins with the system prompt")
	}
	last := t.PromptTokens + (t.SessionRounds-1)*t.MaxTokens
	if t.right("PROMPT_TOKENS", "SESSION_ROUNDS", "MAX_TOKENS") && last > mostTokens {
		t.problem("SESSION_ROUNDS", fmt.Sprintf("makes the last prompt of a session longer than %d tokens", last),
			fmt.Sprintf("want fewer rounds or shorter answers: a prompt has at most %d tokens", mostTokens))
	}
}

// warnOfTLS warns of TLS settings that are dangerous or have no effect.
func (l *loader) warnOfTLS(t *target) {
	if t.InsecureSkipVerify {
		l.warn(t.label("INSECURE_SKIP_VERIFY"),
			"anyone between the prober and the server can read prompts and keys, and answer instead of the server")
	}
	for _, name := range []string{"CA_FILE", "CERT_FILE", "TLS_SERVER_NAME", "INSECURE_SKIP_VERIFY"} {
		if strings.HasPrefix(t.URL, "http:") && t.given(name) {
			l.warn(t.label(name), "has no effect on an http URL")
		}
	}
}

// groupSettings are the settings in which members of a group must agree, so that they get the same prompts.
var groupSettings = []string{
	"QPS", "ARRIVAL", "PROMPT", "PROMPT_TOKENS", "MAX_TOKENS", "SESSION_USERS", "SESSION_ROUNDS", "SYSTEM_TOKENS",
	"DATASET_FILE", "CANARY_DEPTH",
}

// validateGroups reports the settings in which a member of a group differs from the first one.
func (l *loader) validateGroups() {
	first := map[string]*target{}
	for _, t := range l.targets {
		lead, isMember := first[t.Group]
		if !isMember || t.Group == "" {
			first[t.Group] = t
			continue
		}
		for _, k := range l.settings.shared {
			if !slices.Contains(groupSettings, k.name) {
				continue
			}
			isGiven := t.given(k.name) || lead.given(k.name) // defaults differ only because of another setting
			areRight := t.right(k.name) && lead.right(k.name)
			differ := k.text(&t.Target) != k.text(&lead.Target)
			if isGiven && areRight && differ {
				t.disagree(lead, k)
			}
		}
	}
}

// disagree reports a setting in which t differs from the first of its group. The place is one where a user wrote it.
func (t *target) disagree(lead *target, k Key) {
	place := t.label(k.name)
	if !t.given(k.name) {
		place = lead.label(k.name)
	}
	text := fmt.Sprintf("targets %s and %s are in group %s, but have %s %s and %s", quote(lead.Name), quote(t.Name),
		quote(t.Group), k.fileKey(), lead.written(k.name), t.written(k.name))
	t.problems.Add(place, text, "set the same value for all members of a group, which get the same prompts")
}

// nameTargets sets the default names and groups of targets, and reports names that are already taken. Default names do
// not depend on the order of targets.
func (l *loader) nameTargets() {
	ports := map[string]string{"http": "80", "https": "443"}
	sharing := map[string]int{} // targets without a name, by host and port
	for _, t := range l.targets {
		if t.Name == "" && t.URL != "" && t.right("NAME") {
			u := t.parsedURL()
			t.Name = net.JoinHostPort(u.Hostname(), cmp.Or(u.Port(), ports[u.Scheme]))
			sharing[t.Name]++
		}
	}
	named := map[string]*target{}
	for _, t := range l.targets {
		if !t.given("NAME") && sharing[t.Name] > 1 {
			t.Name += cmp.Or(t.Path, strings.TrimSuffix(strings.TrimRight(t.parsedURL().EscapedPath(), "/"), "/v1"))
		}
		if t.Group == "" && !t.EachAddress {
			t.Group = t.Name
		}
		other, taken := named[t.Name]
		if taken && t.Name != "" {
			t.nameTaken(t.Name, other.origin, "URL")
		} else {
			named[t.Name] = t
		}
	}
}
