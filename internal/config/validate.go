package config

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"regexp"
	"slices"
	"strings"

	"github.com/llm-prober/prober/internal/wire"
)

// validate judges settings that depend on each other: those of each target, then targets beside each other, then
// objectives. Values that are wrong by themselves were reported when they were parsed. What depends on a wrong value is
// not judged.
func (l *loader) validate() {
	for _, t := range l.targets {
		l.complete(t)
		l.validateTarget(t)
	}
	l.validateSources()
	l.nameTargets()
	l.collectLabelNames()
	l.warnOfScrapedLabels()
	l.validateGroups()
	for _, t := range l.targets {
		l.warnOfBudget(t) // which names the target
	}
	l.limitCost()
	l.validateObjectives()
}

// complete sets defaults that depend on other settings of t, and reads the files of its secrets.
func (l *loader) complete(t *target) {
	s, e := t.settings, t.entry
	if e.given(&s.URL) && e.right(&s.URL) {
		l.shortenURL(t)
	}
	if !e.given(&s.StallTimeout) && e.right(&s.Timeout) {
		s.StallTimeout = min(s.StallTimeout, s.Timeout)
	}
	shortest := s.PromptTokens
	for _, p := range s.Prompts {
		if p.Workload == "sessions" {
			shortest = min(shortest, p.Tokens)
		}
	}
	if !e.given(&s.SystemTokens) && e.right(&s.PromptTokens) && s.SystemTokens >= shortest {
		s.SystemTokens = shortest / 10
	}
	l.readSecret(t, &s.APIKeyFile, &s.APIKey)
	l.readSecret(t, &s.OAuthSecretFile, &s.OAuthSecret)
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
	l.warn(t.entry.problemPlace(&s.URL), text)
}

// readSecret reads a secret of t from its file, if it has one.
func (l *loader) readSecret(t *target, file *string, secret *Secret) {
	if *file == "" {
		return
	}
	name := "key"
	if secret == &t.settings.OAuthSecret {
		name = "secret"
	}
	onlyLine := "want a file with the " + name + " on its only line"
	wrong := func(text, hint string) { t.entry.problem(file, text, hint) }
	data, err := l.options.ReadFile(*file)
	text := strings.TrimRight(string(data), "\r\n")
	switch {
	case secret.Reveal() != "":
		wrong("given together with "+t.entry.nameOf(secret), "give only one of the two")
	case l.isElsewhere(err):
		l.warnOfMissing(t.entry, file)
	case err != nil:
		wrong(err.Error(), fileHint(err))
	case strings.TrimSpace(text) == "":
		wrong("is empty", "want a file with the "+name+" in it")
	case len(text) > 16<<10: // bytes; Node's servers take headers of 16 KiB, nginx 8
		wrong(fmt.Sprintf("has %d bytes, more than any server accepts in a header", len(text)), onlyLine)
	case !printable(text):
		wrong("has unprintable characters", onlyLine)
	default:
		*secret = NewSecret(text)
	}
}

// validateOAuth judges the settings of a client of OAuth 2 together.
func validateOAuth(s *Target, e *entry) {
	fields := []any{&s.OAuthTokenURL, &s.OAuthClientID, &s.OAuthSecret, &s.OAuthSecretFile, &s.OAuthScopes}
	at := slices.IndexFunc(fields, e.given)
	if at < 0 {
		return
	}
	if !e.given(&s.OAuthTokenURL) {
		e.problem(fields[at], "given without "+e.nameOf(&s.OAuthTokenURL), "set that to the URL of the token endpoint")
	}
	if !e.given(&s.OAuthClientID) {
		e.problem(fields[at], "given without "+e.nameOf(&s.OAuthClientID), "set that to the id of the client")
	}
	if !e.given(&s.OAuthSecret) && !e.given(&s.OAuthSecretFile) {
		e.problem(fields[at], "given without "+e.nameOf(&s.OAuthSecretFile), "set that to a file with the secret")
	}
	for _, key := range []any{&s.APIKey, &s.APIKeyFile} {
		if e.given(key) {
			e.problem(fields[at], "given together with "+e.nameOf(key), "give only one of the two: a request carries one")
		}
	}
	for name := range s.Headers {
		if strings.EqualFold(name, "Authorization") {
			e.problem(fields[at], "given together with a header Authorization", "leave the header out: the token is sent in it")
		}
	}
}

// checkFile reports a file that cannot be read. field is the setting of e that has its path.
func (l *loader) checkFile(e *entry, field *string) {
	if *field == "" {
		return
	}
	_, err := l.options.ReadFile(*field)
	switch {
	case l.isElsewhere(err):
		l.warnOfMissing(e, field)
	case err != nil:
		e.problem(field, err.Error(), fileHint(err))
	}
}

// isElsewhere reports whether err says that a file is missing which only the prober's machine needs to have.
func (l *loader) isElsewhere(err error) bool {
	return l.options.Elsewhere && errors.Is(err, fs.ErrNotExist)
}

// warnOfMissing warns of a file that is not here, so that its content is not checked.
func (l *loader) warnOfMissing(e *entry, field *string) {
	l.warn(e.problemPlace(field), "does not exist here, and is not checked: the prober needs it where it runs")
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
	s, e := t.settings, t.entry
	if !t.isListed && !e.given(&s.URL) && e.right(&s.URL) {
		e.problem(&s.URL, "not given", "a target needs a URL")
	}
	for _, path := range []*string{&s.CAFile, &s.CertFile, &s.KeyFile, &s.DatasetFile} {
		l.checkFile(e, path)
	}
	if e.right(&s.Timeout, &s.StallTimeout) && s.StallTimeout > s.Timeout {
		e.problem(&s.StallTimeout, "longer than the timeout of "+e.written(&s.Timeout), "want at most the timeout")
	}
	if s.CertFile != "" && s.KeyFile == "" && e.right(&s.KeyFile) {
		e.problem(&s.CertFile, "given without "+e.nameOf(&s.KeyFile), "give both or neither")
	}
	if s.KeyFile != "" && s.CertFile == "" && e.right(&s.CertFile) {
		e.problem(&s.KeyFile, "given without "+e.nameOf(&s.CertFile), "give both or neither")
	}
	t.validatePrompts()
	validateOAuth(s, e)
	l.validateBody(s, e)
	l.warnOfTLS(s, e)
}

// credential matches the name of a field that looks as if its value were secret.
var credential = regexp.MustCompile(`(?i)api[-_]?key|authorization|password|secret|credential|access[-_]?token|bearer`)

// validateBody judges what is added to requests: it must leave alone what the prober needs, and is no place for
// secrets.
func (l *loader) validateBody(s *Target, e *entry) {
	if len(s.Body) == 0 || !e.right(&s.Body, &s.API) {
		return
	}
	for _, field := range wire.Reserved(s.API, wire.Object(s.Body)) {
		e.problem(&s.Body, quote(field)+" is a field that the prober sets itself",
			"leave it out: model, prompt, stream and the limit of the answer have settings of their own")
	}
	names := wire.Object(s.Body).Keys()
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		if credential.MatchString(name) {
			l.warn(e.problemPlace(&s.Body), quote(name)+" looks like a secret, and the body is shown by config show: "+
				"credentials belong in api_key_file or headers")
		}
	}
}

const mostTokens = 1_000_000 // of a prompt

// warnOfTLS warns of TLS settings that are dangerous or have no effect.
func (l *loader) warnOfTLS(s *Target, e *entry) {
	if s.InsecureSkipVerify {
		l.warn(e.problemPlace(&s.InsecureSkipVerify),
			"anyone between the prober and the server can read prompts and keys, and answer instead of the server")
	}
	for _, field := range []any{&s.CAFile, &s.CertFile, &s.TLSServerName, &s.InsecureSkipVerify} {
		if strings.HasPrefix(s.URL, "http:") && e.given(field) {
			l.warn(e.problemPlace(field), "has no effect on an http URL")
		}
	}
}

// validateGroups reports the settings in which a member of a group differs from the first one.
func (l *loader) validateGroups() {
	leads := map[string]*target{} // the first members, by group
	for _, t := range l.targets {
		group := t.settings.Group
		lead, isMember := leads[group]
		if !isMember || group == "" {
			leads[group] = t
			continue
		}
		for _, k := range l.schema.target.keys {
			if !k.isOfGroup() {
				continue
			}
			mine, theirs := k.pointer(t.settings), k.pointer(lead.settings)
			isGiven := t.entry.given(mine) || lead.entry.given(theirs) // defaults differ only because of another setting
			areRight := t.entry.right(mine) && lead.entry.right(theirs)
			differ := k.text(t.settings) != k.text(lead.settings)
			if !isGiven || !areRight || !differ {
				continue
			}
			place := t.entry.problemPlace(mine) // one where a user wrote it
			if !t.entry.given(mine) {
				place = lead.entry.problemPlace(theirs)
			}
			text := fmt.Sprintf("targets %s and %s are in group %s, but have %s %s and %s", quote(lead.settings.Name),
				quote(t.settings.Name), quote(group), k.fileKey(), lead.entry.written(theirs), t.entry.written(mine))
			t.entry.problems.Add(place, text, "set the same value for all members of a group, which get the same prompts")
		}
		l.comparePrompts(t, lead)
	}
}

// nameTargets sets the default names and groups of targets, and reports names that are already taken. Default names do
// not depend on the order of targets.
func (l *loader) nameTargets() {
	ports := map[string]string{"http": "80", "https": "443"}
	sharing := map[string]int{} // targets without a name, by host and port
	for _, t := range l.targets {
		s := t.settings
		if s.Name == "" && s.URL != "" && t.entry.right(&s.Name) {
			u := s.parsedURL()
			s.Name = net.JoinHostPort(u.Hostname(), cmp.Or(u.Port(), ports[u.Scheme]))
			sharing[s.Name]++
		}
	}
	named := map[string]*target{}
	for _, t := range l.targets {
		s := t.settings
		if !t.entry.given(&s.Name) && sharing[s.Name] > 1 {
			s.Name += cmp.Or(s.Path, strings.TrimSuffix(strings.TrimRight(s.parsedURL().EscapedPath(), "/"), "/v1"))
		}
		if t.isListed {
			s.Name = listedName
		} else if s.Group == "" && !s.EachAddress {
			s.Group = s.Name
		}
		other, isTaken := named[s.Name]
		if isTaken && s.Name != "" {
			t.entry.reportTakenName(s.Name, t.namePlace(), other.namePlace())
		} else {
			named[s.Name] = t
		}
	}
}

// namePlace returns the place where the name of t is from: its own or, without one, its URL.
func (t *target) namePlace() string {
	if t.entry.given(&t.settings.Name) {
		return t.entry.problemPlace(&t.settings.Name)
	}
	return t.entry.problemPlace(&t.settings.URL)
}

// reportTakenName reports that the name of e, which is from a place, belongs to an entry before it.
func (e *entry) reportTakenName(name, place, earlierPlace string) {
	e.problems.Add(place, fmt.Sprintf("the name %s is already taken by %s", quote(name), earlierPlace), e.nameHint)
}
