package config

import (
	"fmt"
	"slices"
	"strings"

	"github.com/llm-prober/prober/internal/format"
)

// An entry is a target and where its settings are from.
type entry struct {
	*Target
	origin
}

// validate judges settings together: those of each target, then targets beside each other, then objectives. What is
// wrong with one by itself was reported when it was read. What rests on a wrong value is not judged.
func (l *loader) validate(c *loaded) {
	l.missingFiles(c.Config, c.prober)
	for _, t := range c.targets {
		l.complete(t)
		l.validateTarget(t)
	}
	l.name(c.targets)
	for _, t := range c.targets {
		l.warnOfBudget(t) // by the name that it has now
	}
	l.groups(c.targets)
	l.limitCost(int(c.MaxTokensPerDay), c.prober, c.targets)
	l.validateObjectives(c)
}

// complete fills in what depends on other settings of t or on the file of its key.
func (l *loader) complete(t entry) {
	if t.given("URL") && t.right("URL") {
		l.base(t)
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
func (l *loader) readKey(t entry) {
	const onlyLine = "want a file with the key on its only line"
	label := t.label("API_KEY_FILE")
	data, err := l.ReadFile(t.APIKeyFile)
	text := strings.TrimRight(string(data), "\r\n")
	switch {
	case err != nil:
		l.problem(label, err.Error(), "")
	case strings.TrimSpace(text) == "":
		l.problem(label, "is empty", "want a file with the key in it")
	case len(text) > 16<<10: // bytes; Node's servers take headers of 16 KiB, nginx 8
		l.problem(label, fmt.Sprintf("has %d bytes, more than any server takes in a header", len(text)), onlyLine)
	case !printable(text):
		l.problem(label, "has unprintable characters", onlyLine)
	case t.APIKey.Reveal() != "":
		l.problem(label, "given together with a key", "want one of the two")
	default:
		t.APIKey = NewSecret(text)
	}
}

// missingFiles reports files that cannot be read.
func (l *loader) missingFiles(of any, from origin) {
	for _, k := range from.keys {
		path := k.field(of)
		isFile := k.format == "file" && k.name != "API_KEY_FILE" // [loader.readKey] reads that
		if !isFile || path.String() == "" || !from.right(k.name) {
			continue
		}
		if _, err := l.ReadFile(path.String()); err != nil {
			l.problem(from.label(k.name), err.Error(), "")
		}
	}
}

const mostTokens = 1_000_000 // of a prompt

// validateTarget judges the settings of one target together.
func (l *loader) validateTarget(t entry) {
	wrong := func(name, text, hint string) { l.problem(t.label(name), text, hint) }
	if !t.given("URL") && t.right("URL") {
		wrong("URL", "not given", "a target needs a URL")
	}
	l.missingFiles(t.Target, t.origin)
	if t.right("TIMEOUT", "STALL_TIMEOUT") && t.StallTimeout > t.Timeout {
		wrong("STALL_TIMEOUT", "longer than the timeout of "+t.written("TIMEOUT"), "want at most the timeout")
	}
	if t.CertFile != "" && t.KeyFile == "" && t.right("KEY_FILE") {
		wrong("CERT_FILE", "given without KEY_FILE", "want both or none")
	}
	if t.KeyFile != "" && t.CertFile == "" && t.right("CERT_FILE") {
		wrong("KEY_FILE", "given without CERT_FILE", "want both or none")
	}
	if t.Prompt == "dataset" && t.DatasetFile == "" && t.right("DATASET_FILE") {
		wrong("PROMPT", "given without DATASET_FILE", "want the file to ask from")
	}
	switch t.Prompt {
	case "canary":
		if t.right("PROMPT_TOKENS") && t.PromptTokens < 80 {
			wrong("PROMPT_TOKENS", "too few for the prompt canary", "want at least 80")
		}
		if t.right("MAX_TOKENS") && t.MaxTokens < 16 {
			wrong("MAX_TOKENS", "too few for the prompt canary", "want at least 16")
		}
	case "sessions":
		l.validateSessions(t)
	}
	l.warnOfTLS(t)
}

// validateSessions judges the lengths of the prompt sessions.
func (l *loader) validateSessions(t entry) {
	if t.right("PROMPT_TOKENS", "SYSTEM_TOKENS") && t.SystemTokens >= t.PromptTokens {
		l.problem(t.label("SYSTEM_TOKENS"), fmt.Sprintf("not below the %d tokens of the prompt", t.PromptTokens),
			"the system prompt is a part of the first prompt")
	}
	last := t.PromptTokens + (t.SessionRounds-1)*t.MaxTokens
	if t.right("PROMPT_TOKENS", "SESSION_ROUNDS", "MAX_TOKENS") && last > mostTokens {
		l.problem(t.label("SESSION_ROUNDS"), fmt.Sprintf("results in a last prompt of more than %d tokens", last),
			fmt.Sprintf("want fewer rounds or shorter answers: prompts have at most %d tokens", mostTokens))
	}
}

func (l *loader) warnOfTLS(t entry) {
	if t.InsecureSkipVerify {
		l.warn(t.label("INSECURE_SKIP_VERIFY"),
			"anyone between the prober and the server can read prompts and keys, and answer in its place")
	}
	for _, name := range []string{"CA_FILE", "CERT_FILE", "INSECURE_SKIP_VERIFY"} {
		if strings.HasPrefix(t.URL, "http:") && t.given(name) {
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
	end := t.BudgetEnd(perDay, t.TokensPerProbe())
	switch {
	case t.TokenBudgetPerDay > 0 && int(t.TokenBudgetPerDay) < probe:
		l.warn(t.label("TOKEN_BUDGET_PER_DAY"), fmt.Sprintf("is less than the %d tokens of one probe", probe))
	case end != "" && !l.Finite:
		l.warn(t.label("TOKEN_BUDGET_PER_DAY"), fmt.Sprintf("target %s costs %s tokens a day; %s", quote(t.Name),
			format.Grouped(perDay), end))
	}
}

// groupSettings are those in which members of a group must agree, or they would not be asked the same.
var groupSettings = []string{
	"QPS", "ARRIVAL", "PROMPT", "PROMPT_TOKENS", "MAX_TOKENS", "SESSION_USERS", "SESSION_ROUNDS", "SYSTEM_TOKENS",
	"DATASET_FILE", "CANARY_DEPTH",
}

// groups reports the settings in which a member of a group differs from the first one.
func (l *loader) groups(targets []entry) {
	first := map[string]entry{}
	for _, t := range targets {
		lead, member := first[t.Group]
		if !member || t.Group == "" {
			first[t.Group] = t
			continue
		}
		for _, k := range l.shared {
			bothDefault := !t.given(k.name) && !lead.given(k.name) // it follows from another one
			if bothDefault || !slices.Contains(groupSettings, k.name) || !lead.right(k.name) || !t.right(k.name) {
				continue
			}
			if !k.field(t.Target).Equal(k.field(lead.Target)) {
				l.disagreement(k, lead, t)
			}
		}
	}
}

// disagreement reports a setting in which two members of a group differ, at the one of the two that was given.
func (l *loader) disagreement(k Key, lead, t entry) {
	value := func(e entry) string {
		if !e.given(k.name) {
			return k.Default + " (default)"
		}
		return e.written(k.name)
	}
	place := t.label(k.name)
	if !t.given(k.name) {
		place = lead.label(k.name)
	}
	text := fmt.Sprintf("targets %s and %s are in group %s, but have %s %s and %s", quote(lead.Name), quote(t.Name),
		quote(t.Group), strings.ToLower(k.name), value(lead), value(t))
	l.problem(place, text, "members of a group need the same prompts at the same rate")
}
