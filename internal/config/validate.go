package config

import (
	"fmt"
	"net/netip"
	"strings"
	"unicode/utf8"
)

// validate judges what one value alone does not show.
func (l *loader) validate(c *Config, m layer) {
	l.files(m.values, proberScope)
	if len(c.Targets) == 0 && !l.unread {
		l.problem(prefix+targetList+"_0_URL", "no targets", "set it, or give a URL as argument")
	}
	for i, t := range c.Targets {
		l.target(t, m.targets[i])
	}
	l.names(c.Targets, m.targets)
	l.groups(c.Targets, m.targets)
	l.objectives(c, m)
}

// files reports files that are given and cannot be read. Each is read once, since
// books are large and many targets may share one.
func (l *loader) files(v values, scopes ...scope) {
	for _, f := range l.schema.in(scopes...).tagged("is", "file") {
		path := v[f.name]
		if path.text == "" {
			continue
		}
		err, read := l.unreadable[path.text]
		if !read {
			_, err = l.ReadFile(path.text)
			l.unreadable[path.text] = err
		}
		if err != nil {
			l.problem(path.label, reason(err), "")
		}
	}
}

// target judges one target.
func (l *loader) target(t Target, it item) {
	if _, ok := it.values["URL"]; !ok {
		l.problem(it.word("URL"), "not given", "a target needs a URL")
	}
	if it.given("TIMEOUT", "STALL_TIMEOUT") && t.StallTimeout > t.Timeout {
		l.problem(it.label("STALL_TIMEOUT"), "longer than the timeout of "+it.values["TIMEOUT"].text, "want at most the timeout")
	}
	l.files(it.values, sharedScope, targetScope)
	l.prompt(t, it)
	l.credentials(t, it)
	l.suspicious(t, it)
}

// mostTokens is the longest prompt there is.
const mostTokens = 1_000_000

// prompt judges what is asked.
func (l *loader) prompt(t Target, it item) {
	for _, needs := range []struct{ prompt, file string }{{"book", "BOOK_FILE"}, {"dataset", "DATASET_FILE"}} {
		if t.Prompt == needs.prompt && it.values[needs.file].text == "" && !it.values[needs.file].bad {
			l.problem(it.label("PROMPT"), "given without "+it.spell(needs.file), "want the file to ask from")
		}
	}
	for _, canary := range []struct { // room for its own words, and an answer that can hold what is asked for
		name         string
		given, least int
	}{{"PROMPT_TOKENS", t.PromptTokens, 80}, {"MAX_TOKENS", t.MaxTokens, 16}} {
		if t.Prompt == "canary" && it.given(canary.name) && canary.given < canary.least {
			l.problem(it.label(canary.name), "too few for the prompt canary", fmt.Sprintf("want at least %d", canary.least))
		}
	}
	if t.Prompt != "sessions" || !it.given("PROMPT_TOKENS") {
		return
	}
	if it.given("SYSTEM_TOKENS") && t.SystemTokens >= t.PromptTokens {
		l.problem(it.label("SYSTEM_TOKENS"), fmt.Sprintf("not below the %d tokens of the prompt", t.PromptTokens), "the system prompt is a part of the first prompt")
	}
	if last := t.PromptTokens + (t.SessionRounds-1)*t.MaxTokens; it.given("SESSION_ROUNDS", "MAX_TOKENS") && last > mostTokens {
		l.problem(it.label("SESSION_ROUNDS"), fmt.Sprintf("makes a last prompt of more than %d tokens", last), fmt.Sprintf("want fewer rounds or shorter answers: prompts have at most %d tokens", mostTokens))
	}
}

// credentials judges keys, certificates and their files.
func (l *loader) credentials(t Target, it item) {
	if it.values["API_KEY"].text != "" && t.APIKeyFile != "" {
		l.problem(it.label("API_KEY_FILE"), "given together with a key", "want one of the two")
	}
	if (t.CertFile == "") != (t.KeyFile == "") && !it.values["CERT_FILE"].bad && !it.values["KEY_FILE"].bad {
		given, missing := "CERT_FILE", "KEY_FILE"
		if t.CertFile == "" {
			given, missing = missing, given
		}
		l.problem(it.label(given), "given without "+it.spell(missing), "want both or none")
	}
}

// suspicious warns of what is legal and probably not meant.
func (l *loader) suspicious(t Target, it item) {
	if t.InsecureSkipVerify {
		l.warn(it.label("INSECURE_SKIP_VERIFY"), "whoever stands between can answer, and read prompts and keys")
	}
	for _, name := range []string{"CA_FILE", "CERT_FILE", "INSECURE_SKIP_VERIFY"} {
		v := it.values[name]
		if strings.HasPrefix(t.URL, "http:") && v.text != "" && !v.assumed {
			l.warn(v.label, "has no effect on an http URL")
		}
	}
	if cost := t.PromptTokens + t.MaxTokens; t.TokenBudgetPerDay > 0 && t.TokenBudgetPerDay < cost {
		l.warn(it.label("TOKEN_BUDGET_PER_DAY"), fmt.Sprintf("does not pay for one probe, which takes %d tokens", cost))
	}
}

// names reports targets that share a name, and names that became too long.
func (l *loader) names(targets []Target, items []item) {
	first := map[string]int{}
	for i, t := range targets {
		it := items[i]
		other, taken := first[t.Name]
		switch {
		case t.Name == "":
		case !taken:
			first[t.Name] = i
		case it.given("NAME") && it.label("NAME") == items[other].label("NAME"):
			l.problem(it.label("NAME"), "names more than one target", "give it with one target only")
		default:
			l.problem(nameLabel(it), fmt.Sprintf("target %s is already that of %s", quote(t.Name), nameLabel(items[other])), nameHint(it))
		}
		if utf8.RuneCountInString(t.Name) > maxName {
			l.problem(nameLabel(it), "makes a name of more than 100 characters", nameHint(it))
		}
	}
	l.namesWithAddress(targets, items, first)
}

// maxStem is the longest name, in characters, that has room for an address: IPv6
// takes 39, and one stands between.
const maxStem = maxName - 40

// namesWithAddress reports names to which no address can be added. Taken is the
// targets by name.
func (l *loader) namesWithAddress(targets []Target, items []item, taken map[string]int) {
	for i, t := range targets {
		if t.EachAddress && utf8.RuneCountInString(t.Name) > maxStem {
			l.problem(nameLabel(items[i]), fmt.Sprintf("makes a name of more than %d characters, to which addresses are added", maxStem), nameHint(items[i]))
		}
		stem, address, cut := strings.Cut(t.Name, "/")
		other, each := taken[stem]
		if _, err := netip.ParseAddr(address); cut && each && err == nil && targets[other].EachAddress {
			l.problem(nameLabel(items[i]), "is how an address of "+nameLabel(items[other])+" is called", nameHint(items[i]))
		}
	}
}

// nameLabel is the place that a target's name comes from.
func nameLabel(it item) string {
	if it.given("NAME") {
		return it.label("NAME")
	}
	return it.label("URL")
}

// nameHint says how to give a target a name of its own.
func nameHint(it item) string {
	if it.place == argumentPlace {
		return "targets with names of their own go into the environment or the targets file"
	}
	return "set " + it.setting("NAME")
}

// groups reports members of a group that would not be asked the same.
func (l *loader) groups(targets []Target, items []item) {
	first := map[string]int{}
	for i, t := range targets {
		lead, member := first[t.Group]
		switch {
		case t.Group == "":
		case !member:
			first[t.Group] = i
		default:
			l.agree(targets[lead], t, items[lead], items[i])
		}
	}
}

// agree reports the settings in which two members of a group differ and must not.
func (l *loader) agree(a, b Target, first, second item) {
	for _, f := range l.schema.tagged("group", "agree") {
		if f.of(a).Equal(f.of(b)) || !first.given(f.name) || !second.given(f.name) {
			continue
		}
		l.problem(second.label(f.name), fmt.Sprintf("target %s differs from target %s of the same group %s: %s and %s", quote(b.Name), quote(a.Name),
			quote(a.Group), second.values[f.name].text, first.values[f.name].text), "members of a group are asked the same in the same round")
	}
}
