package config

import (
	"cmp"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"unicode/utf8"

	"github.com/llm-prober/prober/internal/format"
)

// An entry is a target and what was given for it.
type entry struct {
	*Target
	item
}

// complete fills in what depends on other settings of t or on the file of its key.
func (l *loader) complete(t entry) {
	if t.given("URL") {
		l.base(t)
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

func (l *loader) readKey(t entry) {
	label := t.label("API_KEY_FILE")
	data, err := l.ReadFile(t.APIKeyFile)
	text := strings.TrimRight(string(data), "\r\n")
	switch {
	case err != nil:
		l.problem(label, err.Error(), "")
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

const mostTokens = 1_000_000 // of a prompt

// validate judges the settings of one target together. What is wrong by itself was reported already.
func (l *loader) validate(t entry) {
	if !t.has("URL") {
		l.problem(t.label("URL"), "not given", "a target needs a URL")
	}
	set := func(name string) bool { return t.values[name].text != "" }
	unset := func(name string) bool { return !set(name) && !t.values[name].bad }
	sessions, canary := t.Prompt == "sessions" && t.given("PROMPT_TOKENS"), t.Prompt == "canary"
	last := t.PromptTokens + (t.SessionRounds-1)*t.MaxTokens
	for _, c := range []struct {
		name       string
		wrong      bool
		text, hint string
	}{
		{"STALL_TIMEOUT", t.given("TIMEOUT", "STALL_TIMEOUT") && t.StallTimeout > t.Timeout,
			"longer than the timeout of " + t.values["TIMEOUT"].text, "want at most the timeout"},
		{"CERT_FILE", set("CERT_FILE") && unset("KEY_FILE"), "given without KEY_FILE", "want both or none"},
		{"KEY_FILE", set("KEY_FILE") && unset("CERT_FILE"), "given without CERT_FILE", "want both or none"},
		{"PROMPT", t.Prompt == "dataset" && unset("DATASET_FILE"), "given without DATASET_FILE", "want the file to ask from"},
		{"PROMPT_TOKENS", canary && t.given("PROMPT_TOKENS") && t.PromptTokens < 80, "too few for the prompt canary", "want at least 80"},
		{"MAX_TOKENS", canary && t.given("MAX_TOKENS") && t.MaxTokens < 16, "too few for the prompt canary", "want at least 16"},
		{"SYSTEM_TOKENS", sessions && t.given("SYSTEM_TOKENS") && t.SystemTokens >= t.PromptTokens,
			fmt.Sprintf("not below the %d tokens of the prompt", t.PromptTokens), "the system prompt is a part of the first prompt"},
		{"SESSION_ROUNDS", sessions && t.given("SESSION_ROUNDS", "MAX_TOKENS") && last > mostTokens,
			fmt.Sprintf("results in a last prompt of more than %d tokens", last),
			fmt.Sprintf("want fewer rounds or shorter answers: prompts have at most %d tokens", mostTokens)},
	} {
		if c.wrong {
			l.problem(t.label(c.name), c.text, c.hint)
		}
	}

	if t.InsecureSkipVerify {
		l.warn(t.label("INSECURE_SKIP_VERIFY"), "anyone between the prober and the server can read prompts and keys, and answer in its place")
	}
	for _, name := range []string{"CA_FILE", "CERT_FILE", "INSECURE_SKIP_VERIFY"} {
		if strings.HasPrefix(t.URL, "http:") && set(name) && !t.values[name].assumed {
			l.warn(t.label(name), "has no effect on an http URL")
		}
	}
}

// warnOfBudget warns of a budget that does not last for a day. A probe that is too long for the rest of it is not sent.
func (l *loader) warnOfBudget(t entry) {
	if !t.costKnown() {
		return
	}
	probe, perDay := t.PromptTokens+t.MaxTokens, t.TokensPerDay()
	switch end := t.BudgetEnd(perDay, t.TokensPerProbe()); {
	case t.TokenBudgetPerDay > 0 && t.TokenBudgetPerDay < probe:
		l.warn(t.label("TOKEN_BUDGET_PER_DAY"), fmt.Sprintf("is less than the %d tokens of one probe", probe))
	case end != "" && !l.Finite:
		l.warn(t.label("TOKEN_BUDGET_PER_DAY"), fmt.Sprintf("target %s costs %s tokens a day; %s", quote(t.Name),
			format.Grouped(perDay), end))
	}
}

// name gives targets without one their names, and judges all names: each is one target's alone, and not too long.
func (l *loader) name(targets []entry) {
	l.defaultNames(targets)
	first := map[string]entry{}
	for _, t := range targets {
		if other, taken := first[t.Name]; taken {
			l.sameName(other, t)
		} else if t.Name != "" {
			first[t.Name] = t
		}
		limit := maxName
		if t.EachAddress {
			limit -= 40 // an IPv6 address takes 39, and one stands between
		}
		if utf8.RuneCountInString(t.Name) > limit {
			l.misnamed(t, fmt.Sprintf("results in a name of more than %d characters", limit))
		}
	}
	for _, t := range targets {
		stem, address, cut := strings.Cut(t.Name, "/")
		other, taken := first[stem]
		if _, err := netip.ParseAddr(address); cut && taken && err == nil && other.EachAddress {
			l.misnamed(t, "is the name that an address of "+other.origin("URL")+" gets")
		}
	}
}

// sameName reports two targets of one name.
func (l *loader) sameName(other, t entry) {
	file, line, ours := l.lineOf(t.values["NAME"])
	_, before, theirs := l.lineOf(other.values["NAME"])
	if ours && theirs {
		l.problem(file, fmt.Sprintf("lines %s and %s both name a target %s", before, line, quote(t.Name)), "rename one")
		return
	}
	l.misnamed(t, fmt.Sprintf("the name %s is already taken by %s", quote(t.Name), other.origin("URL")))
}

// lineOf returns in which line of the targets file something was given. ok is false if it was given elsewhere, or not
// at all.
func (l *loader) lineOf(s source) (file, line string, ok bool) {
	rest, ok := strings.CutPrefix(s.label, l.path+":")
	line, _, found := strings.Cut(rest, ": ")
	return l.path, line, ok && found && l.path != ""
}

// defaultNames gives targets without a name or group their defaults. No name depends on the order of targets.
func (l *loader) defaultNames(targets []entry) {
	sharing := map[string]int{} // targets without a name, by host and port
	for _, t := range targets {
		if t.Name == "" && t.given("URL") && !t.values["NAME"].bad {
			u := t.parsed()
			t.Name = net.JoinHostPort(u.Hostname(), cmp.Or(u.Port(), map[string]string{"http": "80", "https": "443"}[u.Scheme]))
			sharing[t.Name]++
		}
	}
	for _, t := range targets {
		if t.values["NAME"].text == "" && sharing[t.Name] > 1 {
			t.Name += cmp.Or(t.Path, strings.TrimSuffix(strings.TrimRight(t.parsed().EscapedPath(), "/"), "/v1"))
		}
		if t.Group == "" && !t.EachAddress {
			t.Group = t.Name
		}
	}
}

func (l *loader) misnamed(t entry, text string) {
	hint := "set " + t.setting("NAME")
	if _, _, ok := l.lineOf(t.values["URL"]); ok {
		hint = "give it a name of its own (name: …)"
	}
	if len(l.URLs) > 0 {
		hint = "give it as NAME=URL"
	}
	l.problem(t.origin("URL"), text, hint)
}

// groups reports members of a group that would not be asked the same: the values in which one differs from the first.
func (l *loader) groups(targets []entry) {
	first := map[string]entry{}
	for _, t := range targets {
		lead, member := first[t.Group]
		if !member || t.Group == "" {
			first[t.Group] = t
			continue
		}
		for _, k := range l.shared {
			if t.values[k.name].assumed && lead.values[k.name].assumed { // it follows from another one
				continue
			}
			if k.field.Tag.Get("group") != "agree" || k.of(t.Target).Equal(k.of(lead.Target)) || !lead.given(k.name) || !t.given(k.name) {
				continue
			}
			l.disagreement(k, lead, t)
		}
	}
}

// disagreement reports a setting in which two members of a group differ, at the one of the two that was given.
func (l *loader) disagreement(k Key, lead, t entry) {
	value := func(e entry) string {
		if e.values[k.name].assumed {
			return e.values[k.name].text + " (default)"
		}
		return e.values[k.name].text
	}
	place := t.label(k.name)
	if t.values[k.name].assumed {
		place = lead.label(k.name)
	}
	text := fmt.Sprintf("targets %s and %s are in group %s, but have %s %s and %s", quote(lead.Name), quote(t.Name),
		quote(t.Group), strings.ToLower(k.name), value(lead), value(t))
	l.problem(place, text, "members of a group need the same prompts at the same rate")
}
